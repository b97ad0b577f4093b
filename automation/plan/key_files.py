"""Key files of servers: why a process must not get, lose or change its key file. Pure.

Members with and without a key file cannot talk to each other, nor can members with different keys. A member
in transition talks to all that have the same key or none.
"""

from __future__ import annotations

from collections.abc import Iterator

from automation.plan.auth import KeyUse, key_use
from automation.plan.guards import UnitState
from automation.plan.reasons import PlanReason
from automation.plan.values import GoalProcess, KeyFile, ObservedProcess, PlanHold


def lacks_key(process: GoalProcess, seen: ObservedProcess) -> bool:
    """Whether the plan writes the key file first."""
    return bool(process.key_file) and seen.key_file is KeyFile.MISSING


def key_hold(state: UnitState, process: GoalProcess, seen: ObservedProcess) -> PlanHold | None:
    """Why the plan neither touches the key file nor lets the process start or restart with its settings."""
    if process.key_file and seen.key_file is None:
        return state.hold(PlanReason.KEY_UNKNOWN, process.name)
    if process.key_file and seen.key_file is KeyFile.DIFFERENT:
        return state.hold(PlanReason.KEY_CHANGE, process.name)
    is_first = not seen.is_running and seen.has_data is False and not seen.file
    return None if is_first else _change_hold(state, process, seen)


def _change_hold(state: UnitState, process: GoalProcess, seen: ObservedProcess) -> PlanHold | None:
    """Why a process that has run before does not get, or lose, its key file."""
    now, wanted = _last_use(seen), key_use(process.settings)
    if now is None and not seen.is_running and wanted is KeyUse.NONE:
        return state.hold(PlanReason.KEY_USE_UNKNOWN, process.name, other=process.name)
    if now is KeyUse.FULL and wanted is KeyUse.NONE:
        return state.hold(PlanReason.KEY_STAYS, process.name)
    if now is None or not state.unit.replica_set or (now is wanted and seen.is_running):
        return None
    separated = _separated(state, process, wanted)
    if now is wanted:  # It starts with the key that it had: what is not known of others changes nothing.
        separated = (hold for hold in separated if not _is_unknown(hold))
    return min(separated, key=_is_unknown, default=None)


def _last_use(seen: ObservedProcess) -> KeyUse | None:
    """How the process runs with a key file, or ran last; None if this is not known."""
    if seen.is_running:
        return None if seen.settings is None else key_use(seen.settings)
    return seen.key_use or (key_use(seen.file) if seen.file else None)


def joining_hold(state: UnitState, name: str) -> PlanHold | None:
    """Why a process cannot join the replica set: it could not talk to a member."""
    use = state.key_use(name)
    for member in state.config:
        other = state.key_use(member.process)
        if use is not None and other is not None and not use.talks_to(other):
            return state.hold(PlanReason.KEY_SPLIT, name, other=member.process)
    return None


def _separated(state: UnitState, process: GoalProcess, wanted: KeyUse) -> Iterator[PlanHold]:
    """The other members to which the process could not talk any more, or of which this is not known.

    A process that is down starts as the document says.
    """
    for name in sorted({*state.goals, *state.members} - {process.name}):
        use = state.key_use(name)
        if use is not None and not use.talks_to(wanted):
            yield state.hold(PlanReason.KEY_SPLIT, process.name, other=name)
        elif use is None and state.process(name).is_running is not False:
            yield state.hold(PlanReason.KEY_USE_UNKNOWN, process.name, other=name)


def _is_unknown(hold: PlanHold) -> bool:
    return hold.reason is PlanReason.KEY_USE_UNKNOWN
