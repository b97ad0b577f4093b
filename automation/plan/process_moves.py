"""The moves of a single process: start it, change its version or its settings, restart it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Union

from automation.plan.guards import WITH_ALL_DATA, UnitState, copying
from automation.plan.key_files import key_hold, lacks_key
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    AutomationGoal,
    GoalProcess,
    MemberConfig,
    MemberState,
    Move,
    MoveKind,
    ObservedProcess,
    OwnNeed,
    PlanHold,
    Settings,
)
from automation.plan.versions import SERIES, newest, series, supports

Found = Union[Move, PlanHold, None]
"""The move that is needed, why it waits, or nothing."""
FIXED_SETTINGS = frozenset(
    {
        "storage.dbPath",
        "storage.directoryPerDB",
        "storage.engine",
        "storage.wiredTiger.engineConfig.directoryForIndexes",
        "sharding.clusterRole",
        "net.port",
    }
)
"""Settings that say where the data and the process are. With others, a server starts without its data."""
SET_NAME = "replication.replSetName"
_BEFORE_RUNNING = frozenset({MoveKind.DOWNLOAD, MoveKind.WRITE_FILE, MoveKind.WRITE_KEY_FILE, MoveKind.START})
"""The moves of a process that does not run."""
SINGLE_ARBITER_SINCE = SERIES.index("6.0")
"""Since 5.3, servers refuse several arbiters, and do not start as members of a replica set that has them."""
COMPACTED_ENGINE = '"wiredTiger"'
"""The storage engine that has the command to compact."""
SEVERAL_ARBITERS = "setParameter.allowMultipleArbiters"
_OLDEST_RESYNC = timedelta(days=30)
"""An older lastResync, such as of a document of another platform, no longer removes data."""


def start(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> Found:
    """The next move towards starting a process that does not run."""
    seen = state.process(process.name)
    key = key_hold(state, process, seen)
    if key is not None and key.reason is not PlanReason.KEY_UNKNOWN and seen.version and seen.file:
        # As it ran: with the key file that the other members know.
        process, key = replace(process, version=seen.version, settings=seen.file, key_file=""), None
    fixed = _fixed_settings(state, process, seen) or key
    if fixed is not None:
        return fixed
    version = _start_version(state, goal, process, seen)
    if version is None or isinstance(version, PlanHold):
        return version
    arbiters = _arbiters_hold(state, process, version)
    if arbiters is not None:
        return arbiters
    download = _download(state, process, seen, version)
    return download or _start_with(state, process, seen, version)


def _settings_at_start(process: GoalProcess, seen: ObservedProcess, version: str | None) -> Settings:
    """The settings with which the process starts.

    With its last version it starts as it ran, if the document has another version: the settings of the
    document are for that version, which comes afterwards.
    """
    is_as_it_ran = seen.is_running is False and version == seen.version != process.version
    return seen.file if is_as_it_ran and seen.file else process.settings


def _start_with(state: UnitState, process: GoalProcess, seen: ObservedProcess, version: str) -> Move:
    """The files of the process come first, then the start."""
    if lacks_key(process, seen):
        return _move(state, process, MoveKind.WRITE_KEY_FILE)
    if seen.file != _settings_at_start(process, seen, version):
        return _move(state, process, MoveKind.WRITE_FILE)
    return _move(state, process, MoveKind.START, version=version)


def _start_version(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, seen: ObservedProcess
) -> str | PlanHold | None:
    """The version with which the process can start; None if it starts later.

    Its own data and the replica set limit the versions. The version that is nearest to the goal is the best.
    """
    if not process.version:
        return state.hold(PlanReason.VERSION_MISSING, process.name)
    if process.is_router:
        return process.version
    if seen.has_data is None:
        return state.hold(PlanReason.DATA_UNKNOWN, process.name)
    is_member = bool(state.config) and _joins(state, process)
    if seen.has_data:
        return _version_of_data(state, goal, process, is_member=is_member)
    return _version_without_data(state, goal, process, is_member=is_member)


def _version_without_data(
    state: UnitState, goal: AutomationGoal, process: GoalProcess, *, is_member: bool
) -> str | PlanHold | None:
    # A server that has run leaves files of its feature compatibility version, even without data.
    of_files = state.process(process.name).feature_version
    limits = [] if of_files is None else [of_files]
    if is_member:
        return _version_for(state, goal, process, [*limits, _known_feature_version(state)])
    # A member with data initiates the replica set alone. Then its feature version decides for the others.
    if process.replica_set and not state.config and _others_have_data(state, process):
        return None
    return _version_for(state, goal, process, limits) if limits else process.version


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
    of_set = [_set_feature_version(state)] if is_member and _primary_name(state) else []
    return _version_for(state, goal, process, [seen.feature_version, *of_set])


def _others_have_data(state: UnitState, process: GoalProcess) -> bool:
    """Whether another process of the replica set has data, or may have."""
    others = (other for other in state.unit.processes if other.name != process.name)
    return any(state.process(other.name).has_data is not False for other in others)


def _joins(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process is a member, or becomes one."""
    stated = state.unit.members or ()
    return state.member(process.name) is not None or any(member.process == process.name for member in stated)


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
            version = version_of(state, goal, process, place)
            hold = _arbiters_hold(state, process, version)
            if version and hold is None:
                return version
            arbiters = arbiters or hold
    return arbiters or state.hold(
        PlanReason.NO_VERSION_FITS, process.name, feature_version=" and ".join(map(str, feature_versions))
    )


def takes_arbiters(settings: Settings) -> bool:
    """Whether a server with these settings takes several arbiters, whatever its version."""
    return settings.get(SEVERAL_ARBITERS) in {'"true"', '"1"'}


def arbiters_hold(
    state: UnitState, process: str, version: str, members: Iterable[MemberConfig]
) -> PlanHold | None:
    """Why a server that refuses several arbiters cannot be in a replica set with these members."""
    arbiters = [member.process for member in members if member.is_arbiter]
    if len(arbiters) < 2:
        return None
    return state.hold(PlanReason.SEVERAL_ARBITERS, process, version=version, others=", ".join(arbiters))


def _arbiters_hold(state: UnitState, process: GoalProcess, version: str | None) -> PlanHold | None:
    """Why the process would not start with the version."""
    settings = _settings_at_start(process, state.process(process.name), version)
    place = series(version)
    if place is None or place < SINGLE_ARBITER_SINCE or takes_arbiters(settings):
        return None
    return arbiters_hold(state, process.name, version or "", state.config)


def version_of(state: UnitState, goal: AutomationGoal, process: GoalProcess, place: int) -> str:
    """The version of a series that the process uses: its goal, its current or the newest listed version."""
    had = state.process(process.name).version
    for version in (process.version, had):
        if version and series(version) == place:
            return version
    return newest(goal.versions, place)


def _set_feature_version(state: UnitState) -> str | None:
    """The feature compatibility version of the replica set, as its primary says."""
    name = _primary_name(state)
    return state.process(name).feature_version if name else None


def _known_feature_version(state: UnitState) -> str | None:
    """As the primary says, or without a primary, as all running members with data say."""
    if _primary_name(state):
        return _set_feature_version(state)
    said = {
        state.process(member.process).feature_version
        for member in state.config
        if not member.is_arbiter and state.is_healthy(member.process)
    }
    return said.pop() if len(said) == 1 else None


def _primary_name(state: UnitState) -> str:
    primaries = state.primaries
    return primaries[0] if len(primaries) == 1 else ""


def change(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> Found:
    """The move that a running process needs and that interrupts it.

    None also if the feature compatibility version must change first: until then, the process keeps its
    settings, because the document can have settings of the new version.
    """
    if process.is_disabled:
        return _move(state, process, MoveKind.STOP)
    seen = state.process(process.name)
    version = next_version(state, goal, process)
    hold = _settings_hold(state, process, seen)
    if hold is not None:
        return hold
    if isinstance(version, PlanHold):
        return version
    names = changed_settings(process, seen)
    kind = None
    if version and version != seen.version:
        kind = MoveKind.CHANGE_VERSION
    elif not is_version_first(process, seen):
        if is_resync_due(process, seen, state.now) and not _resync_refusal(state, process):
            kind, version = MoveKind.RESYNC, ""
        elif not _is_settable(process, seen, names) or _is_restart_due(process, seen, state.now):
            kind, version = MoveKind.RESTART, ""
        elif _is_compact_due(state, process) and not _compact_refusal(state, process):
            kind, version, names = MoveKind.COMPACT, "", ()
    if kind is None:
        return None
    move = _move(state, process, kind, version=version, settings=names)
    return _arbiters_hold(state, process, version or seen.version) or move


def need_elsewhere(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> Found:
    """The next move of a process of another machine: as its agent says, or the version that follows.

    Its settings are not known here.
    """
    seen = state.process(process.name)
    need = seen.need
    if need is None or not _is_of_now(state, process, seen, need):
        return state.hold(PlanReason.NEED_UNKNOWN, "", other=process.name)
    if need.waits:
        return state.hold(PlanReason.NEED_WAITS, "", other=process.name)
    if need.move is not None:
        return _move(state, process, need.move, version=need.version)
    version = next_version(state, goal, process)
    if isinstance(version, PlanHold):
        return version
    if bool(version) and version != seen.version and not process.is_disabled:
        return _move(state, process, MoveKind.CHANGE_VERSION, version=version)
    # Its agent may not know the replica set that it joins.
    return outsider_hold(state, process)


def _is_of_now(state: UnitState, process: GoalProcess, seen: ObservedProcess, need: OwnNeed) -> bool:
    """Whether the need fits to the present: the process runs, and has the feature version of its primary."""
    if not seen.is_running:
        return seen.is_running is False and (need.waits or need.move in _BEFORE_RUNNING)
    now = _set_feature_version(state) if state.member(process.name) is not None else None
    return now is None or seen.feature_version in {now, None}


def is_version_first(process: GoalProcess, seen: ObservedProcess) -> bool:
    """Whether the process changes its version before it gets other settings."""
    return bool(process.version) and seen.version != process.version


def _settings_hold(state: UnitState, process: GoalProcess, seen: ObservedProcess) -> PlanHold | None:
    key = key_hold(state, process, seen)
    if seen.settings is None:
        return key or state.hold(PlanReason.SETTINGS_UNKNOWN, process.name)
    return key or _fixed_settings(state, process, seen)


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
    if process.is_sharded or process.is_router:
        return state.hold(PlanReason.SHARDED_VERSION, process.name)
    version = version_of(state, goal, process, place)
    if not version:
        names = {"old": running, "new": process.version, "between": SERIES[place]}
        return state.hold(PlanReason.NO_VERSION_BETWEEN, process.name, **names)
    limits = [feature_version_of(state, process)]
    own = state.process(process.name).feature_version
    if own is not None:
        # A member that was away has the feature version of before until it has caught up.
        limits.append(own)
    if is_newcomer(state, process):
        # It joins with a version that the replica set supports, and changes it as a member.
        limits.append(_known_feature_version(state))
    places = [series(limit) for limit in limits]
    if None in places:
        return state.hold(PlanReason.FEATURE_VERSION_UNKNOWN, process.name)
    return version if all(limit is not None and supports(place, limit) for limit in places) else running


def is_newcomer(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process is not a member of its initiated replica set, and becomes one."""
    return bool(state.config) and state.member(process.name) is None and _joins(state, process)


def outsider_hold(state: UnitState, process: GoalProcess) -> PlanHold | None:
    """Why a process that is not a member does not join, or does not reach its version.

    Only members can change the feature compatibility version, which limits the version.
    """
    seen = state.process(process.name)
    if not state.config or state.member(process.name) is not None:
        return None
    if not is_newcomer(state, process):
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
        return _set_feature_version(state)
    return state.process(process.name).feature_version


def preparation(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> Found:
    """A move before the interruption that interrupts nothing: a key file, or the download of a version."""
    seen = state.process(process.name)
    if lacks_key(process, seen):
        return _move(state, process, MoveKind.WRITE_KEY_FILE)
    version = next_version(state, goal, process)
    if isinstance(version, PlanHold) or not version or version == seen.version:
        return None
    return _download(state, process, seen, version)


def without_restart(state: UnitState, process: GoalProcess) -> Found:
    """A change of settings at run time, or of the configuration file alone, of a process without restart."""
    seen = state.process(process.name)
    if is_version_first(process, seen):
        return None
    if seen.file != process.settings:
        return _move(state, process, MoveKind.WRITE_FILE)
    names = changed_settings(process, seen)
    return _move(state, process, MoveKind.SET_PARAMETER, settings=names) if names else None


def changed_settings(process: GoalProcess, seen: ObservedProcess) -> tuple[str, ...]:
    """The names of the settings with which the server does not run, in order."""
    running = seen.settings or {}
    if running == process.settings:
        return ()
    names = {*running, *process.settings}
    return tuple(sorted(name for name in names if running.get(name) != process.settings.get(name)))


def _is_settable(process: GoalProcess, seen: ObservedProcess, names: tuple[str, ...]) -> bool:
    """Whether the server can take all these settings at run time.

    It cannot return to a default at run time: nothing says what the default is.
    """
    settable = seen.settable or frozenset()
    return all(name in settable and name in process.settings for name in names)


def _is_restart_due(process: GoalProcess, seen: ObservedProcess, now: datetime) -> bool:
    """Whether lastRestart asks for a restart now that has not happened.

    A process that was started under this lastRestart has had its restart, whatever the clock of its machine
    says: otherwise a wrong clock would restart it forever.
    """
    if process.restart is None or process.restart > now:
        return False
    times = (seen.restart, seen.started)
    return not any(time is not None and time >= process.restart for time in times)


def is_resync_due(process: GoalProcess, seen: ObservedProcess, now: datetime) -> bool | None:
    """Whether the data of a process is older than lastResync; None if this is not known.

    Data that began under this lastResync counts as younger, as for lastRestart.
    """
    if process.resync is None or process.resync > now:
        return False
    times = (seen.resync, seen.data_since)
    if any(time is not None and time >= process.resync for time in times):
        return False
    return None if seen.data_since is None else True


def _is_compact_due(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process has data from before lastCompact that is not compacted."""
    seen = state.process(process.name)
    if process.compact is None or process.compact > state.now:
        return False
    times = (seen.compacted, seen.data_since)
    is_member = not process.replica_set or state.member(process.name) is not None
    is_ready = state.state(process.name) in {*WITH_ALL_DATA, MemberState.STANDALONE}
    has_command = process.settings.get("storage.engine", COMPACTED_ENGINE) == COMPACTED_ENGINE
    is_ready = is_ready and is_member and has_command
    return is_ready and not any(time and time >= process.compact for time in times)


def _compact_refusal(state: UnitState, process: GoalProcess) -> str:
    """Why the process cannot be compacted; empty if it can."""
    member = state.member(process.name)
    if state.is_single and member is not None and member.votes > 0:
        return "it is the only voting member, and servers do not compact a primary"
    return ""


def compact_hold(state: UnitState, process: GoalProcess) -> PlanHold | None:
    """Why a running process is not compacted. This concerns no other process."""
    if process.is_disabled or not _is_compact_due(state, process):
        return None
    refusal = _compact_refusal(state, process)
    return state.hold(PlanReason.COMPACT_REFUSED, process.name, what=refusal) if refusal else None


def _resync_refusal(state: UnitState, process: GoalProcess) -> str:
    """Why the process cannot copy its data from another member; empty if it can."""
    member = state.member(process.name)
    if member is None or not _joins_or_stays(state, process):
        return "it is not a member of an initiated replica set, or leaves it"
    if member.is_arbiter:
        return "it is an arbiter"
    if process.resync is not None and state.now - process.resync > _OLDEST_RESYNC:
        return "it is more than 30 days old: publish the present time"
    if all(name == process.name for name in copying(state)):
        return "no other voting member has all data"
    return ""


def _joins_or_stays(state: UnitState, process: GoalProcess) -> bool:
    stated = state.unit.members
    return stated is None or any(member.process == process.name for member in stated)


def resync_hold(state: UnitState, process: GoalProcess) -> PlanHold | None:
    """Why a running process keeps data that is older than lastResync, or may be.

    This concerns no other process, and no other move of the process.
    """
    is_due = is_resync_due(process, state.process(process.name), state.now)
    if is_due is False or process.is_disabled or not process.replica_set:
        return None
    stated = next((member for member in state.unit.members or () if member.process == process.name), None)
    if stated is not None and (stated.is_arbiter or state.member(process.name) is None):
        return None  # The notes say it of an arbiter. A newcomer joins without data.
    refusal = _resync_refusal(state, process)
    if refusal:
        return state.hold(PlanReason.RESYNC_REFUSED, process.name, what=refusal)
    return state.hold(PlanReason.DATA_AGE_UNKNOWN, process.name) if is_due is None else None


def removal(state: UnitState, process: GoalProcess) -> Move | None:
    """Remove the data that was set aside, once the process has all data again."""
    seen = state.process(process.name)
    is_asked = process.resync is not None and process.resync <= state.now
    is_younger = is_resync_due(process, seen, state.now) is False
    if seen.has_old_data and is_asked and is_younger and state.state(process.name) in WITH_ALL_DATA:
        return _move(state, process, MoveKind.REMOVE_OLD_DATA)
    return None


def _fixed_settings(state: UnitState, process: GoalProcess, seen: ObservedProcess) -> PlanHold | None:
    """Why the settings of a process must not change: a server would start without its data."""
    names = changed_settings(process, seen) if seen.settings is not None else ()
    fixed = [name for name in names if name in FIXED_SETTINGS or _leaves_set(name, seen)]
    if not fixed:
        return None
    return state.hold(PlanReason.FIXED_SETTING, process.name, settings=", ".join(fixed))


def _leaves_set(name: str, seen: ObservedProcess) -> bool:
    """Whether a server would leave its replica set. A standalone server can get one."""
    return name == SET_NAME and seen.settings is not None and SET_NAME in seen.settings


def _download(state: UnitState, process: GoalProcess, seen: ObservedProcess, version: str) -> Found:
    if seen.builds is None:
        return state.hold(PlanReason.BUILDS_UNKNOWN, process.name)
    if version in seen.builds:
        return None
    return _move(state, process, MoveKind.DOWNLOAD, version=version)


def _move(
    state: UnitState,
    process: GoalProcess,
    kind: MoveKind,
    *,
    version: str = "",
    settings: tuple[str, ...] = (),
) -> Move:
    return Move(kind, process.name, state.unit.replica_set, version, settings)


def state_holds(state: UnitState, process: GoalProcess) -> Iterator[PlanHold]:
    """Why a running process must not be interrupted, in any state of the other processes."""
    now = state.state(process.name)
    if now is None:
        yield state.hold(PlanReason.STATE_UNKNOWN, process.name)
    elif now in {MemberState.STARTING, MemberState.SYNCING, MemberState.ROLLBACK}:
        yield state.hold(PlanReason.MEMBER_BUSY, process.name, state=now.value)
