"""The faults of a run: servers, agents and the platform fail."""

from automation.plan.values import MemberState
from tests.simulation.automation.agent_moves import use_next_file
from tests.simulation.automation.fleet import SimulatedServer
from tests.simulation.automation.run_state import RunState

_OF_SERVERS = ("crash", "crash", "dead", "lag", "rollback", "wipe", "download")
_FAULTS = (*_OF_SERVERS, "kill", "kill", "hide", "turn", "pause", "alert", "oplog")


def may_fail(state: RunState) -> None:
    """Let a fault happen, as often as the plan of the run says."""
    if state.ages.random() < state.plan.faults / 2:
        name = state.ages.choice(sorted(state.world.servers))
        state.ageless[name] = state.world.now + state.ages.randint(1, 10)
    if state.random.random() >= state.plan.faults:
        return
    name = state.random.choice(sorted(state.world.servers))
    server, now = state.world.servers[name], state.world.now
    fault = state.random.choice(_FAULTS)
    if fault in _OF_SERVERS:
        _fault_of_server(state, fault, server)
        return
    until = now + state.random.randint(1, 6)
    match fault:
        case "kill":
            _kill(state, name)
        case "hide":
            state.hidden[name] = until
        case "turn":
            state.turn, state.turn_until = name, until
        case "pause":
            state.paused_until = until
        case "alert":
            state.alert_until = until
        case "oplog":
            state.world.oplog, state.world.oplog_lost = 600, True


def end_faults(state: RunState) -> None:
    """End all faults that last. Somebody agrees to empty starts."""
    state.hidden, state.turn_until, state.paused_until, state.alert_until = {}, 0, 0, 0
    state.ageless = {}
    for server in state.world.servers.values():
        server.dead, server.is_wiped = 0, False
        if server.name.startswith("x") and not server.is_running:
            server.is_running, server.state, server.progress = True, MemberState.STARTING, 1


def _kill(state: RunState, name: str) -> None:
    """Kill the agent of a process. It may have put the file of a restart in its place before."""
    flight = state.flights.pop(name, None)
    if flight is not None and state.ages.random() < 0.5:
        use_next_file(state.world.servers[name], flight)


def _fault_of_server(state: RunState, fault: str, server: SimulatedServer) -> None:
    match fault:
        case "crash" | "dead":
            state.world.stop(server.name, by_plan=False)
            state.flights.pop(server.name, None)
            server.dead = state.random.randint(1, 8) if fault == "dead" else 0
        case "lag":
            for other in state.world.servers.values():
                other.lag = state.random.choice((0, 15, 60, 90)) if other.is_copy else 0
        case "rollback" if server.state is MemberState.SECONDARY:
            server.state, server.progress = MemberState.ROLLBACK, state.random.randint(1, 5)
        case "wipe" if not server.is_running and _can_lose(state, server.name):
            state.world.lose(server)
            server.is_wiped = True
            goal = state.process(server.name)
            times = [server.resync, goal.resync if goal else None]
            # As the agent notes it: a lastResync of the time before agrees to nothing.
            server.resync = max((time for time in times if time is not None), default=None)
        case "download":
            server.builds = {server.version} if server.is_running else server.builds


def _can_lose(state: RunState, name: str) -> bool:
    """Whether the replica set works without the data of a member."""
    world = state.world
    is_member = world.member(name) is not None and world.primary() is not None
    return is_member and world.healthy_voters(without=name) >= world.majority()
