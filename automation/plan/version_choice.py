"""The version of a process: with which it starts, and to which it changes next. Pure.

Its data, its replica set and the versions of the document limit it.
"""

from __future__ import annotations

from collections.abc import Sequence

from automation.plan.arbiters import arbiters_hold, refuses_arbiters
from automation.plan.due import is_due
from automation.plan.guards import UnitState
from automation.plan.reasons import PlanReason
from automation.plan.values import AutomationGoal, GoalProcess, ObservedProcess, PlanHold, Settings
from automation.plan.versions import SERIES, newest, series, supports


def settings_at_start(process: GoalProcess, seen: ObservedProcess, version: str | None) -> Settings:
    """The settings with which the process starts.

    With its last version it starts as it ran, if the document has another version: the settings of the
    document are for that version, which comes afterwards.
    """
    is_as_it_ran = seen.is_running is False and version == seen.version != process.version
    return seen.file if is_as_it_ran and seen.file else process.settings


def start_version(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, seen: ObservedProcess
) -> str | PlanHold | None:
    """The version with which the process can start; None if it starts later.

    Its own data and the replica set limit the versions. The version that is nearest to the goal is the best.
    """
    if not process.version:
        return state.hold(PlanReason.VERSION_MISSING, process.name)
    if seen.has_data is None:
        return state.hold(PlanReason.DATA_UNKNOWN, process.name)
    if seen.is_data_gone and not is_due(process.resync, (seen.resync,), state.now):
        return state.hold(PlanReason.DATA_GONE, process.name)
    is_member = bool(state.config) and _joins(state, process)
    if seen.has_data:
        return _version_of_data(state, goal, process, is_member=is_member)
    return _version_without_data(state, goal, process, is_member=is_member)


def _version_without_data(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, *, is_member: bool
) -> str | PlanHold | None:
    if is_member:
        return _version_for(state, goal, process, [_known_feature_version(state)])
    # A member with data initiates the replica set alone. Then its feature version decides for the others.
    if process.replica_set and not state.config and _others_have_data(state, process):
        return None
    return process.version


def _version_of_data(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, *, is_member: bool
) -> str | PlanHold:
    seen = state.process(process.name)
    if seen.version is None or seen.version == process.version:
        unknown = state.hold(PlanReason.VERSION_UNKNOWN, process.name, other=process.name)
        return seen.version or unknown
    if seen.feature_version is None:
        # The version that ran last, and others of its series, can start with its data again.
        is_same = series(seen.version) is not None and series(seen.version) == series(process.version)
        return process.version if is_same else seen.version
    of_set = [feature_version_of_set(state)] if is_member and state.only_primary else []
    return _version_for(state, goal, process, [seen.feature_version, *of_set])


def _others_have_data(state: UnitState, process: GoalProcess) -> bool:
    """Whether another process of the replica set has data, or may have."""
    others = (other for other in state.unit.processes if other.name != process.name)
    return any(state.process(other.name).has_data is not False for other in others)


def _version_for(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, feature_versions: Sequence[str | None]
) -> str | PlanHold:
    """The version nearest to the goal that supports all these feature compatibility versions."""
    wanted = series(process.version)
    limits = [series(version) for version in feature_versions]
    if None in limits:
        return state.hold(PlanReason.FEATURE_VERSION_UNKNOWN, process.name)
    if wanted is None:
        return state.hold(PlanReason.VERSION_UNREADABLE, process.name, version=process.version)
    nearest = sorted(range(len(SERIES)), key=lambda place: abs(place - wanted))
    arbiters = None
    for place in nearest:
        if all(limit is not None and supports(place, limit) for limit in limits):
            version = _version_of_series(state, goal, process, place)
            hold = start_arbiters_hold(state, process, version)
            if version and hold is None:
                return version
            arbiters = arbiters or hold
    return arbiters or state.hold(
        PlanReason.NO_VERSION_FITS, process.name, feature_version=" and ".join(map(str, feature_versions))
    )


def start_arbiters_hold(state: UnitState, process: GoalProcess, version: str | None) -> PlanHold | None:
    """Why the process would not start with the version: it refuses several arbiters."""
    if not refuses_arbiters(version, settings_at_start(process, state.process(process.name), version)):
        return None
    return arbiters_hold(state, process.name, version or "", state.config)


def _version_of_series(state: UnitState, goal: AutomationGoal, process: GoalProcess, place: int) -> str:
    """The version of a series that the process uses: its goal, its current or the newest listed version."""
    had = state.process(process.name).version
    for version in (process.version, had):
        if version and series(version) == place:
            return version
    return newest(goal.versions, place)


def next_version(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> str | PlanHold:
    """The next version of a running process: at most one series away, or its current version.

    It is the current version, too, if the feature compatibility version must change first.
    """
    seen = state.process(process.name)
    if not process.version or seen.version == process.version:
        return process.version
    if seen.version is None:
        return state.hold(PlanReason.VERSION_UNKNOWN, process.name, other=process.name)
    now, wanted = series(seen.version), series(process.version)
    if now is None or wanted is None:
        unreadable = seen.version if now is None else process.version
        return state.hold(PlanReason.VERSION_UNREADABLE, process.name, version=unreadable)
    if now == wanted:
        return process.version
    return _version_of_neighbour(state, goal, process, now + 1 if wanted > now else now - 1)


def _version_of_neighbour(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, place: int
) -> str | PlanHold:
    """A version of the neighbouring series, or the running one if the feature version must change first."""
    running = state.process(process.name).version or ""
    version = _version_of_series(state, goal, process, place)
    if not version:
        names = {"old": running, "new": process.version, "between": SERIES[place]}
        return state.hold(PlanReason.NO_VERSION_BETWEEN, process.name, **names)
    limits = [feature_version_of(state, process)]
    own = state.process(process.name).feature_version
    if own is not None:
        # A member that was away has the feature version of before until it has caught up.
        limits.append(own)
    if _is_newcomer(state, process):
        # It joins with a version that the replica set supports, and changes it as a member.
        limits.append(_known_feature_version(state))
    places = [series(limit) for limit in limits]
    if None in places:
        return state.hold(PlanReason.FEATURE_VERSION_UNKNOWN, process.name)
    return version if all(limit is not None and supports(place, limit) for limit in places) else running


def is_version_first(process: GoalProcess, seen: ObservedProcess) -> bool:
    """Whether the process changes its version before it gets other settings."""
    return bool(process.version) and seen.version != process.version


def _is_newcomer(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process is not a member of its initiated replica set, and becomes one."""
    return bool(state.config) and state.member(process.name) is None and _joins(state, process)


def _joins(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process is a member, or becomes one."""
    return bool(state.member(process.name) or state.unit.stated_member(process.name))


def outsider_hold(state: UnitState, process: GoalProcess) -> PlanHold | None:
    """Why a process that is not a member does not join, or does not reach its version.

    Only members can change the feature compatibility version, which limits the version.
    """
    seen = state.process(process.name)
    if not state.config or state.member(process.name) is not None:
        return None
    if not _is_newcomer(state, process):
        is_late = is_version_first(process, seen)
        return state.hold(PlanReason.OUTSIDE_VERSION, process.name, version=seen.version) if is_late else None
    place, target = series(seen.version), series(_known_feature_version(state))
    if target is None or (place is not None and supports(place, target)):
        return None
    names = {"other": process.name, "version": seen.version, "target": SERIES[target]}
    return state.hold(PlanReason.MEMBER_VERSION, process.name, **names)


def feature_version_of(state: UnitState, process: GoalProcess) -> str | None:
    """The feature compatibility version that limits the process: of its replica set, or of its own data."""
    if state.member(process.name) is not None:
        return feature_version_of_set(state)
    return state.process(process.name).feature_version


def feature_version_of_set(state: UnitState) -> str | None:
    """The feature compatibility version of the replica set, as its primary says."""
    return state.process(state.only_primary).feature_version if state.only_primary else None


def _known_feature_version(state: UnitState) -> str | None:
    """As the primary says, or without a primary, as all running members with data say."""
    if state.only_primary:
        return feature_version_of_set(state)
    said = {
        state.process(member.process).feature_version
        for member in state.config
        if not member.is_arbiter and state.is_healthy(member.process)
    }
    return said.pop() if len(said) == 1 else None
