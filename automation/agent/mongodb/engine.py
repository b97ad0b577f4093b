"""MongoDB as an engine of the agent: the deployments of the connection strings, and their servers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable
from weakref import WeakKeyDictionary

from automation.agent.engine import HostReading, ServerAddress, joined
from automation.agent.faults import Problems, log_unexpected, printable, shown
from automation.agent.machine.reader import LocalMachine
from automation.agent.mongodb.connection import MongoAccess, check, read, reason_of
from automation.agent.mongodb.host import MongoAnswer, MongoHost
from automation.agent.mongodb.topology import (
    ARBITER,
    NAMES_ALLOWED,
    NO_DATA,
    NamedMember,
    NamedServers,
    Shard,
    is_primary,
    members_of_set,
    own_address,
    type_of,
)
from automation.agent.rates import LONGEST_PAIR, Why

log = logging.getLogger("opsapi.agent")

NAME = "MONGODB"
"""This engine in reports."""

MOST_MEMBERS = 50
"""Limit of a replica set: MongoDB allows no more."""

MOST_HOSTS = 1000
"""Limit of a deployment: further servers are not monitored."""

LONGEST_SET = 200
"""Maximum length of a replica set name that the platform accepts."""

LONGEST_PROBLEM = 500
"""Maximum length of a problem that the platform accepts."""

LOOK_UP_AGAIN = 10.0
"""Seconds between DNS queries while `mongodb+srv://` does not resolve."""


@dataclass(frozen=True)
class _Names:
    """The servers that a server named, and its group: its replica set, or the routers."""

    group: str
    members: frozenset[ServerAddress]


class Deployment:
    """The servers of a deployment. Not thread-safe, except for the polls of its hosts.

    Members are servers that a router or a replica set names, and standalone servers among the seeds. Seeds
    are polled until a member answers: a seed may be another name of a member, which is then known under the
    name in its replica set.
    """

    def __init__(
        self, connection_string: str, machine: LocalMachine | None = None, *, is_optional: bool = False
    ) -> None:
        """Does not connect yet. A thread resolves a `mongodb+srv://` name. `machine` is the agent's machine.

        `is_optional`: a server that refuses the credentials is asked without them.

        Raises: ValueError: not a connection string; the message contains no secrets.
        """
        self._text, self._machine = connection_string, machine or LocalMachine()
        self._stopped = threading.Event()
        self._access: MongoAccess | None = None
        self._hosts: dict[ServerAddress, MongoHost] = {}
        self._members: dict[ServerAddress, NamedMember] = {}
        self._named_by: dict[ServerAddress, _Names] = {}
        self._heard: set[ServerAddress] = set()
        self._shards: dict[str, Shard] = {}
        self._last: dict[ServerAddress, HostReading] = {}
        self._fresh: dict[ServerAddress, HostReading] = {}
        self._windows: dict[str, tuple[float | None, float]] = {}
        self._problems = Problems()
        if connection_string.startswith("mongodb+srv://"):
            check(connection_string)
            threading.Thread(target=self._look_up, name="srv", daemon=True).start()
        else:
            self._access = replace(read(connection_string), is_optional=is_optional)

    @property
    def seed(self) -> str:
        """The first server of the connection string, which identifies the deployment; empty while unknown."""
        return str(self._access.seeds[0]) if self._access else ""

    def targets(self) -> Sequence[MongoHost]:
        """The servers to poll in the next round."""
        if self._access is None:
            return []
        self._forget_unnamed()
        seeds = () if self._heard else self._access.seeds
        self._heard = set()
        return [self._host(address) for address in dict.fromkeys([*self._members, *seeds])]

    @property
    def clusters(self) -> Iterable[str]:
        """The cluster names of its servers, including servers that another agent watches."""
        return dict.fromkeys(reading.cluster for reading in self._last.values() if reading.cluster)

    def sets(self) -> Mapping[ServerAddress, str]:
        """The replica set of each member, with its cluster if it has one."""
        return {
            address: f"{member.cluster or ''}/{member.replica_set}"[:LONGEST_SET]
            for address, member in self._members.items()
            if member.replica_set
        }

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """By server and metric: whether the metric was reported last time, or why not."""
        return {address: host.missing for address, host in self._hosts.items()}

    def learn(self, answer: MongoAnswer) -> Sequence[MongoHost]:
        """Process the answer of a server. Returns newly found servers."""
        if not answer.is_look:
            self._log(answer)
        if answer.hello is None:
            return []
        if is_primary(answer.hello) and not answer.is_look:
            self._windows[str(answer.hello.get("setName"))] = (answer.window, time.monotonic())
        known = frozenset(self._hosts)
        self._take_members(answer)
        return [self._host(address) for address in self._members if address not in known]

    def take(self, answer: MongoAnswer) -> None:
        """Keep the result of a poll for `readings`."""
        reading = self._reading(answer)
        if reading is None:
            return
        if answer.hello is not None:
            self._last[reading.address] = replace(reading, samples=(), databases=None)
        if not answer.is_look:
            samples, databases = joined(self._fresh.get(reading.address), reading)
            self._fresh[reading.address] = replace(reading, samples=samples, databases=databases)

    def readings(self) -> Sequence[HostReading]:
        """The results since the last call."""
        fresh, self._fresh = self._fresh, {}
        return [replace(reading, engine=NAME) for reading in fresh.values()]

    def close(self) -> None:
        """Stop resolving names. Connections end with the process, because a poll may use them."""
        self._stopped.set()

    # --- members ----------------------------------------------------------------------------------

    def _take_members(self, answer: MongoAnswer) -> None:
        hello = answer.hello or {}
        address = self._name_of(answer)
        named = members_of_set(hello, answer.status, self._shards.get(str(hello.get("setName"))))
        if answer.cluster is not None:
            named = NamedServers(
                (*named.members, *answer.cluster.members), (*named.unreadable, *answer.cluster.unreadable)
            )
            self._shards = dict(answer.cluster.shards or self._shards)
        for text in named.unreadable[:MOST_MEMBERS]:
            self._problems.report(shown(text), "name", f"{shown(text)} is not reported: {NAMES_ALLOWED}")
        if named.has_other_names:
            set_name = shown(hello.get("setName"))
            names = "members have other names for clients (split horizons)"
            line = f"{set_name}: {names}, so hidden members are not found"
            self._problems.report((set_name, "names"), "other names", line)
        if len(named.members) > MOST_MEMBERS and answer.cluster is None:
            most = f"{answer.address} names {len(named.members)} members of its set, {MOST_MEMBERS} are asked"
            self._problems.report((answer.address, "members"), "many", most)
            named = replace(named, members=named.members[:MOST_MEMBERS])
        # A server that was removed from its set is not a member; only seeds count on their own.
        is_seed = self._access is not None and answer.address in self._access.seeds
        if (
            is_seed
            and not hello.get("setName")
            and address not in {member.address for member in named.members}
        ):
            own = NamedMember(address, type_of(hello, is_shard=False))
            named = replace(named, members=(*named.members, own))
        self._heard.add(address)
        group = "routers" if answer.cluster else str(hello.get("setName"))
        self._named_by[address] = _Names(group, frozenset(member.address for member in named.members))
        for member in named.members:
            if member.address in self._members or len(self._members) < MOST_HOSTS:
                self._members[member.address] = self._better(member)
            else:
                most = f"{self.seed} leads to more than {MOST_HOSTS} servers; the others are not monitored"
                self._problems.report("servers", "many", most)

    def _better(self, member: NamedMember) -> NamedMember:
        """A router knows the shard of a member, its replica set may not."""
        known = self._members.get(member.address)
        if known is not None and known.cluster and not member.cluster:
            return known
        return member

    def _forget_unnamed(self) -> None:
        """Forget servers that no server names.

        The list of a server that does not answer stays valid while no other member of its set, or no other
        router, answers.
        """
        answered = {
            self._named_by[address].group for address in self._heard if self._named_by[address].members
        }
        self._named_by = {
            by: names
            for by, names in self._named_by.items()
            if by in self._heard or names.group not in answered
        }
        named = frozenset[ServerAddress]().union(*(names.members for names in self._named_by.values()))
        for address in self._members.keys() - named:
            log.info("%s is no longer a member", address)
            self._last.pop(address, None)
            self._problems.forget(address, (address, "members"))
            del self._members[address]
            if address in self._hosts:
                self._hosts.pop(address).close()

    def _host(self, address: ServerAddress) -> MongoHost:
        access = self._access
        if access is None:
            raise RuntimeError("the connection string has not been read yet")
        if address not in self._hosts:
            member = self._members.get(address)
            is_arbiter = member is not None and member.type_name == ARBITER
            self._hosts[address] = MongoHost(
                address,
                access,
                self._explain,
                is_arbiter=is_arbiter,
                window_of=self._window_of,
                machine=self._machine,
            )
        return self._hosts[address]

    def _window_of(self, set_name: str) -> float | None:
        """The oplog window of the primary of a set in seconds, if it was measured in the last minutes."""
        window, measured = self._windows.get(set_name, (None, 0.0))
        return window if time.monotonic() - measured < LONGEST_PAIR else None

    def _name_of(self, answer: MongoAnswer) -> ServerAddress:
        """The address under which others know the server that answered."""
        hello = answer.hello or {}
        own = own_address(hello)
        if own is None and answer.cluster is not None and answer.own_name:
            own = own_address({"me": answer.own_name})
            own = own if own in {member.address for member in answer.cluster.members} else None
        return own or answer.address

    # --- readings ---------------------------------------------------------------------------------

    def _reading(self, answer: MongoAnswer) -> HostReading | None:
        """The result to report; None for a seed that is another name of a member."""
        if answer.hello is None:
            return self._unanswered(answer)
        address = self._name_of(answer)
        if address != answer.address:
            return None
        set_name = printable(answer.hello.get("setName"))
        shard = self._shards.get(str(set_name))
        member = self._members.get(address)
        in_shard = shard.name if shard else (member.shard if member else None)
        cluster = shard.cluster if shard else (member.cluster if member and member.cluster else set_name)
        return HostReading(
            address=address,
            type_name=type_of(answer.hello, is_shard=in_shard is not None),
            reachable=True,
            version=answer.version,
            replica_set=set_name,
            cluster=cluster,
            shard=in_shard,
            uptime=answer.uptime,
            samples=answer.samples,
            databases=answer.databases,
            problem=None if answer.is_measured else printable(answer.problem, LONGEST_PROBLEM),
        )

    def _unanswered(self, answer: MongoAnswer) -> HostReading | None:
        """The result for a server that did not say what it is; None for a seed if members are known."""
        address = answer.address
        last, member = self._last.get(address), self._members.get(address)
        is_monitored = last is not None or member is not None or not self._members
        if self._access is None or not is_monitored:
            return None
        if answer.is_reachable:
            # What the server said earlier is no observation of now. Other members know its set.
            problem = printable(answer.problem, LONGEST_PROBLEM)
            reading = HostReading(address, NO_DATA, reachable=True, problem=problem)
            others = [names for other, names in self._named_by.items() if other != address]
            if member is None or not any(address in names.members for names in others):
                return reading
            cluster = member.cluster or member.replica_set
            return replace(reading, replica_set=member.replica_set, cluster=cluster, shard=member.shard)
        if last is not None:
            return replace(last, reachable=False, version=None, uptime=None, problem=None)
        if member is not None:
            return HostReading(
                address,
                member.type_name,
                reachable=False,
                replica_set=member.replica_set,
                cluster=member.cluster or member.replica_set,
                shard=member.shard,
            )
        set_name = self._access.replica_set
        return HostReading(address, NO_DATA, reachable=False, replica_set=set_name, cluster=set_name)

    # --- log --------------------------------------------------------------------------------------

    def _log(self, answer: MongoAnswer) -> None:
        if not answer.is_reachable:
            line = f"{answer.address} does not answer: {answer.problem}"
            # Log it once, because the wording of the driver varies.
            self._problems.report(answer.address, "no answer", line)
        elif not answer.is_measured:
            line = f"{answer.address} is not measured: {answer.problem}"
            self._problems.report(answer.address, answer.problem, line)
        else:
            line = f"{answer.address} is not measured in full: {answer.problem}"
            self._problems.report(answer.address, answer.problem, line)

    def _explain(self, error: Exception) -> str:
        return reason_of(error, self._text)

    def _look_up(self) -> None:
        before = ""
        while not self._stopped.is_set():
            try:
                self._access = read(self._text)
            except ValueError as error:
                if str(error) != before:
                    log.warning("OPSAPI_AGENT_MONGODB: a connection string %s", error)
                before = str(error)
            except Exception as error:  # noqa: BLE001 - the name will be resolved again.
                log_unexpected("OPSAPI_AGENT_MONGODB: a name of mongodb+srv", error)
            else:
                return
            self._stopped.wait(LOOK_UP_AGAIN)


class MongoDB:
    """All deployments of the connection strings."""

    role = "clusterMonitor"

    def __init__(self, connection_strings: Iterable[str], managed: Iterable[str] = ()) -> None:
        """Does not connect yet. `managed`: of servers whose users the automation creates.

        Raises: ValueError: with the number of the invalid connection string, without secrets.
        """
        self._deployments: list[Deployment] = []
        machine = LocalMachine()
        strings = [*((text, False) for text in connection_strings), *((text, True) for text in managed)]
        for number, (text, is_managed) in enumerate(strings, 1):
            try:
                self._deployments.append(Deployment(text, machine, is_optional=is_managed))
            except ValueError as error:
                raise ValueError(f"connection string {number} {error}") from None
        # The entry of a server disappears with the server, once nobody polls it.
        self._owners: WeakKeyDictionary[MongoHost, Deployment] = WeakKeyDictionary()
        self._names: dict[tuple[str, str], str] = {}

    def targets(self) -> Sequence[MongoHost]:
        """The servers of all deployments, each once."""
        return self._mine(
            (deployment, host) for deployment in self._deployments for host in deployment.targets()
        )

    def look(self, target: MongoHost) -> Callable[[], MongoAnswer]:
        """A function that polls a server of another agent for the servers it names."""
        return target.look

    def sets(self) -> Mapping[ServerAddress, str]:
        return {
            address: name for deployment in self._deployments for address, name in deployment.sets().items()
        }

    def learn(self, target: MongoHost, answer: MongoAnswer) -> Sequence[MongoHost]:
        """Process an answer. Returns newly found servers."""
        owner = self._owners[target]
        fresh = owner.learn(answer)
        owner.take(answer)
        return self._mine((owner, host) for host in fresh)

    def readings(self) -> Sequence[HostReading]:
        """The results since the last call.

        If two clusters have the same name, the second one gets a new name.
        """
        readings: dict[ServerAddress, HostReading] = {}
        chosen: dict[str, Deployment] = {}
        for deployment in self._deployments:
            for name in deployment.clusters:
                chosen.setdefault(name, deployment)
        for deployment in self._deployments:
            for reading in deployment.readings():
                cluster = reading.cluster
                if cluster and chosen.setdefault(cluster, deployment) is not deployment:
                    cluster = self._other_name(cluster, deployment.seed)
                readings.setdefault(reading.address, replace(reading, cluster=cluster))
        return list(readings.values())

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """By server and metric: whether the metric was reported last time, or why not."""
        return {
            address: reasons
            for deployment in self._deployments
            for address, reasons in deployment.why_missing().items()
        }

    def close(self) -> None:
        for deployment in self._deployments:
            deployment.close()

    def _mine(self, hosts: Iterable[tuple[Deployment, MongoHost]]) -> Sequence[MongoHost]:
        seen: dict[ServerAddress, MongoHost] = {}
        for owner, host in hosts:
            if seen.setdefault(host.address, host) is host:
                self._owners[host] = owner
        return list(seen.values())

    def _other_name(self, name: str, seed: str) -> str:
        if (name, seed) not in self._names:
            self._names[name, seed] = f"{name} ({seed})"
            log.warning(
                "two deployments have the name %s: one of them is reported as cluster %s (%s)",
                name,
                name,
                seed,
            )
        return self._names[name, seed]
