"""The moves of a single process: start it, change its version or its settings, restart it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Union

from automation.plan.data_moves import needs_compact, needs_resync
from automation.plan.due import is_due
from automation.plan.guards import UnitState
from automation.plan.key_files import key_hold, lacks_key
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    AutomationGoal,
    GoalProcess,
    MemberState,
    Move,
    MoveKind,
    ObservedProcess,
    OwnNeed,
    PlanHold,
)
from automation.plan.version_choice import (
    feature_version_of_set,
    is_version_first,
    next_version,
    outsider_hold,
    settings_at_start,
    start_arbiters_hold,
    start_version,
)

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
    version = start_version(state, goal, process, seen)
    if version is None or isinstance(version, PlanHold):
        return version
    arbiters = start_arbiters_hold(state, process, version)
    if arbiters is not None:
        return arbiters
    download = _download(state, process, seen, version)
    return download or _start_with(state, process, seen, version)


def _start_with(state: UnitState, process: GoalProcess, seen: ObservedProcess, version: str) -> Move:
    """The files of the process come first, then the start."""
    if lacks_key(process, seen):
        return state.move(MoveKind.WRITE_KEY_FILE, process.name)
    if seen.file != settings_at_start(process, seen, version):
        return state.move(MoveKind.WRITE_FILE, process.name, version=version)
    return state.move(MoveKind.START, process.name, version=version)


def change(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> Found:
    """The move that a running process needs and that interrupts it.

    None also if the feature compatibility version must change first: until then, the process keeps its
    settings, because the document can have settings of the new version.
    """
    if process.is_disabled:
        return state.move(MoveKind.STOP, process.name)
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
        if needs_resync(state, process):
            kind, version = MoveKind.RESYNC, ""
        elif not _is_settable(process, seen, names) or _is_restart_due(process, seen, state.now):
            kind, version = MoveKind.RESTART, ""
        elif needs_compact(state, process):
            kind, version, names = MoveKind.COMPACT, "", ()
    if kind is None:
        return None
    move = state.move(kind, process.name, version=version, settings=names)
    return start_arbiters_hold(state, process, version or seen.version) or move


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
        return state.move(need.move, process.name, version=need.version)
    version = next_version(state, goal, process)
    if isinstance(version, PlanHold):
        return version
    if bool(version) and version != seen.version and not process.is_disabled:
        return state.move(MoveKind.CHANGE_VERSION, process.name, version=version)
    # Its agent may not know the replica set that it joins.
    return outsider_hold(state, process)


def _is_of_now(state: UnitState, process: GoalProcess, seen: ObservedProcess, need: OwnNeed) -> bool:
    """Whether the need fits to the present: the process runs, and has the feature version of its primary."""
    if not seen.is_running:
        return seen.is_running is False and (need.waits or need.move in _BEFORE_RUNNING)
    now = feature_version_of_set(state) if state.member(process.name) is not None else None
    return now is None or seen.feature_version in {now, None}


def _settings_hold(state: UnitState, process: GoalProcess, seen: ObservedProcess) -> PlanHold | None:
    key = key_hold(state, process, seen)
    if seen.settings is None:
        return key or state.hold(PlanReason.SETTINGS_UNKNOWN, process.name)
    return key or _fixed_settings(state, process, seen)


def preparation(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> Found:
    """A move before the interruption that interrupts nothing: a key file, or the download of a version."""
    seen = state.process(process.name)
    if lacks_key(process, seen):
        return state.move(MoveKind.WRITE_KEY_FILE, process.name)
    version = next_version(state, goal, process)
    if isinstance(version, PlanHold) or not version or version == seen.version:
        return None
    return _download(state, process, seen, version)


def without_restart(state: UnitState, process: GoalProcess) -> Found:
    """A change of settings at run time, or of the configuration file alone, of a process without restart.

    The file comes last: a value that the server refuses must not be in the file of its next start.
    """
    seen = state.process(process.name)
    if is_version_first(process, seen):
        return None
    if names := changed_settings(process, seen):
        return state.move(MoveKind.SET_PARAMETER, process.name, settings=names)
    return state.move(MoveKind.WRITE_FILE, process.name) if seen.file != process.settings else None


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
    """Whether lastRestart asks for a restart now that has not happened."""
    return is_due(process.restart, (seen.restart, seen.started), now)


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
    return state.move(MoveKind.DOWNLOAD, process.name, version=version)


def state_holds(state: UnitState, process: GoalProcess) -> Iterator[PlanHold]:
    """Why a running process must not be interrupted, in any state of the other processes."""
    now = state.state(process.name)
    if now is None:
        yield state.hold(PlanReason.STATE_UNKNOWN, process.name)
    elif now in {MemberState.STARTING, MemberState.SYNCING, MemberState.ROLLBACK}:
        yield state.hold(PlanReason.MEMBER_BUSY, process.name, state=now.value)
