"""How a run ended: the promises that it broke, and whether its goal is reached."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from automation.plan.concerns import stated_concern
from automation.plan.reading import NOT_PLANNED_FIELD
from automation.plan.reasons import PlanReason
from automation.plan.values import INTERRUPTING, GoalProcess, GoalUnit, MemberConfig, MemberState
from automation.plan.versions import series
from tests.simulation.automation.documents import FIELDS_LEFT_ALONE
from tests.simulation.automation.fleet import FleetPromise, SimulatedServer
from tests.simulation.automation.run_state import BEGIN, PASSING, RunState

_WITHOUT_A_WAY = frozenset(
    {
        PlanReason.MEMBER_VERSION,
        PlanReason.OUTSIDE_VERSION,
        PlanReason.FIXED_MEMBER,
        PlanReason.MAKER_NOT_MANAGED,
        PlanReason.CONCERN_NEEDED,
        PlanReason.SEVERAL_ARBITERS,
        PlanReason.RESYNC_REFUSED,
        PlanReason.COMPACT_REFUSED,
    }
)
"""Reasons of benign documents: of a former member with data of an old version, that was an arbiter, or is the
primary and not in the document; of arbiters that change the default write concern, or that a version between
refuses; of a single member, whose data nobody else has, and which is always the primary."""


@dataclass(frozen=True)
class FleetOutcome:
    """What a run broke, the moves that need the turn, and why its end is not the goal."""

    broken: tuple[tuple[FleetPromise, str], ...]
    moves: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    ticks: int


def outcome_of(state: RunState, *, is_quiet: bool, has_a_way: bool) -> FleetOutcome:
    """How the run ended. `is_quiet`: nothing moves any more. `has_a_way`: the goal can be reached."""
    broken = list(state.world.broken)
    reasons = tuple(sorted({hold.reason.name for hold in state.last.holds}))
    if not broken and not is_quiet:
        broken.append((FleetPromise.END, f"the plan still makes moves: {state.last.moves}, {reasons}"))
    elif not broken and state.shown is not None and state.shown != _interruptions(state):
        broken.append((FleetPromise.END, f"shown {state.shown}, made {_interruptions(state)}"))
    elif not broken:
        missing = _missing(state)
        if unsaid := _unsaid(state):
            broken.append((FleetPromise.END, f"not carried out, and not said, or the reverse: {unsaid}"))
        if missing and not state.last.holds:
            broken.append((FleetPromise.END, f"no reason is given: {missing}"))
        if has_a_way:
            stuck = [hold for hold in state.last.holds if hold.reason not in _WITHOUT_A_WAY]
            if stuck:
                broken.append((FleetPromise.END, f"the goal can be reached: {stuck[0]}, {missing}"))
    return FleetOutcome(tuple(broken), tuple(state.done), reasons, state.world.now)


def _interruptions(state: RunState) -> Counter[tuple[str, str]]:
    kinds = {kind.value for kind in INTERRUPTING}
    return Counter((kind, process) for kind, process in state.done if kind in kinds)


def _unsaid(state: RunState) -> list[tuple[str, str]]:
    """The fields that the plan leaves alone and does not name, or names although it carries them out."""
    document = state.plan.documents[-1]
    left_alone = {
        (process["name"], name)
        for process in document["processes"]
        for name in FIELDS_LEFT_ALONE
        if name in process
    }
    notes = [*state.goal.notes, *(note for unit in state.goal.units for note in unit.notes)]
    said = {
        (note.process, dict(note.names)[NOT_PLANNED_FIELD])
        for note in notes
        if note.reason is PlanReason.NOT_PLANNED
    }
    return sorted(left_alone ^ said)


def _missing(state: RunState) -> list[str]:
    """What of the goal is not reached."""
    found = []
    unit = state.goal.units[0]
    for process in unit.processes:
        if not process.is_manual:
            found += _missing_of(state, process)
    if unit.members is not None and not state.world.shuts_down:
        config = {member.process: member for member in state.world.config}
        wanted = {member.process for member in unit.members}
        found += [f"member {name}" for name in config if name not in wanted]
        for member in unit.members:
            now = config.get(member.process)
            own = state.process(member.process)
            if now is None and own is not None and not own.is_disabled:
                found.append(f"no member {member.process}")
            elif now is not None and _values(now) != _values(member):
                found.append(f"{now} instead of {member}")
    found += _missing_users(state, unit)
    if state.world.config and not state.world.shuts_down:
        found += [
            f"no {name} {text}" for name, text in _concern(state) if text != state.world.concern.get(name)
        ]
    goal = series(unit.processes[0].feature_version)
    features = [state.world.feature] if state.world.config else []
    if not unit.replica_set:
        features = [state.world.servers[process.name].feature for process in unit.processes]
    if not state.world.shuts_down and any(feature != goal for feature in features):
        found.append(f"feature version {features}")
    return found


def _missing_users(state: RunState, unit: GoalUnit) -> list[str]:
    has_server = not state.world.shuts_down and (state.world.config or not unit.replica_set)
    wanted = state.wanted_users() if has_server else {}
    return [f"no user {name}" for name, pwd in wanted.items() if state.world.users.get(name) != pwd]


def _concern(state: RunState) -> list[tuple[str, str]]:
    """The default concerns that the managed processes of the last document state."""
    managed = {
        process.name
        for process in state.goal.units[0].processes
        if not process.is_disabled and not process.is_manual
    }
    return [
        (name, text)
        for process in state.plan.documents[-1]["processes"]
        if process["name"] in managed
        for name, text in stated_concern(process).items()
    ]


def _missing_of(state: RunState, process: GoalProcess) -> list[str]:
    server = state.world.servers[process.name]
    if process.is_disabled or not server.is_running:
        return [] if process.is_disabled is not server.is_running else [f"{process.name} runs or not"]
    late = process.restart is not None and (
        (server.marker is None or server.marker < process.restart)
        and BEGIN + timedelta(minutes=server.started + server.clock) < process.restart
    )
    return [
        *([f"{process.name} has {server.version}"] if server.version != process.version else []),
        *([f"{process.name} has settings {server.settings}"] if server.settings != process.settings else []),
        *([f"{process.name} has another file"] if server.file != process.settings else []),
        *([f"{process.name} was not restarted"] if late else []),
        *_missing_resync(state, process, server),
        *_missing_compact(state, process, server),
        *([f"{process.name} is {server.state}"] if server.state in PASSING else []),
    ]


def _missing_compact(state: RunState, process: GoalProcess, server: SimulatedServer) -> list[str]:
    """What of lastCompact is not reached: by members with data, and by single servers."""
    times = (server.compacted, BEGIN + timedelta(minutes=server.data_since or 0))
    is_member = not process.replica_set or state.world.member(process.name) is not None
    has_data = server.is_copy or server.state is MemberState.STANDALONE
    is_late = process.compact is not None and not any(time and time >= process.compact for time in times)
    return [f"{process.name} is not compacted"] if is_late and is_member and has_data else []


def _missing_resync(state: RunState, process: GoalProcess, server: SimulatedServer) -> list[str]:
    """What of lastResync is not reached. Notes say it of processes that are no members with data."""
    member = state.world.member(process.name)
    if process.resync is None or member is None or member.is_arbiter:
        return []
    since = BEGIN + timedelta(minutes=server.data_since or 0)
    if since < process.resync and (server.resync is None or server.resync < process.resync):
        return [f"{process.name} has data since {since}"]
    return [f"{process.name} has old data"] if server.old else []


def _values(member: MemberConfig) -> tuple[float, int, bool, int]:
    return member.priority, member.votes, member.is_hidden, member.delay
