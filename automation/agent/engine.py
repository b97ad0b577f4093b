"""Interface of a database engine: it finds hosts and polls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, NamedTuple, Protocol

from automation.agent.addresses import ServerAddress
from automation.agent.rates import Why


class Sample(NamedTuple):
    """A measured value in the base unit of the metric; `metric` is a name of `GET /metricNames`."""

    metric: str
    number: float
    taken: datetime


@dataclass(frozen=True)
class HostReading:
    """The report of a host.

    `uptime` is in seconds. `databases` has the samples of each database; None if they were not polled.
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
