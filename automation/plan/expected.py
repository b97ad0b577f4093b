"""The expected effect of each move on the observed state. A plan to the end is drawn with it. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from automation.plan.auth import KeyUse, key_use
from automation.plan.guards import WITH_ALL_DATA
from automation.plan.set_moves import members_after
from automation.plan.values import (
    NO_SET_OBSERVED,
    NOTHING_OBSERVED,
    GoalProcess,
    GoalUnit,
    KeyFile,
    MemberConfig,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
    OwnNeed,
)
from automation.plan.versions import SERIES, series

_STARTS = frozenset({MoveKind.START, MoveKind.RESTART, MoveKind.CHANGE_VERSION, MoveKind.RESYNC})
_OF_MEMBERS = frozenset({MoveKind.ADD_MEMBER, MoveKind.CHANGE_MEMBER, MoveKind.REMOVE_MEMBER})
_OF_AUTH = frozenset({MoveKind.WRITE_KEY_FILE, MoveKind.SET_USERS})


def expected(unit: GoalUnit, observed: ObservedFleet, move: Move) -> ObservedFleet:
    """Return the state that is expected after the move of a process of the unit."""
    model = _Model(unit, observed)
    goal = next((process for process in unit.processes if process.name == move.process), None)
    if move.kind in _STARTS and goal is not None:
        model.start(goal, move)
    elif move.kind in _OF_MEMBERS or move.kind is MoveKind.INITIATE:
        model.change_members(move)
    elif move.kind in _OF_AUTH:
        model.change_auth(move)
    else:
        model.change(move, goal)
    if goal is not None and goal.is_elsewhere:
        model.set(goal.name, need=OwnNeed())
    # A member that steps down is not elected again before its restart.
    model.elect(without=move.process if move.kind is MoveKind.STEP_DOWN else "")
    return model.observed()


class _Model:
    def __init__(self, unit: GoalUnit, observed: ObservedFleet) -> None:
        self.unit, self.before = unit, observed
        self.processes = dict(observed.processes)
        self.of_set: ObservedSet = observed.sets.get(unit.replica_set, NO_SET_OBSERVED)

    def observed(self) -> ObservedFleet:
        sets = {**self.before.sets, self.unit.replica_set: self.of_set}
        return replace(self.before, processes=self.processes, sets=sets)

    def seen(self, name: str) -> ObservedProcess:
        return self.processes.get(name, NOTHING_OBSERVED)

    def set(self, name: str, **values: object) -> None:
        self.processes[name] = replace(self.seen(name), **values)  # type: ignore[arg-type]

    def start(self, goal: GoalProcess, move: Move) -> None:
        seen = self.seen(goal.name)
        version = move.version or seen.version
        feature_version = seen.feature_version
        state = self._state_after_start(goal)
        is_as_it_ran = move.kind is MoveKind.START and seen.file is not None
        settings = seen.file if is_as_it_ran else goal.settings
        if not seen.has_data and state is not MemberState.ARBITER:
            place = series(version)
            # A server that has run leaves files of its feature compatibility version, even without data.
            if feature_version is None and place is not None:
                feature_version = SERIES[place]
            if self._is_member(goal.name):
                feature_version = self._set_feature_version() or feature_version
        self.set(
            goal.name,
            is_running=True,
            state=state,
            version=version,
            feature_version=feature_version,
            settings=settings,
            file=settings,
            key_use=self._key_use() if goal.is_elsewhere else None,
            restart=goal.restart if self._is_due(goal.restart) else seen.restart,
            has_data=seen.has_data or state is MemberState.STANDALONE,
        )
        if move.kind is MoveKind.RESYNC or not seen.has_data:
            self._begin_data(goal)
        if move.kind is MoveKind.RESYNC:
            self.set(goal.name, has_old_data=True)
        if not self.unit.replica_set and self.of_set.users is None:
            self.of_set = replace(self.of_set, users=self.unit.users)

    def _key_use(self) -> KeyUse | None:
        """How a process of another machine takes part after its start: as the processes of this machine."""
        own = [goal for goal in self.unit.processes if not goal.is_elsewhere]
        return key_use(own[0].settings) if own else None

    def _begin_data(self, goal: GoalProcess) -> None:
        """The data of the process begins now."""
        resync = goal.resync if self._is_due(goal.resync) else self.seen(goal.name).resync
        self.set(goal.name, resync=resync, data_since=self.before.now)

    def _is_due(self, time: datetime | None) -> bool:
        return time is not None and time <= self.before.now

    def _state_after_start(self, goal: GoalProcess) -> MemberState:
        if not goal.replica_set:
            return MemberState.STANDALONE
        member = self._member(goal.name)
        if member is None:
            was = self.seen(goal.name).state
            return MemberState.REMOVED if was is MemberState.REMOVED else MemberState.UNINITIATED
        return MemberState.ARBITER if member.is_arbiter else MemberState.SECONDARY

    def change_auth(self, move: Move) -> None:
        if move.kind is MoveKind.WRITE_KEY_FILE:
            self.set(move.process, key_file=KeyFile.SAME)
        else:
            self.of_set = replace(self.of_set, users=())

    def change(self, move: Move, goal: GoalProcess | None) -> None:
        seen = self.seen(move.process)
        if move.kind is MoveKind.DOWNLOAD:
            self.set(move.process, builds=(seen.builds or frozenset()) | {move.version})
        elif move.kind is MoveKind.WRITE_FILE:
            self.set(move.process, file=goal.settings if goal else {})
        elif move.kind is MoveKind.SET_PARAMETER:
            self.set(move.process, settings=goal.settings if goal else {})
        elif move.kind in {MoveKind.REMOVE_OLD_DATA, MoveKind.COMPACT}:
            self._change_data(move, goal)
        elif move.kind is MoveKind.STOP:
            self.set(move.process, is_running=False, state=None)
        elif move.kind is MoveKind.STEP_DOWN:
            self.set(move.process, state=MemberState.SECONDARY)
        elif move.kind is MoveKind.SET_FEATURE_VERSION:
            members = [member.process for member in self.of_set.config or ()] or [move.process]
            for name in members:
                self.set(name, feature_version=move.version, feature_target=None)
        elif move.kind is MoveKind.SET_DEFAULT_CONCERN:
            changed = {name: self.unit.concern[name] for name in move.settings}
            self.of_set = replace(self.of_set, concern={**(self.of_set.concern or {}), **changed})

    def _change_data(self, move: Move, goal: GoalProcess | None) -> None:
        if move.kind is MoveKind.REMOVE_OLD_DATA:
            self.set(move.process, has_old_data=False)
        elif goal is not None:
            self.set(move.process, compacted=goal.compact)

    def change_members(self, move: Move) -> None:
        if move.kind is MoveKind.INITIATE:
            joining: tuple[MemberConfig, ...] = move.members
            config = joining
            self.of_set = replace(self.of_set, concern={}, users=self.unit.users)
        else:
            config = members_after(self.of_set.config or (), move)
            joining = move.members if move.kind is MoveKind.ADD_MEMBER else ()
        if move.kind is MoveKind.REMOVE_MEMBER:
            left = move.members[0]
            if self.seen(left.process).is_running:
                self.set(left.process, state=MemberState.REMOVED)
            if left.is_arbiter:
                self.set(left.process, feature_version=self._set_feature_version())
        feature_version = self._set_feature_version() or self.seen(move.process).feature_version
        self.of_set = replace(self.of_set, config=config)
        for member in joining:
            state = MemberState.ARBITER if member.is_arbiter else MemberState.SECONDARY
            own = {} if member.is_arbiter else {"feature_version": feature_version, "has_data": True}
            self.set(member.process, state=state, **own)

    def elect(self, without: str = "") -> None:
        """The preferred healthy member becomes the primary, if there is none or if it is preferred to it."""
        config = self.of_set.config or ()
        able = [
            member
            for member in config
            if member.is_electable
            and member.process != without
            and self.seen(member.process).is_running
            and self.seen(member.process).state in WITH_ALL_DATA
        ]
        if not able or not self._has_majority(config):
            return
        now = next((member for member in able if self._is_primary(member)), None)
        best = max(able, key=lambda member: member.priority)
        if now is None or best.priority > now.priority:
            if now is not None:
                self.set(now.process, state=MemberState.SECONDARY)
            self.set(best.process, state=MemberState.PRIMARY)

    def _has_majority(self, config: tuple[MemberConfig, ...]) -> bool:
        voters = [self.seen(member.process) for member in config if member.votes > 0]
        healthy = [seen for seen in voters if seen.is_running and seen.state is not None]
        return len(healthy) > len(voters) // 2

    def _is_primary(self, member: MemberConfig) -> bool:
        return self.seen(member.process).state is MemberState.PRIMARY

    def _member(self, name: str) -> MemberConfig | None:
        return next((member for member in self.of_set.config or () if member.process == name), None)

    def _is_member(self, name: str) -> bool:
        return self._member(name) is not None

    def _set_feature_version(self) -> str | None:
        for member in self.of_set.config or ():
            if self._is_primary(member):
                return self.seen(member.process).feature_version
        return None
