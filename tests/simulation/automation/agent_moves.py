"""The moves of the agents, as they change the simulated fleet."""

from datetime import timedelta

from automation.plan.set_moves import members_after
from automation.plan.values import WITH_TURN, FailedMove, GoalProcess, Move, MoveKind
from automation.plan.versions import SERIES, series
from tests.simulation.automation.documents import WITHOUT_ZONE
from tests.simulation.automation.fleet import FleetPromise, SimulatedServer
from tests.simulation.automation.move_checks import check_primary_last, check_resync
from tests.simulation.automation.run_state import BEGIN, ROLLING, SETTABLE, RunState, StartInFlight

_TURN_TICKS = 3


def land(state: RunState) -> None:
    """End the restarts whose time has come."""
    for name, flight in list(state.flights.items()):
        state.turn_until = max(state.turn_until, state.world.now + 1)
        if flight.at <= state.world.now:
            del state.flights[name]
            if flight.sets_aside:
                state.world.set_aside(name)
            _start(state, flight.move)


def take_turn(state: RunState, move: Move) -> None:
    """Let the process of a move have the turn for it, and note the move."""
    if move.kind in WITH_TURN:
        state.done.append((move.kind.value, move.process))
        if move.replica_set:
            state.turn, state.turn_until = move.process, state.world.now + _TURN_TICKS


def make(state: RunState, move: Move) -> None:
    """Let an agent make a move."""
    process = state.process(move.process)
    server = state.world.servers[move.process]
    match move.kind:
        case MoveKind.DOWNLOAD:
            server.builds.add(move.version)
        case MoveKind.WRITE_FILE | MoveKind.WRITE_KEY_FILE if process:
            _write(state, server, process, move)
        case MoveKind.SET_PARAMETER if process:
            _set_parameter(state, server, process)
        case MoveKind.START:
            _start(state, move)
        case kind if kind in ROLLING:
            _disturb(state, server, move)
        case MoveKind.REMOVE_OLD_DATA | MoveKind.COMPACT:
            _work_on_data(state, server, move)
        case MoveKind.SET_FEATURE_VERSION | MoveKind.SET_DEFAULT_CONCERN | MoveKind.SET_USERS:
            _set_value(state, server, move)
        case MoveKind.INITIATE:
            state.world.initiate(server.name, move.members)
        case MoveKind.ADD_MEMBER | MoveKind.CHANGE_MEMBER | MoveKind.REMOVE_MEMBER:
            _change_members(state, server, move)


def _write(state: RunState, server: SimulatedServer, process: GoalProcess, move: Move) -> None:
    if move.kind is MoveKind.WRITE_KEY_FILE:
        state.world.write_key(server.name, state.stated_auth()["key"])
    else:
        server.file = process.settings


def _set_value(state: RunState, server: SimulatedServer, move: Move) -> None:
    """Set the value that all members have."""
    if move.kind is MoveKind.SET_FEATURE_VERSION:
        state.world.set_feature(server.name, SERIES.index(move.version))
    elif move.kind is MoveKind.SET_USERS:
        wanted = state.wanted_users()
        state.world.set_users(server.name, {name: wanted[name] for name in move.settings})
    else:
        concern = state.goal.units[0].concern
        state.world.set_concern(server.name, {name: concern[name] for name in move.settings})


def _change_members(state: RunState, server: SimulatedServer, move: Move) -> None:
    name = move.members[0].process
    if state.world.disturbed - {name}:
        state.world.violates(FleetPromise.ONE_AT_A_TIME, f"{move.kind.value} of {name} during a restart")
    state.world.reconfigure(server.name, members_after(state.world.config, move))


def _set_parameter(state: RunState, server: SimulatedServer, process: GoalProcess) -> None:
    before = server.settings or {}
    changed = {
        name for name in {*before, *process.settings} if before.get(name) != process.settings.get(name)
    }
    if not all(name in SETTABLE and name in process.settings for name in changed):
        state.world.violates(FleetPromise.SERVER, f"{server.name} cannot change {changed} at run time")
        return
    server.settings = process.settings


def _work_on_data(state: RunState, server: SimulatedServer, move: Move) -> None:
    if move.kind is MoveKind.REMOVE_OLD_DATA:
        state.world.remove_old(server.name)
        return
    number = min(state.goal.number, len(state.plan.documents))
    processes = state.plan.documents[number - 1]["processes"]
    if (server.name, WITHOUT_ZONE) in {(sent["name"], sent.get("lastCompact")) for sent in processes}:
        state.world.violates(FleetPromise.HANDS_OFF, f"{server.name} is compacted at a time without a zone")
    state.world.check_disturbance(server.name)
    state.world.compact(server.name)
    process = state.process(server.name)
    is_killed = state.plan.faults > 0 and state.ages.random() < 0.3
    if process is not None and not is_killed:
        server.compacted = process.compact


def _disturb(state: RunState, server: SimulatedServer, move: Move) -> None:
    if move.kind is not MoveKind.STEP_DOWN:
        _interrupt(state, server, move)
        return
    check_primary_last(state, server)
    state.world.check_disturbance(server.name, is_step_down=True)
    state.world.step_down(server.name)


def _interrupt(state: RunState, server: SimulatedServer, move: Move) -> None:
    state.world.check_disturbance(server.name)
    if move.kind is MoveKind.CHANGE_VERSION:
        steps = (series(move.version) or 0) - (series(server.version) or 0)
        if abs(steps) > 1:
            what = f"{server.name} changes from {server.version} to {move.version}"
            state.world.violates(FleetPromise.VERSION, what)
    state.world.stop(server.name)
    if move.kind is MoveKind.STOP:
        state.world.disturbed.discard(server.name)  # It stays away: the document disables it.
    else:
        wait = state.random.randint(0, 2) if state.plan.faults else 0
        is_late = move.kind is MoveKind.RESYNC and state.ages.random() < 0.5
        if move.kind is MoveKind.RESYNC:
            check_resync(state, server.name)
            if not is_late:
                state.world.set_aside(server.name)
        state.flights[server.name] = StartInFlight(move, state.world.now + wait, is_late)
        if not wait:
            land(state)


def _start(state: RunState, move: Move) -> None:
    process = state.process(move.process)
    server = state.world.servers[move.process]
    if process is None or server.is_running:
        return
    now = BEGIN + timedelta(minutes=state.world.now)
    restart, resync = (
        time if time is not None and time <= now else None for time in (process.restart, process.resync)
    )
    why = state.world.start(
        server.name,
        move.version or server.version,
        server.file or {},
        restart,
        resync,
    )
    if why:
        state.failures[server.name] = FailedMove(state.goal.number, move.kind, why, server.name)
