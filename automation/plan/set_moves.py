"""The moves of a whole replica set: initiate it, change its members or its feature version. Pure.

One member changes at a time. A new member joins without a vote, and gets its vote when it has all data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from automation.plan.arbiters import arbiters_hold, refuses_arbiters
from automation.plan.concerns import CONCERNS_SINCE, IMPLIED_SINCE, WRITE, implies_majority, needed_members
from automation.plan.guards import (
    UnitState,
    disturbance_holds,
    electable,
    loss_holds,
    majority_of,
    others_present,
    primary,
    turn,
)
from automation.plan.key_files import joining_hold
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    GoalProcess,
    MemberConfig,
    MemberState,
    Move,
    MoveKind,
    PlanHold,
    PlanStep,
    Settings,
)
from automation.plan.version_choice import feature_version_of, feature_version_of_set, outsider_hold
from automation.plan.versions import SERIES, series, supports

MOST_VOTERS = 7
_BEFORE_JOINING = frozenset({MemberState.UNINITIATED, MemberState.REMOVED})


def initiate(state: UnitState) -> PlanStep:
    """Initiate the replica set once all its processes run.

    If a process has data, it initiates the replica set alone, and the others join it one after the other. If
    the state of a single process is not known, it could be a member of an existing replica set, so nothing is
    initiated.
    """
    stated = state.unit.members or ()
    with_data = [member for member in stated if state.process(member.process).has_data]
    holds = [hold for member in stated for hold in _unknown(state, member.process)]
    holds += _data_holds(state, with_data)
    first = with_data or [member for member in stated if not _is_disabled(state, member.process)]
    for member in first:
        now = state.state(member.process)
        if now is not MemberState.UNINITIATED:
            said = now.value if now else "DOWN"
            holds.append(state.hold(PlanReason.MEMBER_AWAY, "", other=member.process, state=said))
    if holds:
        return PlanStep((), tuple(holds))
    if with_data:
        first = [replace(first[0], priority=max(first[0].priority, 1.0), votes=1, is_hidden=False, delay=0)]
    return _initiation(state, first)


def _initiation(state: UnitState, members: list[MemberConfig]) -> PlanStep:
    """The feature compatibility version becomes that of the first member: all others have to support it."""
    candidates = [member.process for member in members if member.is_electable]
    if not candidates:
        return PlanStep((), (state.hold(PlanReason.NO_ELECTABLE, ""),))
    held: list[PlanHold] = []
    for name in candidates:
        target = series(state.process(name).feature_version)
        unfit = [
            *([state.hold(PlanReason.FEATURE_VERSION_UNKNOWN, name)] if target is None else []),
            *(() if target is None else _unsupported(state, target, members)),
            *turn(state, name),
        ]
        if not unfit:
            move = state.move(MoveKind.INITIATE, name, members=tuple(members))
            return PlanStep((move,))
        held = held or unfit
    return PlanStep((), tuple(held))


def _data_holds(state: UnitState, with_data: list[MemberConfig]) -> Iterator[PlanHold]:
    """Several processes with data decide nothing: the data of all but one would be lost."""
    if len(with_data) > 1:
        names = ", ".join(member.process for member in with_data)
        yield state.hold(PlanReason.SEVERAL_WITH_DATA, "", others=names)


def _unknown(state: UnitState, name: str) -> Iterator[PlanHold]:
    seen = state.process(name)
    if seen.is_running is None:
        yield state.hold(PlanReason.RUNNING_UNKNOWN, name)
    elif seen.is_running and seen.state is None:
        yield state.hold(PlanReason.STATE_UNKNOWN, name)
    if seen.has_data is None:
        yield state.hold(PlanReason.DATA_UNKNOWN, name)


def _is_disabled(state: UnitState, name: str) -> bool:
    goal = state.goals.get(name)
    return goal is not None and goal.is_disabled


def membership(state: UnitState, settled: frozenset[str]) -> PlanStep:
    """The next change of the members, or why each waits. `settled`: processes that need nothing else."""
    if state.unit.members is None:
        return PlanStep((), tuple(_not_stated(state)))
    held: list[PlanHold] = []
    for move in _member_changes(state, settled):
        if isinstance(move, PlanHold):
            held.append(move)
            continue
        reasons = _change_holds(state, move)
        if not reasons:
            return PlanStep((move,))
        held += [hold.of_move(replace(move, process=state.maker)) for hold in reasons]
    return PlanStep((), tuple(held))


def _not_stated(state: UnitState) -> Iterator[PlanHold]:
    """Processes that have the name of the replica set and no way to become members."""
    for process in state.unit.processes:
        if not process.is_manual and state.state(process.name) is MemberState.UNINITIATED:
            yield state.hold(PlanReason.MEMBERS_NOT_STATED, process.name, set=state.unit.replica_set)


def _member_changes(state: UnitState, ready: frozenset[str]) -> Iterator[Move | PlanHold]:
    """All changes, in the order of their trial: unhealthy members leave first, healthy members last."""
    stated = {member.process: member for member in state.unit.members or ()}
    leaving = [member for member in state.config if member.process not in stated]
    yield from (_removal(state, member) for member in leaving if not state.is_healthy(member.process))
    for wanted in stated.values():
        now = state.member(wanted.process)
        move = _addition(state, wanted, ready) if now is None else _alteration(state, now, wanted)
        if move is not None:
            yield move
    yield from (_removal(state, member) for member in leaving if state.is_healthy(member.process))


def _removal(state: UnitState, member: MemberConfig) -> Move | PlanHold:
    if member.process not in state.goals:
        names = (stated.process for stated in state.unit.members or ())
        same = next((name for name in names if _may_be_member(state, name)), None)
        if same is not None:
            return state.hold(PlanReason.MEMBER_UNCLEAR, "", other=member.process, same=same)
    move = _by_primary(state, MoveKind.REMOVE_MEMBER, member)
    return _step_down_before(state, move) if state.state(member.process) is MemberState.PRIMARY else move


def _step_down_before(state: UnitState, move: Move) -> Move | PlanHold:
    """Let the primary step down, if a server accepts its change afterwards."""
    down = state.move(MoveKind.STEP_DOWN, move.members[0].process)
    return next(_refusals(state, move), down)


def _may_be_member(state: UnitState, name: str) -> bool:
    """Whether a process may be a member under another name of its machine than the document has."""
    if state.member(name) is not None:
        return False
    is_outside = state.state(name) in {*_BEFORE_JOINING, MemberState.STANDALONE}
    return not state.is_known(name) or (state.process(name).is_running is True and not is_outside)


def _addition(state: UnitState, wanted: MemberConfig, ready: frozenset[str]) -> Move | PlanHold | None:
    """Add a member that runs and needs nothing else. It has no vote before it has all data."""
    name = wanted.process
    now = state.state(name)
    goal = state.goals.get(name)
    if goal is None or goal.is_disabled:
        return None
    if goal.is_manual:
        hold = _manual_hold(state, goal, now)
        if hold is not None:
            return hold
    elif now not in _BEFORE_JOINING or name not in ready:
        return None
    return _joining(state, wanted)


def _joining(state: UnitState, wanted: MemberConfig) -> Move | PlanHold:
    name = wanted.process
    now, seen = state.state(name), state.process(name)
    if now is MemberState.UNINITIATED and seen.has_data is None:
        return state.hold(PlanReason.DATA_UNKNOWN, name)
    if now is MemberState.UNINITIATED and seen.has_data:
        return state.hold(PlanReason.DATA_WOULD_GO, name)
    separated = joining_hold(state, name)
    if separated is not None:
        return separated
    numbers = {member.number for member in state.config}
    number = wanted.number if wanted.number not in numbers else max(numbers) + 1
    member = replace(wanted, number=number)
    if not wanted.is_arbiter:
        member = replace(member, votes=0, priority=0.0)
    elif _voters(state.config) >= MOST_VOTERS:
        return state.hold(PlanReason.MOST_VOTERS, name, most=MOST_VOTERS)
    return _by_primary(state, MoveKind.ADD_MEMBER, member)


def _manual_hold(state: UnitState, goal: GoalProcess, now: MemberState | None) -> PlanHold | None:
    """Why a process in manual mode cannot join: only its operator starts it and changes its version."""
    if now in _BEFORE_JOINING:
        return outsider_hold(state, goal)
    if not state.is_known(goal.name):
        return state.hold(PlanReason.MEMBER_UNKNOWN, "", other=goal.name)
    return state.hold(PlanReason.MEMBER_AWAY, "", other=goal.name, state=now.value if now else "DOWN")


def _alteration(state: UnitState, now: MemberConfig, wanted: MemberConfig) -> Move | PlanHold | None:
    """Change a member. It keeps its number. It gets a vote only when it is healthy."""
    if member_values(now) == member_values(wanted):
        return None
    member = replace(wanted, number=now.number)
    if now.is_arbiter is not wanted.is_arbiter:
        return state.hold(PlanReason.FIXED_MEMBER, "", other=wanted.process)
    state_now = state.state(wanted.process)
    if state_now is MemberState.PRIMARY and not wanted.is_electable:
        return _step_down_before(state, _by_primary(state, MoveKind.CHANGE_MEMBER, member))
    if wanted.votes > now.votes:
        if not state.is_healthy(wanted.process):
            is_known = state.is_known(wanted.process)
            reason = PlanReason.MEMBER_AWAY if is_known else PlanReason.MEMBER_UNKNOWN
            said = state_now.value if state_now else "DOWN"
            return state.hold(reason, "", other=wanted.process, state=said)
        if _voters(state.config) >= MOST_VOTERS:
            return state.hold(PlanReason.MOST_VOTERS, wanted.process, most=MOST_VOTERS)
    return _by_primary(state, MoveKind.CHANGE_MEMBER, member)


def member_values(member: MemberConfig) -> tuple[float, int, bool, int, bool]:
    """The fields of a member that can change, and whether the member is an arbiter."""
    return member.priority, member.votes, member.is_hidden, member.delay, member.is_arbiter


def _voters(members: Iterable[MemberConfig]) -> int:
    return sum(member.votes > 0 for member in members)


def _by_primary(state: UnitState, kind: MoveKind, member: MemberConfig) -> Move:
    return state.move(kind, state.only_primary, members=(member,))


def _change_holds(state: UnitState, move: Move) -> list[PlanHold]:
    """Why the members cannot change now."""
    if move.kind is MoveKind.STEP_DOWN:
        return step_down_holds(state, move.process)
    return [*_refusals(state, move), *member_holds(state, move, takes=_takes(state, move))]


def member_holds(state: UnitState, move: Move, *, takes: bool) -> list[PlanHold]:
    """Why a guard lets a change of the members wait. `takes`: the replica set loses something by it."""
    member = move.members[0]
    # A new arbiter votes at once, but the members before it need a majority without it.
    without = member.process if move.kind is MoveKind.ADD_MEMBER else ""
    leaves = move.kind is MoveKind.REMOVE_MEMBER
    return [
        *turn(state, move.process),
        *primary(state, member.process),
        *others_present(state, member.process),
        *majority_of(state, member.process, members_after(state.config, move), without=without),
        *(loss_holds(state, member.process, leaves=leaves) if takes else ()),
    ]


def _takes(state: UnitState, move: Move) -> bool:
    """Whether the replica set loses a member, or a part of what it does, or can get another primary.

    A member does less with fewer votes, a lower priority or a longer delay, and hidden. It becomes the
    primary if its priority rises above that of the primary.
    """
    after = move.members[0]
    now, first = state.member(after.process), state.member(state.only_primary)
    if now is None:
        return False
    rises = first is not None and first != now and now.priority <= first.priority < after.priority
    does_less = (
        after.votes < now.votes
        or after.priority < now.priority
        or after.delay > now.delay
        or after.is_hidden > now.is_hidden
    )
    return move.kind is MoveKind.REMOVE_MEMBER or rises or does_less


def _refusals(state: UnitState, move: Move) -> Iterator[PlanHold]:
    """Why servers refuse a change of the members, or do not acknowledge writes after it."""
    member, after = move.members[0], members_after(state.config, move)
    known = state.of_set.concern
    if not list(_acknowledged(state, known or {}, state.config)):
        yield from _acknowledged(state, known or {}, after)
    if member.is_arbiter and move.kind is MoveKind.ADD_MEMBER:
        yield from _several_arbiters(state, after)
    if implies_majority(state.config) == implies_majority(after) or WRITE in (known or {}):
        return
    place = series(feature_version_of_set(state))
    if place is not None and place < IMPLIED_SINCE:
        return
    if known is None:
        yield state.hold(PlanReason.CONCERN_UNKNOWN, member.process)
    else:
        # The default concern of the document comes first, and says why it waits.
        yield from concern_move(state).holds or (
            state.hold(PlanReason.CONCERN_NEEDED, member.process, other=member.process),
        )


def _several_arbiters(state: UnitState, members: tuple[MemberConfig, ...]) -> Iterator[PlanHold]:
    """A member that refuses several arbiters, or of which this is not known."""
    for member in members:
        seen = state.process(member.process)
        if refuses_arbiters(seen.version, seen.settings or {}) is not False:
            hold = arbiters_hold(state, member.process, seen.version or "", members)
            if hold is not None:
                yield hold
                return


def members_after(config: tuple[MemberConfig, ...], move: Move) -> tuple[MemberConfig, ...]:
    """The members after a change of one member."""
    member = move.members[0]
    if move.kind is MoveKind.ADD_MEMBER:
        return (*config, member)
    others = (other for other in config if other.process != member.process)
    if move.kind is MoveKind.REMOVE_MEMBER:
        return tuple(others)
    return tuple(member if other.process == member.process else other for other in config)


def step_down_holds(state: UnitState, name: str) -> list[PlanHold]:
    """Why the primary cannot step down now."""
    return [*disturbance_holds(state, name), *electable(state, name)]


def feature_move(state: UnitState) -> PlanStep:
    """The next change of the feature compatibility version: for an upgrade, or to the goal.

    A process of a replica set that is not initiated has none that could change.
    """
    running = [
        process
        for process in state.unit.processes
        if _counts(state, process) and state.process(process.name).is_running
    ]
    if not running or (state.unit.replica_set and not state.only_primary):
        return PlanStep((), tuple(primary(state, "")) if running else ())
    name = state.only_primary or running[0].name
    # A change that was interrupted is repeated: MongoDB finishes it before it changes in the other direction.
    begun = series(state.process(name).feature_target)
    unknown = _feature_holds(state, running, begun)
    if unknown:
        return PlanStep((), unknown)
    target = _feature_target(state, running) if begun is None else begun
    if target is None:
        return PlanStep()
    holds = (*turn(state, name), *others_present(state, name), *_unsupported(state, target, state.config))
    move = state.move(MoveKind.SET_FEATURE_VERSION, name, version=SERIES[target])
    return PlanStep((), holds) if holds else PlanStep((move,))


def concern_move(state: UnitState) -> PlanStep:
    """Set the default read and write concern of the replica set, as the document states it.

    Without a statement it stays as it is.
    """
    if state.unit.concern_hold is not None:
        return PlanStep((), (state.unit.concern_hold,))
    wanted, known = state.unit.concern, state.of_set.concern
    names = tuple(name for name in sorted(wanted) if known is None or known.get(name) != wanted[name])
    if not names:
        return PlanStep()
    name = state.only_primary
    if not name:
        return PlanStep((), tuple(primary(state, "")) or (state.hold(PlanReason.NO_PRIMARY, ""),))
    if known is None and name in state.goals and state.goals[name].is_elsewhere:
        return PlanStep()  # Its agent knows.
    holds = (
        *_concern_unknown(state, name),
        *_acknowledged(state, wanted, state.config),
        *turn(state, name),
        *majority_of(state, name, state.config),
    )
    move = state.move(MoveKind.SET_DEFAULT_CONCERN, name, settings=names)
    return PlanStep((), holds) if holds else PlanStep((move,))


def users_move(state: UnitState) -> PlanStep:
    """Create, change or delete the users that are not as the document wants.

    A server gets passwords only after it has its key file, by which it proves to the agent that it is the
    right one.
    """
    names = state.of_set.users
    if not state.unit.users or names == ():
        return PlanStep()
    if state.unit.replica_set and not state.only_primary:
        return PlanStep((), tuple(primary(state, "")) or (state.hold(PlanReason.NO_PRIMARY, ""),))
    name = state.only_primary or state.unit.processes[0].name
    goal = state.goals.get(name)
    if goal is None or goal.is_manual:
        hold = state.hold(PlanReason.MAKER_NOT_MANAGED, "", other=name, move=MoveKind.SET_USERS.value)
        return PlanStep((), (hold,))
    use = state.key_use(name)
    if state.state(name) is None or use is None or not use.has_key or goal.is_elsewhere:
        return PlanStep()  # It starts or restarts first, or its agent knows.
    if names is None:
        return PlanStep((), (state.hold(PlanReason.USERS_UNKNOWN, ""),))
    holds = (*turn(state, name), *(majority_of(state, name, state.config) if state.config else ()))
    move = state.move(MoveKind.SET_USERS, name, settings=names)
    return PlanStep((), holds) if holds else PlanStep((move,))


def _concern_unknown(state: UnitState, name: str) -> Iterator[PlanHold]:
    """The default concern cannot be compared, or the replica set is too old to have one."""
    version = state.process(name).feature_version
    place = series(version)
    if place is None:
        yield state.hold(PlanReason.FEATURE_VERSION_UNKNOWN, "")
    elif place < CONCERNS_SINCE:
        yield state.hold(PlanReason.CONCERN_VERSION, "", needed=SERIES[CONCERNS_SINCE], version=version)
    elif state.of_set.concern is None:
        yield state.hold(PlanReason.CONCERN_UNKNOWN, "")


def _acknowledged(state: UnitState, concern: Settings, members: Iterable[MemberConfig]) -> Iterator[PlanHold]:
    """Enough of the members have data to acknowledge writes with the default write concern."""
    needed, count = needed_members(concern), sum(not member.is_arbiter for member in members)
    if needed > count:
        yield state.hold(PlanReason.CONCERN_MEMBERS, "", needed=needed, count=count)


def _counts(state: UnitState, process: GoalProcess) -> bool:
    """Whether the process has a part in the feature compatibility version."""
    if process.is_manual or process.is_disabled:
        return False
    return not state.unit.replica_set or state.member(process.name) is not None


def _feature_holds(state: UnitState, running: list[GoalProcess], begun: int | None) -> tuple[PlanHold, ...]:
    """Why the feature compatibility version cannot be compared with the goal, or cannot change.

    `begun`: the place of the version to which it is already changing.
    """
    goal = running[0].feature_version
    now = feature_version_of(state, running[0])
    if now is None and begun is None:
        return (state.hold(PlanReason.FEATURE_VERSION_UNKNOWN, ""),)
    if now == goal and begun is None:
        return ()
    return tuple(
        state.hold(PlanReason.VERSION_UNREADABLE, process.name, version=state.process(process.name).version)
        for process in running
        if series(state.process(process.name).version) is None
    )


def _feature_target(state: UnitState, running: list[GoalProcess]) -> int | None:
    """The place of the next feature compatibility version; None if it does not change.

    A version change needs it before: up, the version of the old series; down, that of the new one. After all
    version changes it is the goal, in single steps.
    """
    now = series(feature_version_of(state, running[0]))
    if now is None:
        return None
    is_at_goal = True
    for process in running:
        place = series(state.process(process.name).version)
        wanted = series(process.version) if process.version else place
        if place is None or wanted is None or wanted == place:
            continue
        is_at_goal = False
        if not supports(place + 1 if wanted > place else place - 1, now):
            return place if wanted > place else place - 1
    goal = series(running[0].feature_version)
    if not is_at_goal or goal is None or goal == now:
        return None
    return now + 1 if goal > now else now - 1


def _unsupported(state: UnitState, target: int, members: Iterable[MemberConfig]) -> Iterator[PlanHold]:
    """Members whose version does not support the feature compatibility version, or is not known."""
    for member in members:
        seen = state.process(member.process)
        place = series(seen.version)
        if place is None:
            yield state.hold(PlanReason.VERSION_UNKNOWN, "", other=member.process)
        elif not supports(place, target):
            names = {"other": member.process, "version": seen.version, "target": SERIES[target]}
            yield state.hold(PlanReason.MEMBER_VERSION, "", **names)
