"""The values of a plan: the goal, the observed state, moves, and reasons. All are frozen. Pure.

A value that is None is not known. Nothing is assumed of it: a move that depends on it waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum

from automation.plan.auth import KeyUse
from automation.plan.reasons import PlanReason, ReasonKind

Settings = Mapping[str, str]
"""Settings of a server: their dotted names in the configuration file, and their values as JSON."""


class MemberState(str, Enum):
    """The replication state that a running process reports."""

    STANDALONE = "STANDALONE"
    ROUTER = "ROUTER"
    UNINITIATED = "UNINITIATED"
    """It has the name of a replica set, and no configuration of it."""
    STARTING = "STARTING"
    SYNCING = "SYNCING"
    """It copies all data from another member (initial sync)."""
    RECOVERING = "RECOVERING"
    ROLLBACK = "ROLLBACK"
    PRIMARY = "PRIMARY"
    SECONDARY = "SECONDARY"
    ARBITER = "ARBITER"
    REMOVED = "REMOVED"


class KeyFile(Enum):
    """The file at the place of the key file."""

    MISSING = "MISSING"
    """There is none that a server would read."""
    SAME = "SAME"
    """It has the key of the document."""
    DIFFERENT = "DIFFERENT"


class MoveKind(str, Enum):
    """The action of an agent in a move; the values are the wire values."""

    DOWNLOAD = "DOWNLOAD"
    WRITE_KEY_FILE = "WRITE_KEY_FILE"
    WRITE_FILE = "WRITE_FILE"
    START = "START"
    STOP = "STOP"
    RESTART = "RESTART"
    CHANGE_VERSION = "CHANGE_VERSION"
    RESYNC = "RESYNC"
    REMOVE_OLD_DATA = "REMOVE_OLD_DATA"
    COMPACT = "COMPACT"
    SET_PARAMETER = "SET_PARAMETER"
    STEP_DOWN = "STEP_DOWN"
    SET_FEATURE_VERSION = "SET_FEATURE_VERSION"
    SET_DEFAULT_CONCERN = "SET_DEFAULT_CONCERN"
    SET_USERS = "SET_USERS"
    INITIATE = "INITIATE"
    ADD_MEMBER = "ADD_MEMBER"
    CHANGE_MEMBER = "CHANGE_MEMBER"
    REMOVE_MEMBER = "REMOVE_MEMBER"


DISTURBING = frozenset(
    {
        MoveKind.STOP,
        MoveKind.RESTART,
        MoveKind.CHANGE_VERSION,
        MoveKind.RESYNC,
        MoveKind.COMPACT,
        MoveKind.STEP_DOWN,
        MoveKind.CHANGE_MEMBER,
        MoveKind.REMOVE_MEMBER,
    }
)
"""Moves that interrupt connections, can lead to an election, or make a server slow."""
INTERRUPTING = frozenset({MoveKind.STOP, MoveKind.RESTART, MoveKind.CHANGE_VERSION, MoveKind.RESYNC})
"""Moves that end the process."""
AFTER_STEP_DOWN = INTERRUPTING | {MoveKind.COMPACT}
"""Moves before which a primary steps down."""
WITH_TURN = DISTURBING | {
    MoveKind.ADD_MEMBER,
    MoveKind.SET_FEATURE_VERSION,
    MoveKind.SET_DEFAULT_CONCERN,
    MoveKind.SET_USERS,
    MoveKind.INITIATE,
}
"""Moves of a replica set that need its turn: only one of them runs at a time."""


@dataclass(frozen=True)
class MemberConfig:
    """A member in the configuration of a replica set.

    `process`: the name of its process, or `host:port` if no process of the document has this address.
    """

    process: str
    number: int = 0
    priority: float = 1.0
    votes: int = 1
    is_hidden: bool = False
    delay: int = 0
    is_arbiter: bool = False

    @property
    def is_electable(self) -> bool:
        """Whether it can become the primary."""
        return self.votes > 0 and self.priority > 0 and not self.is_arbiter


@dataclass(frozen=True)
class Move:
    """A move of the agent of a process. `settings`: names of changed settings or users, without values."""

    kind: MoveKind
    process: str
    replica_set: str = ""
    version: str = ""
    settings: tuple[str, ...] = ()
    members: tuple[MemberConfig, ...] = ()

    @property
    def disturbs(self) -> bool:
        """Whether clients of the process or of its replica set notice the move."""
        return self.kind in DISTURBING


@dataclass(frozen=True)
class PlanHold:
    """Why a move of a process, or of a whole replica set, does not follow.

    `move`: the move that waits, unless its process needs it by itself.
    """

    reason: PlanReason
    process: str = ""
    replica_set: str = ""
    names: tuple[tuple[str, str], ...] = ()
    move: Move | None = field(default=None, compare=False)

    @property
    def sentence(self) -> str:
        """The sentence of the reason with its names."""
        return self.reason.sentence.format(**dict(self.names))

    def of_move(self, move: Move) -> PlanHold:
        """The reason with the move that waits, unless it has one, or no move waits."""
        has_none = self.move is None and self.reason.kind is ReasonKind.WAITS
        return replace(self, move=move) if has_none else self

    def concerns(self, process: str) -> bool:
        """Whether it is about the process, its whole replica set, or a move that the process makes."""
        return self.process in {process, ""} or (self.move is not None and self.move.process == process)


@dataclass(frozen=True)
class GoalProcess:
    """A process of the document. An empty text is a field that the document leaves out.

    `is_elsewhere`: whether it is on another machine than the agent that plans, so that its settings are not
    known here. `concern`: the default read and write concern that it states for its replica set. `key_file`:
    the key file that the plan writes; empty if it writes none.
    """

    name: str
    version: str = ""
    feature_version: str = ""
    settings: Settings = field(default_factory=dict)
    replica_set: str = ""
    is_router: bool = False
    is_disabled: bool = False
    is_manual: bool = False
    is_elsewhere: bool = False
    restart: datetime | None = None
    resync: datetime | None = None
    compact: datetime | None = None
    concern: Settings = field(default_factory=dict)
    key_file: str = ""

    @property
    def is_sharded(self) -> bool:
        """Whether it is a router, or a member of a sharded cluster."""
        return self.is_router or "sharding.clusterRole" in self.settings

    @property
    def times(self) -> tuple[datetime, ...]:
        """The times at which the document asks for a move of the process."""
        return tuple(time for time in (self.restart, self.resync, self.compact) if time is not None)


@dataclass(frozen=True)
class GoalUnit:
    """Processes that are planned together: a replica set, the routers of a cluster, or a single process.

    `members`: the members of the section replicaSets; None if the section does not have the set. `refused`:
    why the document has no plan for the unit. `notes`: fields that the plan leaves alone. `concern`: the
    default read and write concern of the replica set; `concern_hold`: why the stated one cannot be set.
    `users`: the names of the users that the document wants or deletes. `cluster`: of routers. `most_lag`: of
    the other members while a member is disturbed. `patience`: after which a move that waits raises an alert.
    """

    processes: tuple[GoalProcess, ...]
    replica_set: str = ""
    members: tuple[MemberConfig, ...] | None = None
    refused: tuple[PlanHold, ...] = ()
    notes: tuple[PlanHold, ...] = ()
    concern: Settings = field(default_factory=dict)
    concern_hold: PlanHold | None = None
    users: tuple[str, ...] = ()
    cluster: str = ""
    most_lag: timedelta = timedelta(seconds=10)
    patience: timedelta = timedelta(minutes=30)

    @property
    def is_sharded(self) -> bool:
        """Whether it is of a sharded cluster. Nothing of it is carried out, as its notes say."""
        return any(process.is_sharded for process in self.processes)

    def stated_member(self, process: str) -> MemberConfig | None:
        """The member of that process in the section replicaSets."""
        return next((member for member in self.members or () if member.process == process), None)

    def keeps_member(self, process: str) -> bool:
        """Whether the document lets the process be a member: it does not state the members without it."""
        return self.members is None or self.stated_member(process) is not None


@dataclass(frozen=True)
class AutomationGoal:
    """The document: its number, its versions, its units, and the parts that no unit carries out."""

    number: int
    versions: tuple[str, ...]
    units: tuple[GoalUnit, ...]
    notes: tuple[PlanHold, ...] = ()


@dataclass(frozen=True)
class FailedMove:
    """A move of a process that failed while the document with this number was the goal.

    It stops the plan of the unit, so that all its processes have it.
    """

    goal_number: int
    move: MoveKind
    why: str
    process: str


NO_MOVE, WAITS = "NONE", "WAITS"
"""The wire values of a need without a move, and of a move that waits."""


@dataclass(frozen=True)
class OwnNeed:
    """What a process of another machine needs by itself, as its agent says.

    `move`: its next move; None if it needs none, or if `waits` says that the move waits.
    """

    move: MoveKind | None = None
    version: str = ""
    waits: bool = False


MOST_AWAY = timedelta(days=1)
"""A longer restart was no usual restart: no oplog has to cover more."""


@dataclass(frozen=True)
class ObservedProcess:
    """The observed state of a process.

    `version`: the version that runs, or ran last. `feature_version`: of its data; None also while it
    changes. `feature_target`: to which it changes, until this has ended. `settings`: with which it runs,
    or ran last. `file`: the settings in its configuration file. `settable`: settings that the server can
    change at run time. `restart`: the lastRestart of the document under which it was started. `resync`: the
    lastResync under which its data began; `compacted`: the lastCompact that is carried out. `data_since`:
    when its data began, by the clock of its machine. `has_old_data`: whether data that was set aside for an
    initial sync is still there. `builds`: the versions that are unpacked on its machine. `away`: how long the
    last restart took until it had all data again, at most MOST_AWAY. `key_file`: the key file on its machine.
    `need`: of a process of another machine. `key_use`: of a process of another machine, whose settings are
    not known, and of a process that is down, when it ran last. `is_data_gone`: whether it is down, and its
    directory is empty although it had data.
    """

    is_running: bool | None = None
    state: MemberState | None = None
    version: str | None = None
    feature_version: str | None = None
    feature_target: str | None = None
    has_data: bool | None = None
    settings: Settings | None = None
    file: Settings | None = None
    settable: frozenset[str] | None = None
    started: datetime | None = None
    restart: datetime | None = None
    resync: datetime | None = None
    compacted: datetime | None = None
    data_since: datetime | None = None
    has_old_data: bool = False
    builds: frozenset[str] | None = None
    lag: timedelta | None = None
    away: timedelta | None = None
    failure: FailedMove | None = None
    key_file: KeyFile | None = None
    need: OwnNeed | None = None
    key_use: KeyUse | None = None
    is_data_gone: bool = False


@dataclass(frozen=True)
class ObservedSet:
    """The observed state of a replica set, or of a unit without one.

    `config`: its members; empty if it is not initiated. `oplog`: the time that the oplog of the primary
    covers; `oplog_lost`: whether the oplog has already dropped entries, so that the time is a limit.
    `turn`: the process that holds the turn. `alerts`: open alerts that the plan did not cause. `concern`: the
    default read and write concern that somebody has set. `users`: the names of users that are not as the
    document wants.
    """

    config: tuple[MemberConfig, ...] | None = None
    oplog: timedelta | None = None
    oplog_lost: bool = True
    turn: str = ""
    alerts: tuple[str, ...] | None = None
    concern: Settings | None = None
    users: tuple[str, ...] | None = None


NOTHING_OBSERVED = ObservedProcess()
NO_SET_OBSERVED = ObservedSet()


@dataclass(frozen=True)
class ObservedFleet:
    """The observed state of all processes and of all replica sets, by name, at `now`.

    A unit without a replica set has the empty name.
    """

    now: datetime
    processes: Mapping[str, ObservedProcess] = field(default_factory=dict)
    sets: Mapping[str, ObservedSet] = field(default_factory=dict)
    is_paused: bool = False


@dataclass(frozen=True)
class PlanStep:
    """The moves that can begin now, and why others wait."""

    moves: tuple[Move, ...] = ()
    holds: tuple[PlanHold, ...] = ()
