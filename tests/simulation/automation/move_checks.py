"""What a move must not break, as far as only the run knows it."""

from automation.plan.set_moves import members_after
from automation.plan.values import INTERRUPTING, WITH_TURN, Move, MoveKind, ObservedFleet
from tests.simulation.automation.documents import SET_NAME
from tests.simulation.automation.fleet import FleetPromise, SimulatedServer
from tests.simulation.automation.run_state import ROLLING, RunState


def check_move(state: RunState, move: Move, observed: ObservedFleet, unseen: set[str]) -> None:
    """Check a move against pauses, turns, failures, manual mode and processes that no agent observes."""
    world, now = state.world, state.world.now
    returns = move.kind is MoveKind.START and bool(world.servers[move.process].version)
    if state.paused_until > now and not returns:
        world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process} during a pause")
    failed = [
        seen.failure
        for seen in observed.processes.values()
        if seen.failure is not None and seen.failure.goal_number == state.goal.number
    ]
    if failed and (not returns or any(failure.process == move.process for failure in failed)):
        world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process} after {failed[0]}")
    if move.process in state.manual() and move.kind in INTERRUPTING | {MoveKind.START}:
        world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process} in manual mode")
    if move.process in state.unseen():
        world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process}, which is hidden")
    is_guarded = bool(move.replica_set) and move.kind in WITH_TURN
    if is_guarded and state.turn_until > now and state.turn != move.process:
        world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} during the turn of {state.turn}")
    stated = {member.process for member in state.goal.units[0].members or ()}
    hidden = stated & unseen
    if move.kind is MoveKind.INITIATE and hidden:
        world.violates(FleetPromise.HANDS_OFF, f"{move.process} initiates, and {hidden} are hidden")
    is_member = world.member(move.process) is not None
    changes = move.kind in {MoveKind.CHANGE_MEMBER, MoveKind.REMOVE_MEMBER}
    loses = changes and any(world.losing(members_after(world.config, move)))
    disturbs = loses or (move.kind in ROLLING and is_member)
    if disturbs and observed.sets[SET_NAME].alerts and not world.shuts_down:
        world.violates(FleetPromise.CALM, f"{move.kind.value} of {move.process} during an alert")


def check_resync(state: RunState, name: str) -> None:
    """Check that a member may lose its data."""
    if state.is_ageless(name):
        state.world.violates(FleetPromise.HANDS_OFF, f"{name} loses its data, whose age is not known")
    process, done = state.process(name), state.world.servers[name].resync
    if process is not None and process.resync is not None and done is not None and done >= process.resync:
        state.world.violates(FleetPromise.DATA, f"{name} loses its data again")
    state.world.check_resync(name)


def check_primary_last(state: RunState, server: SimulatedServer) -> None:
    """Check that the primary steps down after all others have changed."""
    unit = state.goal.units[0]
    stated = next((m for m in unit.members or () if m.process == server.name), None)
    own = state.process(server.name)
    if unit.members is not None and (stated is None or not stated.is_electable):
        return
    if own is None or own.is_disabled:
        return
    for process in unit.processes:
        other = state.world.servers[process.name]
        is_member = state.world.member(process.name) is not None and process.name != server.name
        is_behind = other.is_running and other.version == server.version != process.version
        if is_member and is_behind and not process.is_manual and not process.is_disabled:
            state.world.violates(
                FleetPromise.PRIMARY_LAST, f"{server.name} steps down before {process.name} changes"
            )
