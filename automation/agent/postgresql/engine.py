"""PostgreSQL as an engine of the agent: the servers of connection URIs, and their replica sets."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from automation.agent.engine import HostReading, Sample, ServerAddress, joined
from automation.agent.faults import Problems, log_unexpected
from automation.agent.machine.reader import LocalMachine
from automation.agent.postgresql.connection import PostgresAccess, read
from automation.agent.postgresql.host import ROLE, Hello, PostgresAnswer, PostgresHost
from automation.agent.postgresql.metrics import LAG_TIME
from automation.agent.rates import Why

log = logging.getLogger("opsapi.agent")

NAME = "POSTGRESQL"
"""This engine in reports."""

STANDALONE, PRIMARY, STANDBY = "STANDALONE", "REPLICA_PRIMARY", "REPLICA_SECONDARY"
NO_DATA = "NO_DATA"

_LONGEST_PROBLEM = 500
"""Characters that the platform accepts."""

_OF_DEBIAN = re.compile(r"\d+(\.\d+)?/[^/]+")
"""The `cluster_name` that Debian gives every cluster, `15/main`, which does not distinguish sets."""


class PostgreSQL:
    """All servers of the connection URIs. The servers of a URI belong to the same set."""

    role = ROLE

    def __init__(self, uris: Iterable[str], hostname: str = "localhost") -> None:
        """Does not connect yet. `hostname` is the name of servers that are reached through a Unix socket.

        Raises: ValueError: with the number of the URI that is invalid or repeats a server, without secrets.
        """
        self._machine = LocalMachine()
        self._hosts: dict[ServerAddress, PostgresHost] = {}
        self._together: dict[ServerAddress, Sequence[ServerAddress]] = {}
        for number, text in enumerate(uris, 1):
            try:
                self._add(read(text, hostname))
            except ValueError as error:
                raise ValueError(f"connection URI {number} {error}") from None
        self._seen: dict[ServerAddress, Hello] = {}
        self._replicated: set[str] = set()
        self._fresh: dict[ServerAddress, PostgresAnswer] = {}
        self._problems = Problems()
        self._warned: set[str] = set()

    def targets(self) -> Sequence[PostgresHost]:
        return list(self._hosts.values())

    def look(self, target: PostgresHost) -> None:
        """Close the session with a server of another agent. It names no others."""
        target.close()

    def sets(self) -> Mapping[ServerAddress, str]:
        """The set of each server that was seen in a set, and of the servers in the same URI."""
        sets: dict[ServerAddress, str] = {}
        for address, together in self._together.items():
            seen = [self._seen[member] for member in (address, *together) if member in self._seen]
            name = next((set_of(other) for other in seen if self._type(other) != STANDALONE), None)
            if name:
                sets[address] = name[:200]
        return sets

    def learn(self, target: PostgresHost, answer: PostgresAnswer) -> Sequence[PostgresHost]:
        """Process an answer.

        A server names no other servers to poll: a primary knows the address a standby connects from, but not
        its port.
        """
        self._log(target.address, answer)
        hello = answer.hello
        if hello is not None:
            self._seen[target.address] = hello
            name = set_of(hello)
            if name and (hello.in_recovery or hello.has_standbys or len(self._together[target.address]) > 1):
                self._replicated.add(name)
            self._warn_of_names(hello)
        samples, databases = joined(self._fresh.get(target.address), answer)
        answer = replace(answer, samples=samples, databases=databases)
        self._fresh[target.address] = answer
        return []

    def readings(self) -> Sequence[HostReading]:
        """The results since the last call."""
        fresh, self._fresh = self._fresh, {}
        readings: list[HostReading] = []
        for address, answer in fresh.items():
            try:
                reading = self._reading(address, answer)
            except Exception as error:  # noqa: BLE001 - a failure affects no other server.
                log_unexpected(address, error)
            else:
                readings.append(replace(reading, engine=NAME))
        return readings

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """By server and metric: whether the metric was reported last time, or why not."""
        return {address: host.missing for address, host in self._hosts.items()}

    def close(self) -> None:
        """Close all sessions; running polls fail."""
        for host in self._hosts.values():
            host.close()

    def _add(self, accesses: Sequence[PostgresAccess]) -> None:
        addresses = [access.address for access in accesses]
        for access in accesses:
            if access.address in self._hosts:
                raise ValueError(f"names {access.address} again")
            self._hosts[access.address] = PostgresHost(access, machine=self._machine)
            self._together[access.address] = addresses

    def _reading(self, address: ServerAddress, answer: PostgresAnswer) -> HostReading:
        if answer.hello is None and answer.reachable:
            # What the server said earlier is no observation of now. Other servers of the URI know the set.
            name = self._set_of_others(address)
            problem = answer.problem[:_LONGEST_PROBLEM]
            return HostReading(
                address, NO_DATA, reachable=True, replica_set=name, cluster=name, problem=problem
            )
        hello = answer.hello or self._seen.get(address)
        if hello is None:
            return self._never_seen(address)
        name = set_of(hello) if self._type(hello) != STANDALONE else None
        not_measured = answer.reachable and not answer.measured
        return HostReading(
            address=address,
            type_name=self._type(hello),
            reachable=answer.reachable,
            version=answer.hello.version if answer.hello else None,
            replica_set=name,
            cluster=name,
            uptime=int(hello.uptime) if answer.hello and hello.uptime is not None else None,
            samples=list(self._without_delay(hello, answer.samples)),
            databases=answer.databases,
            problem=answer.problem[:_LONGEST_PROBLEM] if not_measured else None,
        )

    def _without_delay(self, hello: Hello, samples: Iterable[Sample]) -> Iterator[Sample]:
        """The samples; a primary's lag is without the configured delay of its standbys.

        A primary knows how late its standbys are, but not their settings.
        """
        standbys = [other for other in self._seen.values() if other.identifier == hello.identifier]
        delay = 0.0 if hello.in_recovery else max((other.delay for other in standbys), default=0.0)
        for sample in samples:
            late = delay and sample.metric == LAG_TIME
            yield sample._replace(number=max(sample.number - delay, 0.0)) if late else sample

    def _never_seen(self, address: ServerAddress) -> HostReading:
        """The reading of an unreachable server that has never accepted our session."""
        name = self._set_of_others(address)
        return HostReading(address, NO_DATA, reachable=False, replica_set=name, cluster=name)

    def _set_of_others(self, address: ServerAddress) -> str | None:
        """The set of the other servers in the same URI."""
        others = (member for member in self._together[address] if member != address)
        return next((set_of(self._seen[other]) for other in others if other in self._seen), None)

    def _type(self, hello: Hello) -> str:
        """The type of a server.

        A server that had standbys, or was a standby, stays a primary when it is the last.
        """
        if hello.in_recovery:
            return STANDBY
        return PRIMARY if hello.has_standbys or set_of(hello) in self._replicated else STANDALONE

    # --- log --------------------------------------------------------------------------------------

    def _log(self, address: ServerAddress, answer: PostgresAnswer) -> None:
        what = "is not measured in full" if answer.hello else "cannot be measured"
        self._problems.report(address, answer.problem, f"{address} {what}: {answer.problem}")

    def _warn_of_names(self, hello: Hello) -> None:
        same = {set_of(other) for other in self._seen.values() if other.identifier == hello.identifier}
        if hello.identifier and len(same) > 1 and hello.identifier not in self._warned:
            self._warned.add(hello.identifier)
            log.warning(
                "servers of one system identifier have different cluster_name settings, and are reported as"
                " different replica sets: %s",
                ", ".join(sorted(map(str, same))),
            )


def set_of(hello: Hello) -> str | None:
    """The set name of a server: `cluster_name`, or the system identifier that all copies share."""
    own = hello.cluster_name.strip()
    return own if own and not _OF_DEBIAN.fullmatch(own) else hello.identifier
