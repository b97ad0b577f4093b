"""What database engines and the other modules of the agent share.

An engine finds hosts and polls them; `DatabaseEngine` is its interface. `DatabaseTurns` schedules the
databases of a server. `--check` prints a `CheckStep` for each step.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from automation.agent.rates import Why
from opsapi.hostnames import canonical_hostname, host_and_port

_PORT = re.compile(r"[0-9]{1,5}")
_HIGHEST_PORT = 65_535
_MOST_ADDRESSES = 4096
"""Servers name the same addresses in every round."""
_LONGEST_ADDRESS = 300
"""A host name has at most 253 characters."""


class ServerAddress(NamedTuple):
    """A lower-case host name or IP address, and a port."""

    hostname: str
    port: int

    def __str__(self) -> str:
        """`hostname:port`, IPv6 in brackets."""
        return host_and_port(self.hostname, self.port)


def address_of(hostname: str, port: int) -> ServerAddress | None:
    """The address; None if the platform does not accept the name or port."""
    name = canonical_hostname(hostname)
    return ServerAddress(name.lower(), port) if name and 0 < port <= _HIGHEST_PORT else None


def read_address(text: str, default_port: int) -> ServerAddress | None:
    """Parse `host`, `host:port` or `[ipv6]:port`; None if the platform does not accept it."""
    # The cache must not keep long texts of a faulty server.
    return _read_address(text, default_port) if len(text) <= _LONGEST_ADDRESS else None


@lru_cache(maxsize=_MOST_ADDRESSES)
def _read_address(text: str, default_port: int) -> ServerAddress | None:
    if text.startswith("["):
        hostname, _, port = text[1:].partition("]:") if "]:" in text else (text[1:-1], "", "")
        if text.count("]") != 1 or (not port and not text.endswith("]")):
            return None
    elif text.count(":") > 1 and canonical_hostname(text):
        hostname, port = text, ""
    else:
        hostname, _, port = text.rpartition(":") if ":" in text else (text, "", "")
    if port and not _PORT.fullmatch(port):
        return None
    return address_of(hostname, int(port or default_port))


class Sample(NamedTuple):
    """A measured value in the base unit of the metric; `metric` is a name of `GET /metricNames`."""

    metric: str
    number: float
    taken: datetime


@dataclass(frozen=True)
class HostReading:
    """The report of a host.

    `uptime` is in seconds. `databases` has the samples of each database; None if they were not polled.
    `engine` is the engine that read the host, a name of the platform's closed set. `problem` is the reason
    why a host that is reachable could not be measured, without secrets; None if it was measured.
    """

    address: ServerAddress
    type_name: str
    reachable: bool
    version: str | None = None
    replica_set: str | None = None
    cluster: str | None = None
    shard: str | None = None
    uptime: int | None = None
    samples: Sequence[Sample] = ()
    databases: Mapping[str, Sequence[Sample]] | None = None
    engine: str | None = None
    problem: str | None = None


class HasSamples(Protocol):
    """Names with samples: the server, and its databases if they were polled."""

    @property
    def samples(self) -> Sequence[Sample]:
        """The samples of the server."""

    @property
    def databases(self) -> Mapping[str, Sequence[Sample]] | None:
        """The samples by database; None if they were not polled."""


def joined(
    earlier: HasSamples | None, later: HasSamples
) -> tuple[Sequence[Sample], Mapping[str, Sequence[Sample]] | None]:
    """Merge two answers of a server: a late answer of the last round and the answer of this round."""
    if earlier is None:
        return later.samples, later.databases
    databases = earlier.databases if later.databases is None else later.databases
    return [*earlier.samples, *later.samples], databases


class HostToPoll(Protocol):
    """A host to poll."""

    @property
    def address(self) -> ServerAddress:
        """The address it listens on."""

    def poll(self) -> Any:
        """Poll the host in its own thread. The engine gets the answer, whatever happens."""


class DatabaseEngine(Protocol):
    """A database engine.

    All calls except `HostToPoll.poll` and the result of `look` come from a single thread.
    """

    @property
    def role(self) -> str:
        """The role that is missing when a host refuses to be measured."""

    def targets(self) -> Sequence[HostToPoll]:
        """The hosts to poll in the next round."""

    def look(self, target: Any) -> Callable[[], Any] | None:
        """Release a host that another agent watches.

        Returns a function that polls the host only for the hosts it names, like `HostToPoll.poll`; None if it
        names none.
        """

    def sets(self) -> Mapping[ServerAddress, str]:
        """Replica set names of hosts that are members; one agent should watch the whole set."""

    def learn(self, target: Any, answer: Any) -> Sequence[HostToPoll]:
        """Process the answer of a host. Returns newly found hosts, to poll in the same round."""

    def readings(self) -> Sequence[HostReading]:
        """The results since the last call, each host once."""

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """By host and metric: whether the metric was reported last time, or why not."""

    def close(self) -> None:
        """Stop all background work."""


DATABASES_EVERY = 600.0
"""Seconds between two measurements of a database, which cost the server more than everything else."""

MOST_DATABASES = 1000


@dataclass
class DatabaseTurns:
    """The schedule of the databases of a server, and their unreported samples."""

    due: dict[str, float] = field(default_factory=dict)
    _list_due: float = float("-inf")
    _fresh: dict[str, Sequence[Sample]] = field(default_factory=dict)
    _reported_names: frozenset[str] = frozenset()

    def are_due(self, now: float) -> bool:
        """Whether there is a database to measure, or a list of them to ask for."""
        return now >= self._list_due or any(moment <= now for moment in self.due.values())

    def take(
        self,
        clock: Callable[[], float],
        seconds: float,
        names: Callable[[], Iterable[str]],
        measure: Callable[[str, float], Sequence[Sample]],
    ) -> None:
        """Measure due databases for up to `seconds`; the others follow in later rounds.

        `names` returns the current databases; new ones are due immediately. `measure` gets a name and the
        seconds left. An exception ends the round; earlier samples are kept.
        """
        now = clock()
        end = now + seconds
        if now >= self._list_due:
            self._list_due = now + DATABASES_EVERY
            self.due = {name: self.due.get(name, now) for name in names()}
        for name in [name for name, moment in self.due.items() if moment <= now]:
            left = end - clock()
            if left <= 0:
                break
            self.due[name] = now + DATABASES_EVERY
            self._fresh[name] = measure(name, left)

    def take_samples(self) -> Mapping[str, Sequence[Sample]] | None:
        """The unreported samples by database; None if there are none.

        When a database appears or disappears, the databases are reported even without samples.
        """
        fresh, self._fresh = self._fresh, {}
        names = frozenset(self.due)
        changed, self._reported_names = names != self._reported_names, names
        return {name: fresh.get(name, ()) for name in self.due} if fresh or changed else None


CONNECT_SECONDS = 2.0
"""Seconds for a connection to a server, by a poll or by `--check`."""


@dataclass(frozen=True)
class CheckStep:
    """A step in one line. `fault` says what is wrong and what to do; it is empty if the step works."""

    tried: str
    fault: str = ""

    def __str__(self) -> str:
        """`ok` or `FAILED`, the step, and the fault."""
        line = f"FAILED  {self.tried}: {self.fault}" if self.fault else f"ok      {self.tried}"
        return line.replace("\n", " ")


def connection_steps(what: str, hostname: str, port: int) -> Generator[CheckStep, None, bool]:
    """Resolve a name and connect to each address. Returns whether any address accepts connections.

    A single address is enough: `localhost` often has two, and a server listens on one of them.
    """
    try:
        rows = socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "not a valid name"
        todo = "check the spelling, and DNS and /etc/hosts on this machine"
        yield CheckStep(f"{what}: name {hostname}", f"it does not resolve ({reason}): {todo}")
        return False
    addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
    yield CheckStep(f"{what}: name {hostname} is {', '.join(addresses)}")
    refusals = {address: _refusal(address, port) for address in addresses}
    is_open = not all(refusals.values())
    for address, refusal in refusals.items():
        tried = f"{what}: port {port} of {address}"
        if not refusal:
            yield CheckStep(tried)
        elif is_open:
            yield CheckStep(f"{tried} accepts no connections ({refusal}), another address does")
        else:
            todo = "check that the server runs and listens on this address, and check firewalls"
            yield CheckStep(tried, f"accepts no connections ({refusal}): {todo}")
    return is_open


def _refusal(address: str, port: int) -> str:
    """Why the address accepts no connections; empty if it does."""
    try:
        socket.create_connection((address, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or f"no answer in {CONNECT_SECONDS:.0f} s"
    return ""
