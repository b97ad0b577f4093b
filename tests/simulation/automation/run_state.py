"""The state of a run: the simulated fleet, the document that is its goal, and what happens to its agents."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from automation.plan.values import (
    INTERRUPTING,
    AutomationGoal,
    FailedMove,
    GoalProcess,
    MemberConfig,
    MemberState,
    Move,
    MoveKind,
    PlanStep,
    Settings,
)
from automation.plan.versions import series
from tests.simulation.automation.documents import ROUND_SETTINGS, JsonDocument, SimulatedFleetPlan
from tests.simulation.automation.fleet import KEY_SETTING, SimulatedServer, SimulatedSet

ROLLING = INTERRUPTING | {MoveKind.STEP_DOWN}
"""The moves that interrupt members one after the other."""
SETTABLE = frozenset(ROUND_SETTINGS)
"""The settings that servers can change at run time."""
PASSING = frozenset({MemberState.STARTING, MemberState.SYNCING, MemberState.RECOVERING, MemberState.ROLLBACK})
"""The states that end by themselves."""
BEGIN = datetime(2026, 11, 21, 8, tzinfo=UTC)
_DATA_SINCE = -120
"""When the data of a fleet began that runs before the run."""


@dataclass
class StartInFlight:
    """The second half of a restart: the server is stopped, and its agent starts it at a tick.

    `file`: its next configuration file. `sets_aside`: the data is set aside before the start.
    """

    move: Move
    at: int
    file: Settings | None
    sets_aside: bool = False


class RunState:
    """The state of one run of a seed."""

    def __init__(self, plan: SimulatedFleetPlan, goals: Sequence[AutomationGoal]) -> None:
        self.plan = plan
        self.random = Random(plan.seed + 10**9)
        self.world = SimulatedSet(self.random)
        self.goals = list(goals)
        self.goal = self.goals.pop(0)
        self.failures: dict[str, FailedMove] = {}
        self.flights: dict[str, StartInFlight] = {}
        self.hidden: dict[str, int] = {}
        """Until when nobody observes a server."""
        self.ageless: dict[str, int] = {}
        """Until when it is not known how old the data of a server is."""
        self.ages = Random(plan.seed + 5 * 10**9)
        self.turn, self.turn_until = "", 0
        self.paused_until = self.alert_until = 0
        self.done: list[tuple[str, str]] = []
        self.last = PlanStep()
        self.shown: Counter[tuple[str, str]] | None = Counter()
        self._begin()

    def _begin(self) -> None:
        unit = self.goal.units[0]
        for process in unit.processes:
            server = self.world.servers[process.name] = SimulatedServer(process.name)
            if self.plan.faults:
                server.clock = self.random.choice((-60, 0, 0, 60))
            if not self.plan.is_new:
                self._running(server, process)
        for number in range(self.plan.strangers if not self.plan.is_new and unit.replica_set else 0):
            stranger = SimulatedServer(f"x{number}")
            self.world.servers[stranger.name] = stranger
            self._running(stranger, unit.processes[0])
        if self.plan.is_new or not unit.replica_set:
            return
        strangers = [name for name in self.world.servers if name.startswith("x")]
        voters = sum(member.votes for member in unit.members or ())
        self.world.config = (
            *(unit.members or ()),
            *(MemberConfig(name, 90, 0.0, 1 if voters < 7 else 0) for name in strangers),
        )
        self.world.feature = series(unit.processes[0].feature_version)
        for member in self.world.config:
            server = self.world.servers[member.process]
            server.state = MemberState.ARBITER if member.is_arbiter else MemberState.SECONDARY
            server.is_copy = server.has_data = not member.is_arbiter
            server.feature = None if member.is_arbiter else self.world.feature
        self.world.oplog, self.world.oplog_lost = 7200, True
        self.world.tick()

    def _running(self, server: SimulatedServer, process: GoalProcess) -> None:
        server.is_running, server.version = True, process.version
        server.state, server.has_data = MemberState.STANDALONE, True
        server.feature = series(process.feature_version)
        server.settings = server.file = process.settings
        server.file_version = process.version
        if KEY_SETTING in process.settings:
            server.key = server.running_key = self.stated_auth()["key"]
        server.builds = {process.version}
        server.data_since = _DATA_SINCE + server.clock

    def stated_auth(self) -> JsonDocument:
        """The section of the document that is the goal now; empty if it is not carried out."""
        number = min(self.goal.number, len(self.plan.documents))
        auth: JsonDocument = self.plan.documents[number - 1].get("auth", {})
        return {} if auth.get("disabled") else auth

    def wanted_users(self) -> dict[str, str]:
        """The users of the document with their passwords."""
        wanted = self.stated_auth().get("usersWanted", [])
        return {f"{user['db']}.{user['user']}": user["pwd"] for user in wanted}

    def process(self, name: str) -> GoalProcess | None:
        """The process of the document with that name."""
        found = (process for unit in self.goal.units for process in unit.processes)
        return next((process for process in found if process.name == name), None)

    def manual(self) -> set[str]:
        """The processes in manual mode."""
        return {process.name for unit in self.goal.units for process in unit.processes if process.is_manual}

    def publish(self) -> None:
        """Make the next document the goal."""
        self.goal = self.goals.pop(0)
        processes = [process for unit in self.goal.units for process in unit.processes]
        self.world.shuts_down = all(process.is_disabled for process in processes)
        for process in processes:
            self.world.servers.setdefault(process.name, SimulatedServer(process.name))
            if process.is_disabled:
                self.world.disturbed.discard(process.name)
        # A process that leaves the document is not managed any more.
        self.world.disturbed &= {process.name for process in processes}

    def awaits(self) -> bool:
        """Whether something happens by itself: a start, a copy, a time of the document in the future."""
        now = BEGIN + timedelta(minutes=self.world.now)
        later = any(
            time > now for unit in self.goal.units for process in unit.processes for time in process.times
        )
        has_primary = self.world.primary() is not None
        moving = any(
            server.is_running
            and (server.progress or server.lag or server.state in PASSING)
            and (server.state is not MemberState.SYNCING or has_primary)
            for server in self.world.servers.values()
        )
        is_short = has_primary and self.world.oplog_lost and self.world.oplog < 3600
        return later or moving or is_short or bool(self.flights)

    def unseen(self) -> set[str]:
        """The processes that nobody observes."""
        return {name for name, until in self.hidden.items() if until > self.world.now}

    def is_ageless(self, name: str) -> bool:
        """Whether it is not known how old the data of a server is."""
        return self.ageless.get(name, 0) > self.world.now
