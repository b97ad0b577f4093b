"""Runs of a seed: agents observe the simulated fleet, plan, and make the moves, while faults happen.

After the last document and the last fault, the run goes on until nothing moves. Then the goal is reached,
or the plan says why not.
"""

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from random import Random

from automation.plan import planner, reading
from automation.plan.concerns import stated_concern
from automation.plan.reasons import PlanReason
from automation.plan.set_moves import members_after
from automation.plan.values import (
    INTERRUPTING,
    NOTHING_OBSERVED,
    WITH_TURN,
    AutomationGoal,
    FailedMove,
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
    PlanStep,
    Settings,
)
from automation.plan.versions import SERIES, series
from tests.simulation.automation.documents import (
    FIELDS_LEFT_ALONE,
    ROUND_SETTINGS,
    SET_NAME,
    WITHOUT_ZONE,
    JsonDocument,
    SimulatedFleetPlan,
    draw_fleet,
)
from tests.simulation.automation.fleet import KEY_SETTING, FleetPromise, SimulatedServer, SimulatedSet

BEGIN = datetime(2026, 11, 21, 8, tzinfo=UTC)
MOST_TICKS = 400
QUIET_TICKS = 4
_TURN_TICKS = 3
_INTERRUPTIONS = INTERRUPTING
_ROLLING = _INTERRUPTIONS | {MoveKind.STEP_DOWN}
_SETTABLE = frozenset(ROUND_SETTINGS)


@dataclass
class StartInFlight:
    """The second half of a restart: the server is stopped, and its agent starts it at a tick.

    `sets_aside`: the data is set aside before the start.
    """

    move: Move
    at: int
    sets_aside: bool = False


@dataclass(frozen=True)
class FleetOutcome:
    """What a run broke, the moves that need the turn, and why its end is not the goal."""

    broken: tuple[tuple[FleetPromise, str], ...]
    moves: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    ticks: int


class FleetRun:
    """One run of a seed."""

    def __init__(self, plan: SimulatedFleetPlan, goals: Sequence[AutomationGoal]) -> None:
        self.plan = plan
        self.random = Random(plan.seed + 10**9)
        self.world = SimulatedSet(self.random)
        self.goals = list(goals)
        self.goal = self.goals.pop(0)
        self.failures: dict[str, FailedMove] = {}
        self.flights: dict[str, StartInFlight] = {}
        self.hidden: dict[str, int] = {}
        self.ageless: dict[str, int] = {}
        """Until when it is not known how old the data of a server is."""
        self.ages = Random(plan.seed + 5 * 10**9)
        self.turn, self.turn_until = "", 0
        self.paused_until = self.alert_until = 0
        self.done: list[tuple[str, str]] = []
        self.last = PlanStep()
        self.shown: Counter[tuple[str, str]] | None = Counter()
        self._begin()
        self._show()

    @property
    def in_set(self) -> bool:
        return any(process.replica_set for unit in self.goal.units for process in unit.processes)

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
        if KEY_SETTING in process.settings:
            server.key = server.running_key = self._stated_auth()["key"]
        server.builds = {process.version}
        server.data_since = _DATA_SINCE + server.clock

    # Observation.

    def observed(self) -> ObservedFleet:
        world = self.world
        alerts = ("NO_PRIMARY",) if self.alert_until > world.now else ()
        of_set = ObservedSet(
            config=self._observed_config(),
            oplog=timedelta(seconds=world.oplog),
            oplog_lost=world.oplog_lost,
            turn=self.turn if self.turn_until > world.now else "",
            alerts=alerts,
            concern=self._observed_concern(),
            users=self._observed_users(),
        )
        alone = ObservedSet(users=self._observed_users())
        return ObservedFleet(
            now=BEGIN + timedelta(minutes=world.now),
            processes={name: self._observed(server) for name, server in world.servers.items()},
            sets={SET_NAME: of_set, "": alone},
            is_paused=self.paused_until > world.now,
        )

    def _observed_config(self) -> tuple[MemberConfig, ...]:
        """The configuration as a visible member says it; empty if no visible process knows one."""
        says = any(
            server.is_running
            and server.state is not MemberState.UNINITIATED
            and self.hidden.get(server.name, 0) <= self.world.now
            for server in self.world.servers.values()
        )
        return self.world.config if says else ()

    def _observed_concern(self) -> Settings | None:
        """The default concern as a visible member with data says it."""
        says = any(
            server.is_running
            and server.state in {MemberState.PRIMARY, MemberState.SECONDARY}
            and self.hidden.get(server.name, 0) <= self.world.now
            for server in self.world.servers.values()
        )
        return self.world.concern if says else None

    def _stated_auth(self) -> JsonDocument:
        """The section of the document that is the goal now; empty if it is not carried out."""
        number = min(self.goal.number, len(self.plan.documents))
        auth: JsonDocument = self.plan.documents[number - 1].get("auth", {})
        return {} if auth.get("disabled") else auth

    def _wanted_users(self) -> dict[str, str]:
        wanted = self._stated_auth().get("usersWanted", [])
        return {f"{user['db']}.{user['user']}": user["pwd"] for user in wanted}

    def _observed_users(self) -> tuple[str, ...] | None:
        """The users that are not as the document wants, as a visible primary or single server says them."""
        says = any(
            server.is_running
            and server.running_key
            and server.state in {MemberState.PRIMARY, MemberState.STANDALONE}
            and self.hidden.get(server.name, 0) <= self.world.now
            for server in self.world.servers.values()
        )
        known = self.world.users
        different = sorted(name for name, pwd in self._wanted_users().items() if known.get(name) != pwd)
        return tuple(different) if says else None

    def _observed_key_file(self, server: SimulatedServer) -> KeyFile | None:
        key = self._stated_auth().get("key")
        if key is None:
            return None
        if server.is_running and server.running_key not in {"", key}:
            return KeyFile.DIFFERENT
        return KeyFile.MISSING if not server.key else KeyFile.SAME if server.key == key else KeyFile.DIFFERENT

    def _observed(self, server: SimulatedServer) -> ObservedProcess:
        if self.hidden.get(server.name, 0) > self.world.now:
            return NOTHING_OBSERVED
        return ObservedProcess(
            is_running=server.is_running,
            state=server.state,
            version=server.version or None,
            feature_version=None if server.feature is None else SERIES[server.feature],
            has_data=server.has_data,
            settings=server.settings,
            file=server.file,
            settable=_SETTABLE,
            started=BEGIN + timedelta(minutes=server.started + server.clock) if server.version else None,
            restart=server.marker,
            resync=server.resync,
            compacted=server.compacted,
            data_since=self._data_since(server),
            has_old_data=server.old > 0,
            builds=frozenset(server.builds),
            lag=timedelta(seconds=server.lag),
            failure=self.failures.get(server.name),
            key_file=self._observed_key_file(server),
        )

    def _data_since(self, server: SimulatedServer) -> datetime | None:
        is_known = server.data_since is not None and self.ageless.get(server.name, 0) <= self.world.now
        return BEGIN + timedelta(minutes=server.data_since or 0) if is_known else None

    # The run.

    def run(self) -> FleetOutcome:
        quiet = 0
        fault_end = 0 if not self.plan.faults else self.random.randint(20, 60)
        changes = sorted(self.random.randint(0, fault_end or 40) for _ in self.goals)
        if not self.plan.faults:
            changes = []
        is_calm = not self.plan.faults
        while self.world.now < MOST_TICKS and quiet < QUIET_TICKS:
            self.world.tick()
            if self.goals and changes and self.world.now >= changes[0]:
                changes.pop(0)
                self._publish()
            if not is_calm and self.world.now >= fault_end:
                is_calm = True
                self._calm()
            elif not is_calm:
                self._fault()
            if self._act():
                quiet = 0
            elif is_calm and not self._awaits():
                quiet += 1
                if self.goals and quiet == QUIET_TICKS:
                    self._publish()
                    quiet = 0
            if self.world.broken:
                break
        return self._outcome(quiet)

    def _show(self) -> None:
        """Without faults, the plan that is drawn before the first move is the plan that is carried out.

        Elections take time, so only the order and number of step-downs can differ.
        """
        observed = self.observed()
        processes = [process for unit in self.goal.units for process in unit.processes]
        if (
            self.plan.faults
            or not self.plan.is_benign
            or any(time > observed.now for p in processes for time in p.times)
        ):
            self.shown = None
        if self.shown is None:
            return
        of_set = replace(observed.sets[SET_NAME], turn="")
        try:
            plans = planner.plan(self.goal, replace(observed, sets={**observed.sets, SET_NAME: of_set}))
        except planner.EndlessPlanError:
            self.world.violates(FleetPromise.END, "the plan that is drawn has no end")
            return
        for found in plans:
            self.shown.update(
                (planned.move.kind.value, planned.move.process)
                for planned in found.moves
                if planned.move.kind in _INTERRUPTIONS
            )

    def _awaits(self) -> bool:
        """Whether something happens by itself: a start, a copy, a time of the document in the future."""
        now = BEGIN + timedelta(minutes=self.world.now)
        later = any(
            time > now for unit in self.goal.units for process in unit.processes for time in process.times
        )
        moving = any(
            server.is_running
            and (server.progress or server.lag or server.state in _PASSING)
            and (server.state is not MemberState.SYNCING or self.world.primary() is not None)
            for server in self.world.servers.values()
        )
        grows = self.world.primary() is not None
        is_short = grows and self.world.oplog_lost and self.world.oplog < 3600
        return later or moving or is_short or bool(self.flights)

    def _publish(self) -> None:
        self.goal = self.goals.pop(0)
        self.world.shuts_down = all(p.is_disabled for unit in self.goal.units for p in unit.processes)
        for unit in self.goal.units:
            for process in unit.processes:
                self.world.servers.setdefault(process.name, SimulatedServer(process.name))
                if process.is_disabled:
                    self.world.disturbed.discard(process.name)
        # A process that leaves the document is not managed any more.
        self.world.disturbed &= {process.name for unit in self.goal.units for process in unit.processes}
        self._show()

    def _calm(self) -> None:
        """The faults end. Somebody publishes the last document again, so that stopped plans go on."""
        self.hidden, self.turn_until, self.paused_until, self.alert_until = {}, 0, 0, 0
        self.ageless = {}
        for server in self.world.servers.values():
            server.dead = 0
            if server.name.startswith("x") and not server.is_running:
                server.is_running, server.state, server.progress = True, MemberState.STARTING, 1
        while self.goals:
            self._publish()
        number = self.goal.number + 1
        self.goal = replace(self.goal, number=number)

    def _fault(self) -> None:
        if self.ages.random() < self.plan.faults / 2:
            name = self.ages.choice(sorted(self.world.servers))
            self.ageless[name] = self.world.now + self.ages.randint(1, 10)
        if self.random.random() >= self.plan.faults:
            return
        name = self.random.choice(sorted(self.world.servers))
        server, now = self.world.servers[name], self.world.now
        fault = self.random.choice(_FAULTS)
        if fault in _OF_SERVERS:
            self._fault_of_server(fault, server)
            return
        until = now + self.random.randint(1, 6)
        match fault:
            case "kill":
                self.flights.pop(name, None)
            case "hide":
                self.hidden[name] = until
            case "turn":
                self.turn, self.turn_until = name, until
            case "pause":
                self.paused_until = until
            case "alert":
                self.alert_until = until
            case "oplog":
                self.world.oplog, self.world.oplog_lost = 600, True

    def _fault_of_server(self, fault: str, server: SimulatedServer) -> None:
        match fault:
            case "crash" | "dead":
                self.world.stop(server.name, by_plan=False)
                self.flights.pop(server.name, None)
                server.dead = self.random.randint(1, 8) if fault == "dead" else 0
            case "lag":
                for other in self.world.servers.values():
                    other.lag = self.random.choice((0, 15, 60, 90)) if other.is_copy else 0
            case "rollback" if server.state is MemberState.SECONDARY:
                server.state, server.progress = MemberState.ROLLBACK, self.random.randint(1, 5)
            case "wipe" if not server.is_running and self._can_lose(server.name):
                self.world.lose(server)
            case "download":
                server.builds = {server.version} if server.is_running else server.builds

    def _can_lose(self, name: str) -> bool:
        """Whether the replica set works without the data of a member."""
        world = self.world
        is_member = world.member(name) is not None and world.primary() is not None
        return is_member and world.healthy_voters(without=name) >= world.majority()

    def _act(self) -> bool:
        """The agents make their next moves. False if none has a move."""
        self._land()
        observed = self.observed()
        self.last = planner.step(self.goal, observed)
        acted = False
        for move in self.last.moves:
            if move.process in self.flights:
                continue
            acted = True
            if self.plan.faults and self.random.random() < 0.05:
                continue  # Its agent does not run at the moment.
            if move.process not in self.world.servers:
                self.world.violates(FleetPromise.SERVER, f"nobody can make the move {move.kind.value}")
                break
            self._check(move, observed)
            self._make(move)
        return acted or bool(self.flights)

    def _land(self) -> None:
        for name, flight in list(self.flights.items()):
            self.turn_until = max(self.turn_until, self.world.now + 1)
            if flight.at <= self.world.now:
                del self.flights[name]
                if flight.sets_aside:
                    self.world.set_aside(name)
                self._start(flight.move)

    def _check(self, move: Move, observed: ObservedFleet) -> None:
        """Check what only the run knows: pauses, turns, failures, manual mode, hidden processes."""
        world, now = self.world, self.world.now
        returns = move.kind is MoveKind.START and bool(world.servers[move.process].version)
        if self.paused_until > now and not returns:
            world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process} during a pause")
        failed = [
            seen.failure
            for seen in observed.processes.values()
            if seen.failure is not None and seen.failure.goal_number == self.goal.number
        ]
        if failed:
            world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process} after {failed[0]}")
        if move.process in self._manual() and move.kind in _INTERRUPTIONS | {MoveKind.START}:
            world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process} in manual mode")
        if self.hidden.get(move.process, 0) > now:
            world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} of {move.process}, which is hidden")
        if not move.replica_set and move.kind in WITH_TURN:
            self.done.append((move.kind.value, move.process))
        if move.replica_set and move.kind in WITH_TURN:
            if self.turn_until > now and self.turn != move.process:
                world.violates(FleetPromise.HANDS_OFF, f"{move.kind.value} during the turn of {self.turn}")
            self.turn, self.turn_until = move.process, now + _TURN_TICKS
            self.done.append((move.kind.value, move.process))
        stated = {member.process for member in self.goal.units[0].members or ()}
        hidden = stated & self._unseen()
        if move.kind is MoveKind.INITIATE and hidden:
            world.violates(FleetPromise.HANDS_OFF, f"{move.process} initiates, and {hidden} are hidden")
        is_member = world.member(move.process) is not None
        if move.kind in _ROLLING and is_member and observed.sets[SET_NAME].alerts and not world.shuts_down:
            world.violates(FleetPromise.CALM, f"{move.kind.value} of {move.process} during an alert")

    def _unseen(self) -> set[str]:
        """The processes that nobody observes."""
        return {name for name, until in self.hidden.items() if until > self.world.now}

    def _manual(self) -> set[str]:
        return {process.name for unit in self.goal.units for process in unit.processes if process.is_manual}

    def _process(self, name: str) -> GoalProcess | None:
        found = (process for unit in self.goal.units for process in unit.processes)
        return next((process for process in found if process.name == name), None)

    def _make(self, move: Move) -> None:
        process = self._process(move.process)
        server = self.world.servers[move.process]
        match move.kind:
            case MoveKind.DOWNLOAD:
                server.builds.add(move.version)
            case MoveKind.WRITE_FILE | MoveKind.WRITE_KEY_FILE if process:
                self._write(server, process, move)
            case MoveKind.SET_PARAMETER if process:
                self._set_parameter(server, process)
            case MoveKind.START:
                self._start(move)
            case kind if kind in _ROLLING:
                self._disturb(server, move)
            case MoveKind.REMOVE_OLD_DATA | MoveKind.COMPACT:
                self._work_on_data(server, move)
            case MoveKind.SET_FEATURE_VERSION | MoveKind.SET_DEFAULT_CONCERN | MoveKind.SET_USERS:
                self._set_value(server, move)
            case MoveKind.INITIATE:
                self.world.initiate(server.name, move.members)
            case MoveKind.ADD_MEMBER | MoveKind.CHANGE_MEMBER | MoveKind.REMOVE_MEMBER:
                self._change_members(server, move)

    def _write(self, server: SimulatedServer, process: GoalProcess, move: Move) -> None:
        if move.kind is MoveKind.WRITE_KEY_FILE:
            self.world.write_key(server.name, self._stated_auth()["key"])
        else:
            server.file = process.settings

    def _set_value(self, server: SimulatedServer, move: Move) -> None:
        """Set the value that all members have."""
        if move.kind is MoveKind.SET_FEATURE_VERSION:
            self.world.set_feature(server.name, SERIES.index(move.version))
        elif move.kind is MoveKind.SET_USERS:
            wanted = self._wanted_users()
            self.world.set_users(server.name, {name: wanted[name] for name in move.settings})
        else:
            concern = self.goal.units[0].concern
            self.world.set_concern(server.name, {name: concern[name] for name in move.settings})

    def _change_members(self, server: SimulatedServer, move: Move) -> None:
        name = move.members[0].process
        if self.world.disturbed - {name}:
            self.world.violates(FleetPromise.ONE_AT_A_TIME, f"{move.kind.value} of {name} during a restart")
        self.world.reconfigure(server.name, members_after(self.world.config, move))

    def _set_parameter(self, server: SimulatedServer, process: GoalProcess) -> None:
        before = server.settings or {}
        changed = {
            name for name in {*before, *process.settings} if before.get(name) != process.settings.get(name)
        }
        if not all(name in _SETTABLE and name in process.settings for name in changed):
            self.world.violates(FleetPromise.SERVER, f"{server.name} cannot change {changed} at run time")
            return
        server.settings = process.settings

    def _work_on_data(self, server: SimulatedServer, move: Move) -> None:
        if move.kind is MoveKind.REMOVE_OLD_DATA:
            self.world.remove_old(server.name)
            return
        number = min(self.goal.number, len(self.plan.documents))
        processes = self.plan.documents[number - 1]["processes"]
        if (server.name, WITHOUT_ZONE) in {(sent["name"], sent.get("lastCompact")) for sent in processes}:
            self.world.violates(
                FleetPromise.HANDS_OFF, f"{server.name} is compacted at a time without a zone"
            )
        self.world.check_disturbance(server.name)
        self.world.compact(server.name)
        process = self._process(server.name)
        is_killed = self.plan.faults > 0 and self.ages.random() < 0.3
        if process is not None and not is_killed:
            server.compacted = process.compact

    def _disturb(self, server: SimulatedServer, move: Move) -> None:
        if move.kind is not MoveKind.STEP_DOWN:
            self._interrupt(server, move)
            return
        self._check_primary_last(server)
        self.world.check_disturbance(server.name, is_step_down=True)
        self.world.step_down(server.name)

    def _interrupt(self, server: SimulatedServer, move: Move) -> None:
        self.world.check_disturbance(server.name)
        if move.kind is MoveKind.CHANGE_VERSION:
            steps = (series(move.version) or 0) - (series(server.version) or 0)
            if abs(steps) > 1:
                what = f"{server.name} changes from {server.version} to {move.version}"
                self.world.violates(FleetPromise.VERSION, what)
        self.world.stop(server.name)
        if move.kind is MoveKind.STOP:
            self.world.disturbed.discard(server.name)  # It stays away: the document disables it.
        else:
            wait = self.random.randint(0, 2) if self.plan.faults else 0
            is_late = move.kind is MoveKind.RESYNC and self.ages.random() < 0.5
            if move.kind is MoveKind.RESYNC:
                self._check_resync(server.name)
                if not is_late:
                    self.world.set_aside(server.name)
            self.flights[server.name] = StartInFlight(move, self.world.now + wait, is_late)
            if not wait:
                self._land()

    def _check_resync(self, name: str) -> None:
        if self.ageless.get(name, 0) > self.world.now:
            self.world.violates(FleetPromise.HANDS_OFF, f"{name} loses its data, whose age is not known")
        process, done = self._process(name), self.world.servers[name].resync
        if process is not None and process.resync is not None and done is not None and done >= process.resync:
            self.world.violates(FleetPromise.DATA, f"{name} loses its data again")
        self.world.check_resync(name)

    def _check_primary_last(self, server: SimulatedServer) -> None:
        unit = self.goal.units[0]
        stated = next((m for m in unit.members or () if m.process == server.name), None)
        own = self._process(server.name)
        if unit.members is not None and (stated is None or not stated.is_electable):
            return
        if own is None or own.is_disabled:
            return
        for process in unit.processes:
            other = self.world.servers[process.name]
            is_member = self.world.member(process.name) is not None and process.name != server.name
            is_behind = other.is_running and other.version == server.version != process.version
            if is_member and is_behind and not process.is_manual and not process.is_disabled:
                self.world.violates(
                    FleetPromise.PRIMARY_LAST, f"{server.name} steps down before {process.name} changes"
                )

    def _start(self, move: Move) -> None:
        process = self._process(move.process)
        server = self.world.servers[move.process]
        if process is None or server.is_running:
            return
        now = BEGIN + timedelta(minutes=self.world.now)
        restart, resync = (
            time if time is not None and time <= now else None for time in (process.restart, process.resync)
        )
        why = self.world.start(
            server.name,
            move.version or server.version,
            server.file or {},
            restart,
            resync,
        )
        if why:
            self.failures[server.name] = FailedMove(self.goal.number, move.kind, why)

    # The end.

    def _outcome(self, quiet: int) -> FleetOutcome:
        broken = list(self.world.broken)
        reasons = tuple(sorted({hold.reason.name for hold in self.last.holds}))
        if not broken and quiet < QUIET_TICKS:
            broken.append((FleetPromise.END, f"the plan still makes moves: {self.last.moves}, {reasons}"))
        elif not broken and self.shown is not None and self.shown != self._interruptions():
            broken.append((FleetPromise.END, f"shown {self.shown}, made {self._interruptions()}"))
        elif not broken:
            missing = self._missing()
            if unsaid := self._unsaid():
                broken.append((FleetPromise.END, f"not carried out, and not said, or the reverse: {unsaid}"))
            if missing and not self.last.holds:
                broken.append((FleetPromise.END, f"no reason is given: {missing}"))
            if self._has_a_way():
                stuck = [hold for hold in self.last.holds if hold.reason not in _WITHOUT_A_WAY]
                if stuck:
                    broken.append((FleetPromise.END, f"the goal can be reached: {stuck[0]}, {missing}"))
        return FleetOutcome(tuple(broken), tuple(self.done), reasons, self.world.now)

    def _has_a_way(self) -> bool:
        """Whether the goal can be reached, as far as documents say it."""
        return self.plan.is_benign

    def _interruptions(self) -> Counter[tuple[str, str]]:
        kinds = {kind.value for kind in _INTERRUPTIONS}
        return Counter((kind, process) for kind, process in self.done if kind in kinds)

    def _unsaid(self) -> list[tuple[str, str]]:
        """The fields that the plan leaves alone and does not name, or names although it carries them out."""
        document = self.plan.documents[-1]
        left_alone = {
            (process["name"], name)
            for process in document["processes"]
            for name in FIELDS_LEFT_ALONE
            if name in process
        }
        notes = [*self.goal.notes, *(note for unit in self.goal.units for note in unit.notes)]
        said = {
            (note.process, name)
            for note in notes
            if note.reason is PlanReason.NOT_PLANNED
            for name in dict(note.names)["fields"].split(", ")
        }
        return sorted(left_alone ^ said)

    def _missing(self) -> list[str]:
        """What of the goal is not reached."""
        found = []
        unit = self.goal.units[0]
        for process in unit.processes:
            if not process.is_manual:
                found += self._missing_of(process)
        if unit.members is not None and not self.world.shuts_down:
            config = {member.process: member for member in self.world.config}
            wanted = {member.process for member in unit.members}
            found += [f"member {name}" for name in config if name not in wanted]
            for member in unit.members:
                now = config.get(member.process)
                own = self._process(member.process)
                if now is None and own is not None and not own.is_disabled:
                    found.append(f"no member {member.process}")
                elif now is not None and _values(now) != _values(member):
                    found.append(f"{now} instead of {member}")
        found += self._missing_users(unit)
        if self.world.config and not self.world.shuts_down:
            found += [
                f"no {name} {text}" for name, text in self._concern() if text != self.world.concern.get(name)
            ]
        goal = series(unit.processes[0].feature_version)
        features = [self.world.feature] if self.world.config else []
        if not unit.replica_set:
            features = [self.world.servers[process.name].feature for process in unit.processes]
        if not self.world.shuts_down and any(feature != goal for feature in features):
            found.append(f"feature version {features}")
        return found

    def _missing_users(self, unit: GoalUnit) -> list[str]:
        has_server = not self.world.shuts_down and (self.world.config or not unit.replica_set)
        wanted = self._wanted_users() if has_server else {}
        return [f"no user {name}" for name, pwd in wanted.items() if self.world.users.get(name) != pwd]

    def _concern(self) -> list[tuple[str, str]]:
        """The default concerns that the managed processes of the last document state."""
        managed = {
            process.name
            for process in self.goal.units[0].processes
            if not process.is_disabled and not process.is_manual
        }
        return [
            (name, text)
            for process in self.plan.documents[-1]["processes"]
            if process["name"] in managed
            for name, text in stated_concern(process).items()
        ]

    def _missing_of(self, process: GoalProcess) -> list[str]:
        server = self.world.servers[process.name]
        if process.is_disabled or not server.is_running:
            return [] if process.is_disabled is not server.is_running else [f"{process.name} runs or not"]
        late = process.restart is not None and (
            (server.marker is None or server.marker < process.restart)
            and BEGIN + timedelta(minutes=server.started + server.clock) < process.restart
        )
        return [
            *([f"{process.name} has {server.version}"] if server.version != process.version else []),
            *(
                [f"{process.name} has settings {server.settings}"]
                if server.settings != process.settings
                else []
            ),
            *([f"{process.name} has another file"] if server.file != process.settings else []),
            *([f"{process.name} was not restarted"] if late else []),
            *self._missing_resync(process, server),
            *self._missing_compact(process, server),
            *([f"{process.name} is {server.state}"] if server.state in _PASSING else []),
        ]

    def _missing_compact(self, process: GoalProcess, server: SimulatedServer) -> list[str]:
        """What of lastCompact is not reached: by members with data, and by single servers."""
        times = (server.compacted, BEGIN + timedelta(minutes=server.data_since or 0))
        is_member = not process.replica_set or self.world.member(process.name) is not None
        has_data = server.is_copy or server.state is MemberState.STANDALONE
        is_late = process.compact is not None and not any(time and time >= process.compact for time in times)
        return [f"{process.name} is not compacted"] if is_late and is_member and has_data else []

    def _missing_resync(self, process: GoalProcess, server: SimulatedServer) -> list[str]:
        """What of lastResync is not reached. Notes say it of processes that are no members with data."""
        member = self.world.member(process.name)
        if process.resync is None or member is None or member.is_arbiter:
            return []
        since = BEGIN + timedelta(minutes=server.data_since or 0)
        if since < process.resync and (server.resync is None or server.resync < process.resync):
            return [f"{process.name} has data since {since}"]
        return [f"{process.name} has old data"] if server.old else []


def _values(member: MemberConfig) -> tuple[float, int, bool, int]:
    return member.priority, member.votes, member.is_hidden, member.delay


_DATA_SINCE = -120
"""When the data of a fleet began that runs before the run."""
_PASSING = frozenset(
    {MemberState.STARTING, MemberState.SYNCING, MemberState.RECOVERING, MemberState.ROLLBACK}
)
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
_OF_SERVERS = ("crash", "crash", "dead", "lag", "rollback", "wipe", "download")
_FAULTS = (*_OF_SERVERS, "kill", "kill", "hide", "turn", "pause", "alert", "oplog")


def fleet_run(seed: int) -> FleetOutcome:
    """Run a seed."""
    plan = draw_fleet(seed)
    return FleetRun(plan, [reading.read_goal(document) for document in plan.documents]).run()


def broken_fleets(seeds: Sequence[int]) -> list[str]:
    """The seeds that break a promise, each with the first broken promise."""
    return [
        f"seed {seed}: {found.broken[0][0]}: {found.broken[0][1]}"
        for seed in seeds
        if (found := fleet_run(seed)).broken
    ]


def broken_fleets_by_all_processors(seeds: Sequence[int]) -> list[str]:
    """As `broken_fleets`, spread over processes."""
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as processes:
        return [line for lines in processes.map(broken_fleets, parts) for line in lines]


_AT_ONCE = 1_000
