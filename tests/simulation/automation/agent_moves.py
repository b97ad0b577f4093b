"""The moves of the agents, as they change the simulated fleet."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from automation.plan.set_moves import members_after
from automation.plan.values import WITH_TURN, FailedMove, Move, MoveKind
from automation.plan.versions import SERIES, series
from tests.simulation.automation.documents import WITHOUT_ZONE
from tests.simulation.automation.fleet import FleetPromise, SimulatedServer
from tests.simulation.automation.move_checks import check_primary_last, check_resync
from tests.simulation.automation.run_state import BEGIN, SETTABLE, RunState, StartInFlight

_TURN_TICKS = 3


def land(state: RunState) -> None:
    """End the restarts whose time has come."""
    for name, flight in list(state.flights.items()):
        state.turn_until = max(state.turn_until, state.world.now + 1)
        if flight.at <= state.world.now:
            del state.flights[name]
            if flight.sets_aside:
                state.world.set_aside(name)
            use_next_file(state.world.servers[name], flight)
            _start(state, state.world.servers[name], flight.move)


def use_next_file(server: SimulatedServer, flight: StartInFlight) -> None:
    """Put the file of a restart in the place of the present one."""
    server.file, server.file_version = flight.file, flight.move.version or server.version


def take_turn(state: RunState, move: Move) -> None:
    """Let the process of a move have the turn for it, and note the move."""
    if move.kind in WITH_TURN:
        state.done.append((move.kind.value, move.process))
        if move.replica_set:
            state.turn, state.turn_until = move.process, state.world.now + _TURN_TICKS


def make(state: RunState, move: Move) -> None:
    """Let an agent make a move."""
    _MOVES[move.kind](state, state.world.servers[move.process], move)


def _download(_: RunState, server: SimulatedServer, move: Move) -> None:
    server.builds.add(move.version)


def _write_file(state: RunState, server: SimulatedServer, move: Move) -> None:
    if process := state.process(server.name):
        server.file, server.file_version = process.settings, move.version or process.version


def _write_key_file(state: RunState, server: SimulatedServer, _: Move) -> None:
    if state.process(server.name):
        state.world.write_key(server.name, state.stated_auth()["key"])


def _set_parameter(state: RunState, server: SimulatedServer, _: Move) -> None:
    process = state.process(server.name)
    if process is None:
        return
    before = server.settings or {}
    changed = {
        name for name in {*before, *process.settings} if before.get(name) != process.settings.get(name)
    }
    if not all(name in SETTABLE and name in process.settings for name in changed):
        state.world.violates(FleetPromise.SERVER, f"{server.name} cannot change {changed} at run time")
        return
    server.settings = process.settings


def _start(state: RunState, server: SimulatedServer, move: Move) -> None:
    process = state.process(server.name)
    if process is None or server.is_running:
        return
    now = BEGIN + timedelta(minutes=state.world.now)
    restart, resync = (
        time if time is not None and time <= now else None for time in (process.restart, process.resync)
    )
    is_agreed = resync is not None and (server.resync is None or resync > server.resync)
    if move.kind is MoveKind.START and server.is_wiped and not server.old and not is_agreed:
        state.world.violates(FleetPromise.DATA, f"{server.name} starts empty, and nobody has agreed to it")
    version = move.version or server.version
    # A version between two series starts with the file of the earlier version.
    is_between = (series(server.file_version) or 0) < (series(version) or 0)
    is_file_of_other = server.file_version != version != process.version and server.file != server.settings
    if version == server.version and is_file_of_other and not is_between:
        what = f"{server.name} starts {version} with the file of {server.file_version}"
        state.world.violates(FleetPromise.VERSION, what)
    why = state.world.start(server.name, version, server.file or {}, restart, resync)
    server.has_failed = bool(why)
    if not why:
        server.file_version = version
    else:
        state.failures[server.name] = FailedMove(state.goal.number, move.kind, why, server.name)


def _stop(state: RunState, server: SimulatedServer, _: Move) -> None:
    """Stop a server, which stays away: the document disables it."""
    state.world.check_disturbance(server.name)
    state.world.stop(server.name)
    state.world.disturbed.discard(server.name)


def _restart(state: RunState, server: SimulatedServer, move: Move) -> None:
    state.world.check_disturbance(server.name)
    state.world.stop(server.name)
    _start_again(state, move)


def _change_version(state: RunState, server: SimulatedServer, move: Move) -> None:
    state.world.check_disturbance(server.name)
    steps = (series(move.version) or 0) - (series(server.version) or 0)
    if abs(steps) > 1:
        what = f"{server.name} changes from {server.version} to {move.version}"
        state.world.violates(FleetPromise.VERSION, what)
    state.world.stop(server.name)
    _start_again(state, move)


def _resync(state: RunState, server: SimulatedServer, move: Move) -> None:
    """Restart a server with an empty directory. Its data is set aside at once, or only before the start."""
    state.world.check_disturbance(server.name)
    state.world.stop(server.name)
    check_resync(state, server.name)
    if state.ages.random() < 0.5:
        _start_again(state, move, sets_aside=True)
    else:
        state.world.set_aside(server.name)
        _start_again(state, move)


def _start_again(state: RunState, move: Move, *, sets_aside: bool = False) -> None:
    """Start a stopped server: at once, or up to two ticks later if the run has faults."""
    wait = state.random.randint(0, 2) if state.plan.faults else 0
    process = state.process(move.process)
    file = process.settings if process else None
    state.flights[move.process] = StartInFlight(move, state.world.now + wait, file, sets_aside)
    if not wait:
        land(state)


def _step_down(state: RunState, server: SimulatedServer, _: Move) -> None:
    check_primary_last(state, server)
    state.world.check_disturbance(server.name, is_step_down=True)
    state.world.step_down(server.name)


def _remove_old_data(state: RunState, server: SimulatedServer, _: Move) -> None:
    state.world.remove_old(server.name)


def _compact(state: RunState, server: SimulatedServer, _: Move) -> None:
    """Compact a server. With faults, its agent is sometimes killed before it notes this."""
    number = min(state.goal.number, len(state.plan.documents))
    processes = state.plan.documents[number - 1]["processes"]
    if (server.name, WITHOUT_ZONE) in {(sent["name"], sent.get("lastCompact")) for sent in processes}:
        state.world.violates(FleetPromise.HANDS_OFF, f"{server.name} is compacted at a time without a zone")
    state.world.check_disturbance(server.name)
    state.world.compact(server.name)
    if state.plan.faults > 0 and state.ages.random() < 0.3:
        return
    if process := state.process(server.name):
        server.compacted = process.compact


def _set_feature_version(state: RunState, server: SimulatedServer, move: Move) -> None:
    state.world.set_feature(server.name, SERIES.index(move.version))


def _set_concern(state: RunState, server: SimulatedServer, move: Move) -> None:
    concern = state.goal.units[0].concern
    state.world.set_concern(server.name, {name: concern[name] for name in move.settings})


def _set_users(state: RunState, server: SimulatedServer, move: Move) -> None:
    wanted = state.wanted_users()
    state.world.set_users(server.name, {name: wanted[name] for name in move.settings})


def _initiate(state: RunState, server: SimulatedServer, move: Move) -> None:
    state.world.initiate(server.name, move.members)


def _change_members(state: RunState, server: SimulatedServer, move: Move) -> None:
    name = move.members[0].process
    if state.world.disturbed - {name}:
        state.world.violates(FleetPromise.ONE_AT_A_TIME, f"{move.kind.value} of {name} during a restart")
    state.world.reconfigure(server.name, members_after(state.world.config, move))


_MOVES: Mapping[MoveKind, Callable[[RunState, SimulatedServer, Move], None]] = {
    MoveKind.DOWNLOAD: _download,
    MoveKind.WRITE_KEY_FILE: _write_key_file,
    MoveKind.WRITE_FILE: _write_file,
    MoveKind.START: _start,
    MoveKind.STOP: _stop,
    MoveKind.RESTART: _restart,
    MoveKind.CHANGE_VERSION: _change_version,
    MoveKind.RESYNC: _resync,
    MoveKind.REMOVE_OLD_DATA: _remove_old_data,
    MoveKind.COMPACT: _compact,
    MoveKind.SET_PARAMETER: _set_parameter,
    MoveKind.STEP_DOWN: _step_down,
    MoveKind.SET_FEATURE_VERSION: _set_feature_version,
    MoveKind.SET_DEFAULT_CONCERN: _set_concern,
    MoveKind.SET_USERS: _set_users,
    MoveKind.INITIATE: _initiate,
    MoveKind.ADD_MEMBER: _change_members,
    MoveKind.CHANGE_MEMBER: _change_members,
    MoveKind.REMOVE_MEMBER: _change_members,
}
