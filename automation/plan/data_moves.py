"""The moves of the data of a process: an initial sync, the removal of old data, a compaction. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from automation.plan.due import is_due
from automation.plan.guards import WITH_ALL_DATA, UnitState, copying
from automation.plan.reasons import PlanReason
from automation.plan.values import GoalProcess, MemberState, Move, MoveKind, ObservedProcess, PlanHold

COMPACTED_ENGINE = '"wiredTiger"'
"""The storage engine that has the command to compact."""
_OLDEST_RESYNC = timedelta(days=30)
"""An older lastResync, such as of a document of another platform, no longer removes data."""
TOO_OLD = "it is more than 30 days old: publish the present time"


def needs_resync(state: UnitState, process: GoalProcess) -> bool:
    """Whether a running process copies all its data again now."""
    is_due_now = _is_resync_due(process, state.process(process.name), state.now)
    return bool(is_due_now) and not _resync_refusal(state, process)


def _is_resync_due(process: GoalProcess, seen: ObservedProcess, now: datetime) -> bool | None:
    """Whether the data of a process is older than lastResync; None if this is not known."""
    if not is_due(process.resync, (seen.resync, seen.data_since), now):
        return False
    return None if seen.data_since is None else True


def _resync_refusal(state: UnitState, process: GoalProcess) -> str:
    """Why the process cannot copy its data from another member; empty if it can."""
    member = state.member(process.name)
    if member is None or not state.unit.keeps_member(process.name):
        return "it is not a member of an initiated replica set, or leaves it"
    if member.is_arbiter:
        return "it is an arbiter"
    if process.resync is not None and is_too_old(process.resync, state.now):
        return TOO_OLD
    if all(name == process.name for name in copying(state)):
        return "no other voting member has all data"
    return ""


def is_too_old(resync: datetime, now: datetime) -> bool:
    """Whether a lastResync no longer removes data, whatever is observed."""
    return now - resync > _OLDEST_RESYNC


def resync_hold(state: UnitState, process: GoalProcess) -> PlanHold | None:
    """Why a running process keeps data that is older than lastResync, or may be.

    This concerns no other process, and no other move of the process.
    """
    is_late = _is_resync_due(process, state.process(process.name), state.now)
    if is_late is False or process.is_disabled or not process.replica_set:
        return None
    stated = state.unit.stated_member(process.name)
    if stated is not None and (stated.is_arbiter or state.member(process.name) is None):
        return None  # The notes say it of an arbiter. A newcomer joins without data.
    refusal = _resync_refusal(state, process)
    if refusal:
        return state.hold(PlanReason.RESYNC_REFUSED, process.name, what=refusal)
    return state.hold(PlanReason.DATA_AGE_UNKNOWN, process.name) if is_late is None else None


def removal(state: UnitState, process: GoalProcess) -> Move | None:
    """Remove the data that was set aside, once the process has all data again."""
    seen = state.process(process.name)
    is_asked = process.resync is not None and process.resync <= state.now
    is_younger = _is_resync_due(process, seen, state.now) is False
    if seen.has_old_data and is_asked and is_younger and state.state(process.name) in WITH_ALL_DATA:
        return state.move(MoveKind.REMOVE_OLD_DATA, process.name)
    return None


def needs_compact(state: UnitState, process: GoalProcess) -> bool:
    """Whether a running process is compacted now."""
    return _is_uncompacted(state, process) and not _compact_refusal(state, process)


def _is_uncompacted(state: UnitState, process: GoalProcess) -> bool:
    """Whether lastCompact asks for a compaction of the data that the process has now."""
    seen = state.process(process.name)
    is_asked = is_due(process.compact, (seen.compacted, seen.data_since), state.now)
    return is_asked and _is_compactable(state, process)


def _is_compactable(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process has all data of its replica set, or its own data, and the command to compact it."""
    is_member = not process.replica_set or state.member(process.name) is not None
    has_data = state.state(process.name) in {*WITH_ALL_DATA, MemberState.STANDALONE}
    has_command = process.settings.get("storage.engine", COMPACTED_ENGINE) == COMPACTED_ENGINE
    return is_member and has_data and has_command


def _compact_refusal(state: UnitState, process: GoalProcess) -> str:
    """Why the process cannot be compacted; empty if it can."""
    member = state.member(process.name)
    if state.is_single and member is not None and member.votes > 0:
        return "it is the only voting member, and servers do not compact a primary"
    return ""


def compact_hold(state: UnitState, process: GoalProcess) -> PlanHold | None:
    """Why a running process is not compacted. This concerns no other process."""
    if process.is_disabled or not _is_uncompacted(state, process):
        return None
    refusal = _compact_refusal(state, process)
    return state.hold(PlanReason.COMPACT_REFUSED, process.name, what=refusal) if refusal else None
