"""Simulated servers of a replica set, and what agents do to them. It knows nothing of plans.

A server that is asked for something that destroys data, or that MongoDB would refuse, records a violation.
Time goes in ticks. Each move takes some ticks, and an agent can be killed between its steps.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from random import Random

from automation.plan.values import MemberConfig, MemberState, Settings
from automation.plan.versions import SERIES, series, supports

STARTING_TICKS, SYNCING_TICKS, RECOVERING_TICKS = 1, 2, 1
MOST_LAG = 10


class FleetPromise(StrEnum):
    """What a plan never does."""

    MAJORITY = "the plan leaves a majority of the voting members healthy"
    ONE_AT_A_TIME = "the plan disturbs one member of a replica set at a time"
    PRIMARY_LAST = "the primary steps down before it is disturbed, and after all others"
    CALM = "nothing is disturbed while another member synchronizes, recovers or lags"
    OPLOG = "no member is disturbed longer than the oplog covers"
    VERSION = "no server starts with data, or in a replica set, that its version does not support"
    DATA = "no data is lost"
    KEY = "no member is cut off from the others by its key file"
    HANDS_OFF = "nothing happens that is paused, in manual mode, unknown or of another's turn"
    SERVER = "the plan asks a server only for what it can do"
    END = "the plan reaches the goal, or says why not"


@dataclass
class SimulatedServer:
    """A server with its data and its machine. `progress`: the ticks until its next state."""

    name: str
    version: str = ""
    is_running: bool = False
    state: MemberState | None = None
    has_data: bool = False
    is_copy: bool = False
    """Whether it has the data of the replica set."""
    feature: int | None = None
    settings: Settings | None = None
    file: Settings | None = None
    file_version: str = ""
    """The version for which the file was written."""
    has_failed: bool = False
    """Whether its last start failed."""
    is_wiped: bool = False
    """Whether its data is gone, and nobody has agreed to an empty start."""
    builds: set[str] = field(default_factory=set)
    started: int = 0
    key: str = ""
    """The key in its key file; empty if there is no file."""
    running_key: str = ""
    """The key with which it was started."""
    marker: datetime | None = None
    """The lastRestart under which it was started."""
    resync: datetime | None = None
    """The lastResync under which its data began."""
    compacted: datetime | None = None
    """The lastCompact that its agent remembers as carried out."""
    data_since: int | None = None
    """When its data began, in ticks of its own clock; None if its directory is empty."""
    old: int = 0
    """How often data was set aside that is still there."""
    progress: int = 0
    lag: int = 0
    frozen: int = 0
    dead: int = 0
    """The ticks in which its machine is off."""
    clock: int = 0
    """How far the clock of its machine is off, in ticks."""


class SimulatedSet:
    """The servers, the configuration of their replica set, and what the plan did that it must not do."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = 0
        self.servers: dict[str, SimulatedServer] = {}
        self.config: tuple[MemberConfig, ...] = ()
        self.feature: int | None = None
        self.concern: Settings = {}
        self.users: dict[str, str] = {}
        """The passwords of the users, by their names."""
        self.oplog = 0
        self.oplog_lost = False
        self.disturbed: set[str] = set()
        self.broken: list[tuple[FleetPromise, str]] = []
        self.shuts_down = False

    def violates(self, promise: FleetPromise, what: str) -> None:
        self.broken.append((promise, f"tick {self.now}: {what}"))

    # What is true.

    def member(self, name: str) -> MemberConfig | None:
        return next((member for member in self.config if member.process == name), None)

    def is_healthy(self, name: str) -> bool:
        server = self.servers[name]
        return server.is_running and server.state in _HEALTHY

    def primary(self) -> SimulatedServer | None:
        for member in self.config:
            server = self.servers[member.process]
            if server.is_running and server.state is MemberState.PRIMARY:
                return server
        return None

    def healthy_voters(self, without: str = "") -> int:
        return sum(
            member.votes > 0 and member.process != without and self.is_healthy(member.process)
            for member in self.config
        )

    def majority(self) -> int:
        return sum(member.votes > 0 for member in self.config) // 2 + 1

    # Time.

    def tick(self) -> None:
        """One tick passes: servers start, copy data, catch up, and elect a primary."""
        self.now += 1
        for server in self.servers.values():
            server.frozen = max(0, server.frozen - 1)
            server.dead = max(0, server.dead - 1)
            server.lag = max(0, server.lag - 20)
            if server.is_running:
                self._proceed(server)
        self._elect()
        self.disturbed -= {name for name in self.disturbed if self.is_healthy(name)}
        if self.primary() is not None:
            self.oplog += 600

    def _proceed(self, server: SimulatedServer) -> None:
        if server.progress:
            server.progress -= 1
            return
        member = self.member(server.name)
        has_primary = self.primary() is not None
        is_found = server.state is MemberState.UNINITIATED and member is not None and has_primary
        if server.state is MemberState.STARTING or is_found:
            self._after_start(server, member)
        elif server.state is MemberState.SYNCING and has_primary:
            server.state, server.feature = MemberState.SECONDARY, self.feature
            server.has_data = server.is_copy = True
        elif server.state in {MemberState.RECOVERING, MemberState.ROLLBACK}:
            server.state, server.feature = MemberState.SECONDARY, self.feature

    def _after_start(self, server: SimulatedServer, member: MemberConfig | None) -> None:
        if SET_SETTING not in (server.settings or {}):
            server.state, server.has_data = MemberState.STANDALONE, True
        elif member is None:
            server.state = MemberState.REMOVED if server.is_copy else MemberState.UNINITIATED
        elif member.is_arbiter:
            server.state = MemberState.ARBITER
        elif server.is_copy:
            server.state, server.progress = MemberState.RECOVERING, RECOVERING_TICKS
        elif self.primary() is None:
            server.state = MemberState.UNINITIATED  # Nobody says that it is a member.
        else:
            server.state, server.progress = MemberState.SYNCING, SYNCING_TICKS

    def _elect(self) -> None:
        now = self.primary()
        if now is not None and self.healthy_voters() < self.majority():
            now.state = MemberState.SECONDARY
            return
        if self.healthy_voters() < self.majority():
            return
        able = [
            (member, self.servers[member.process])
            for member in self.config
            if member.is_electable
            and self.servers[member.process].is_running
            and self.servers[member.process].state in {MemberState.SECONDARY, MemberState.PRIMARY}
            and not self.servers[member.process].frozen
        ]
        if not able:
            return
        best, server = max(able, key=lambda pair: pair[0].priority)
        member = self.member(now.name) if now is not None else None
        if now is None or (member is not None and best.priority > member.priority and not server.lag):
            if now is not None:
                now.state = MemberState.SECONDARY
            server.state, server.lag = MemberState.PRIMARY, 0

    # What agents do.

    def check_disturbance(self, name: str, *, is_step_down: bool = False) -> None:
        """Check the promises before a member is disturbed."""
        member = self.member(name)
        if member is None or self.shuts_down:
            return
        voters = sum(other.votes > 0 for other in self.config)
        is_single = voters == 1
        if not is_single and self.healthy_voters(without=name) < self.majority():
            self.violates(FleetPromise.MAJORITY, f"{name} is disturbed without a majority of the others")
        if self.disturbed - {name}:
            self.violates(FleetPromise.ONE_AT_A_TIME, f"{name} is disturbed after {sorted(self.disturbed)}")
        primary = self.primary()
        if not is_single and (primary is None or (primary.name == name and not is_step_down)):
            self.violates(FleetPromise.PRIMARY_LAST, f"{name} is disturbed, and the primary is {primary}")
        for what in self._unrest(name):
            self.violates(FleetPromise.CALM, f"{name} is disturbed while {what}")
        self._check_oplog(member)

    def _check_oplog(self, member: MemberConfig) -> None:
        data = sum(not other.is_arbiter for other in self.config)
        if self.oplog_lost and self.oplog < 3600 and not member.is_arbiter and data > 1:
            self.violates(
                FleetPromise.OPLOG, f"{member.process} is disturbed with an oplog of {self.oplog} s"
            )

    def _unrest(self, name: str) -> Iterator[str]:
        for member in self.config:
            server = self.servers[member.process]
            if member.process == name or not server.is_running:
                continue
            if server.state not in _HEALTHY:
                yield f"{member.process} is {server.state}"
            if self._lags(member):
                yield f"{member.process} lags {server.lag} s"

    def _lags(self, member: MemberConfig) -> bool:
        server = self.servers[member.process]
        return server.state is MemberState.SECONDARY and server.lag - member.delay > MOST_LAG

    def losing(self, config: tuple[MemberConfig, ...]) -> Iterator[MemberConfig]:
        """The members that work, and in another configuration leave, do less, or replace the primary."""
        after = {member.process: member for member in config}
        primary = self.primary()
        first = self.member(primary.name) if primary is not None else None
        for member in self.config:
            changed = after.get(member.process)
            is_less = changed is None or (
                changed.votes < member.votes
                or changed.priority < member.priority
                or changed.delay > member.delay
                or (changed.is_hidden and not member.is_hidden)
            )
            replaces = (
                changed is not None
                and first is not None
                and first != member
                and member.priority <= first.priority < changed.priority
            )
            if (is_less or replaces) and self.is_healthy(member.process) and not self._lags(member):
                yield member

    def stop(self, name: str, *, by_plan: bool = True) -> None:
        server = self.servers[name]
        server.is_running, server.state = False, None
        if by_plan and self.member(name) is not None and not self.shuts_down:
            self.disturbed.add(name)
        if not by_plan:
            self.disturbed.discard(name)

    def check_resync(self, name: str) -> None:
        """Check that enough other members have all data before a member loses its data."""
        member = self.member(name)
        if member is None or member.is_arbiter:
            self.violates(FleetPromise.SERVER, f"{name} loses its data and is no member with data")
        copying = [m.process for m in self.config if m.votes and not m.is_arbiter and not m.delay]
        others = [self.servers[other] for other in copying if other != name]
        copies = sum(server.is_copy and self.is_healthy(server.name) for server in others)
        if copies < (len(copying) // 2 + 1 if len(copying) > 2 else 1):
            self.violates(FleetPromise.DATA, f"{name} loses its data, and {copies} of {copying} have it")

    def compact(self, name: str) -> None:
        """Compact the collections, as a secondary or a single server does."""
        server = self.servers[name]
        if server.state not in {MemberState.SECONDARY, MemberState.STANDALONE}:
            self.violates(FleetPromise.SERVER, f"{name} is compacted as {server.state}")

    def set_aside(self, name: str) -> None:
        """Set the data of a stopped server aside."""
        server = self.servers[name]
        server.old += 1
        self.lose(server)

    def lose(self, server: SimulatedServer) -> None:
        """The directory of the data of a stopped server is empty."""
        server.has_data = server.is_copy = False
        server.feature = server.data_since = None

    def remove_old(self, name: str) -> None:
        """Remove the data that was set aside."""
        server = self.servers[name]
        if not server.is_copy or server.state not in {MemberState.PRIMARY, MemberState.SECONDARY}:
            self.violates(FleetPromise.DATA, f"the old data of {name} goes, and it is {server.state}")
        server.old = 0

    def start(
        self,
        name: str,
        version: str,
        settings: Settings,
        marker: datetime | None,
        resync: datetime | None = None,
    ) -> str:
        """Start a server; the answer says why it does not start, if it does not.

        `marker` and `resync`: the lastRestart and the lastResync of the document that have passed.
        """
        server = self.servers[name]
        if server.dead:
            return "the machine does not answer"
        if "setParameter.refused" in settings:
            return "the server refuses its configuration"
        if version not in server.builds:
            self.violates(FleetPromise.SERVER, f"{name} starts version {version}, which is not unpacked")
        self._check_data(server, settings)
        self._check_version(server, version)
        member = self.member(name)
        if server.feature is None and (member is None or not member.is_arbiter):
            server.feature = series(version)
        server.is_running, server.state, server.progress = True, MemberState.STARTING, STARTING_TICKS
        server.is_wiped = False
        server.version, server.settings, server.started = version, settings, self.now
        server.frozen = 0
        if server.data_since is None:
            server.data_since = self.now + server.clock
            server.resync = resync or server.resync
        if marker is not None:
            server.marker = marker
        self._take_key(server)
        if member is not None:
            self._check_several(server, self.config)
            self._check_keys(server)
        return ""

    def _take_key(self, server: SimulatedServer) -> None:
        needs_key = KEY_SETTING in (server.settings or {})
        if needs_key and not server.key:
            self.violates(FleetPromise.SERVER, f"{server.name} starts without its key file")
        server.running_key = server.key if needs_key else ""

    def _check_keys(self, server: SimulatedServer) -> None:
        """Check that the server can talk to each other member that runs."""
        for member in self.config:
            other = self.servers[member.process]
            if other is not server and other.is_running and not _can_talk(server, other):
                self.violates(FleetPromise.KEY, f"{server.name} cannot talk to {other.name}")

    def write_key(self, name: str, key: str) -> None:
        """Write a key file."""
        server = self.servers[name]
        if server.key not in {"", key}:
            self.violates(FleetPromise.KEY, f"the key of {name} is replaced by another")
        server.key = key

    def set_users(self, name: str, users: Mapping[str, str]) -> None:
        """Create or change users."""
        server = self.servers[name]
        if server.state not in {MemberState.PRIMARY, MemberState.STANDALONE}:
            self.violates(FleetPromise.SERVER, f"{name} is no primary and changes users")
        if not server.running_key:
            self.violates(FleetPromise.KEY, f"{name} has not proven that it has the key, and gets passwords")
        if self.config and self.healthy_voters() < self.majority():
            self.violates(FleetPromise.MAJORITY, f"nobody acknowledges the users of {name}")
        self.users |= users

    def _check_data(self, server: SimulatedServer, settings: Settings) -> None:
        before = server.settings
        if before is None or not (server.has_data or server.is_copy):
            return
        for name in ("storage.dbPath", SET_SETTING):
            if name in before and before[name] != settings.get(name):
                self.violates(FleetPromise.DATA, f"{server.name} starts with another {name}")

    def _check_version(self, server: SimulatedServer, version: str) -> None:
        place = series(version)
        member = self.member(server.name)
        limits = [] if server.feature is None else [server.feature]
        if member is not None and self.feature is not None:
            limits.append(self.feature)
        is_empty = not server.has_data and not server.is_copy and server.feature is None
        if is_empty and member is None:
            return
        for limit in limits:
            if place is None or not supports(place, limit):
                what = f"{server.name} starts {version} with feature version {SERIES[limit]}"
                self.violates(FleetPromise.VERSION, what)

    def step_down(self, name: str) -> None:
        server = self.servers[name]
        if server.state is not MemberState.PRIMARY:
            self.violates(FleetPromise.SERVER, f"{name} steps down and is no primary")
            return
        if not any(self._can_follow(member, name) for member in self.config):
            return  # MongoDB refuses it.
        server.state, server.frozen = MemberState.SECONDARY, 6
        self._elect()

    def _can_follow(self, member: MemberConfig, name: str) -> bool:
        server = self.servers[member.process]
        is_able = member.is_electable and server.is_running and server.state is MemberState.SECONDARY
        return is_able and member.process != name and not server.frozen

    def set_feature(self, name: str, feature: int) -> None:
        if not self.config:
            server = self.servers[name]
            place = series(server.version)
            if place is None or not supports(place, feature):
                self.violates(FleetPromise.VERSION, f"{name} cannot have feature version {SERIES[feature]}")
            server.feature = feature
            return
        if self.servers[name].state is not MemberState.PRIMARY:
            self.violates(FleetPromise.SERVER, f"{name} is no primary and sets the feature version")
        for member in self.config:
            server = self.servers[member.process]
            place = series(server.version)
            if place is None or not supports(place, feature):
                what = f"{server.name} has {server.version} and gets feature version {SERIES[feature]}"
                self.violates(FleetPromise.VERSION, what)
            if server.is_running and server.is_copy:
                server.feature = feature
        self.feature = feature
        if feature < CONCERNS_SINCE:
            self.concern = {}

    def set_concern(self, name: str, concern: Settings) -> None:
        """Set the default read and write concern."""
        if self.servers[name].state is not MemberState.PRIMARY:
            self.violates(FleetPromise.SERVER, f"{name} is no primary and sets the default concern")
        if self.feature is None or self.feature < CONCERNS_SINCE:
            self.violates(FleetPromise.SERVER, f"{name} has no default concern with {self.feature}")
        self.concern = {**self.concern, **concern}
        read = json.loads(concern.get("defaultReadConcern", "{}"))
        if read.get("level", "local") not in {"available", "local", "majority"}:
            self.violates(FleetPromise.SERVER, f"{read} is refused")
        if self.healthy_voters() < self.majority():
            self.violates(FleetPromise.MAJORITY, f"nobody acknowledges the default concern of {name}")
        self._check_acknowledgement()

    def _check_acknowledgement(self) -> None:
        """Check that enough members have data for the default write concern."""
        needed = json.loads(self.concern.get("defaultWriteConcern", "{}")).get("w", "majority")
        data = sum(not member.is_arbiter for member in self.config)
        if needed != "majority" and not 1 <= needed <= data:
            self.violates(FleetPromise.MAJORITY, f"{data} members with data acknowledge with w {needed}")

    def _check_voters(self, config: tuple[MemberConfig, ...]) -> None:
        """Check the rules of MongoDB for voting members, and for arbiters."""
        if sum(member.votes for member in config) > 7:
            self.violates(FleetPromise.SERVER, "eight members vote")
        if self.feature is not None and self.feature >= SERIES.index("5.0"):
            is_set = "defaultWriteConcern" in self.concern
            if self.config and not is_set and _implied(self.config) != _implied(config):
                self.violates(FleetPromise.SERVER, "the implicit default write concern would change")
        for member in config:
            self._check_several(self.servers[member.process], config)

    def _check_several(self, server: SimulatedServer, config: tuple[MemberConfig, ...]) -> None:
        is_new = (series(server.version) or 0) >= SERIES.index("6.0") and server.is_running
        is_allowed = (server.settings or {}).get("setParameter.allowMultipleArbiters") == '"true"'
        if is_new and not is_allowed and sum(member.is_arbiter for member in config) > 1:
            self.violates(FleetPromise.SERVER, f"{server.name} refuses several arbiters")

    def initiate(self, name: str, members: tuple[MemberConfig, ...]) -> None:
        first = self.servers[name]
        if self.config or any(server.is_copy for server in self.servers.values()):
            self.violates(FleetPromise.DATA, f"{name} initiates a replica set that exists")
        for member in members:
            server = self.servers[member.process]
            if server.state is not MemberState.UNINITIATED:
                self.violates(FleetPromise.SERVER, f"{name} initiates while {server.name} is {server.state}")
            if server.has_data and server is not first:
                self.violates(FleetPromise.DATA, f"the data of {server.name} is deleted")
        lost = [server.name for server in self.servers.values() if server.has_data and server is not first]
        if lost:
            self.violates(FleetPromise.DATA, f"{name} initiates, and {lost} have data")
        self._check_voters(members)
        self.config, self.feature = members, first.feature
        for member in members:
            server = self.servers[member.process]
            self._check_keys(server)
            server.state = MemberState.ARBITER if member.is_arbiter else MemberState.SECONDARY
            if not member.is_arbiter:
                server.is_copy = server.has_data = True
            self._check_joining(server, member)
        self._elect()

    def _check_joining(self, server: SimulatedServer, member: MemberConfig) -> None:
        place = series(server.version)
        if self.feature is not None and (place is None or not supports(place, self.feature)):
            what = f"{server.name} joins with {server.version} and feature version {SERIES[self.feature]}"
            self.violates(FleetPromise.VERSION, what)
        server.feature = None if member.is_arbiter else self.feature

    def reconfigure(self, name: str, config: tuple[MemberConfig, ...]) -> None:
        """Change the configuration, as the primary accepts it: by one voting member."""
        before = {member.process: member for member in self.config}
        after = {member.process: member for member in config}
        if self.servers[name].state is not MemberState.PRIMARY:
            self.violates(FleetPromise.SERVER, f"{name} is no primary and changes the members")
            return
        if name not in after or not after[name].is_electable:
            self.violates(FleetPromise.SERVER, f"the primary {name} would not be electable")
        voters = {other for other, member in before.items() if member.votes}
        changed = voters ^ {other for other, member in after.items() if member.votes}
        if len(changed) > 1:
            self.violates(FleetPromise.SERVER, f"the votes of {sorted(changed)} change at once")
        self._check_voters(config)
        self._check_losses(config)
        self.config = config
        self._check_acknowledgement()
        for joined in set(after) - set(before):
            self._join(self.servers[joined], after[joined])
        for left in set(before) - set(after):
            server = self.servers[left]
            if server.is_running:
                server.state = MemberState.REMOVED
            if before[left].is_arbiter:
                server.feature = self.feature
            self.disturbed.discard(left)
        if self.healthy_voters() < self.majority():
            self.violates(
                FleetPromise.MAJORITY, f"the members change, and {self.healthy_voters()} are healthy"
            )

    def _check_losses(self, config: tuple[MemberConfig, ...]) -> None:
        """Check the promises before members leave or do less. A member that leaves needs no oplog."""
        staying = {member.process for member in config}
        for member in self.losing(config):
            for what in self._unrest(member.process):
                self.violates(FleetPromise.CALM, f"{member.process} changes or leaves while {what}")
            if member.process in staying:
                self._check_oplog(member)

    def _join(self, server: SimulatedServer, member: MemberConfig) -> None:
        self._check_keys(server)
        if server.has_data and not server.is_copy:
            self.violates(FleetPromise.DATA, f"the data of {server.name} is deleted")
        if not server.is_running:
            self.violates(FleetPromise.SERVER, f"{server.name} joins and does not run")
            return
        self._check_joining(server, member)
        if member.is_arbiter:
            server.state = MemberState.ARBITER
        elif server.is_copy:
            server.state, server.progress = MemberState.RECOVERING, RECOVERING_TICKS
        else:
            server.state, server.progress = MemberState.SYNCING, SYNCING_TICKS
            if member.votes:
                self.violates(FleetPromise.MAJORITY, f"{server.name} votes before it has the data")


def _can_talk(server: SimulatedServer, other: SimulatedServer) -> bool:
    """Whether members can talk to each other, as MongoDB documents key files and transitionToAuth."""
    if server.running_key and other.running_key:
        return server.running_key == other.running_key
    with_key = [member for member in (server, other) if member.running_key]
    return all((member.settings or {}).get(TRANSITION_SETTING) == "true" for member in with_key)


def _implied(config: tuple[MemberConfig, ...]) -> str:
    """The default write concern that these members imply, as MongoDB documents it."""
    voters = [member for member in config if member.votes]
    arbiters = sum(member.is_arbiter for member in voters)
    majority = len(voters) // 2 + 1
    return "1" if arbiters > 0 and len(voters) - arbiters <= majority else "majority"


KEY_SETTING, TRANSITION_SETTING = "security.keyFile", "security.transitionToAuth"
SET_SETTING = "replication.replSetName"
CONCERNS_SINCE = SERIES.index("4.4")
_HEALTHY = frozenset({MemberState.PRIMARY, MemberState.SECONDARY, MemberState.ARBITER})
