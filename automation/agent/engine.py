"""What the agent needs of a kind of database: an engine finds the hosts, and asks each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, NamedTuple, Protocol

from automation.agent.addresses import Address
from automation.agent.rates import Why


class Sample(NamedTuple):
    """A measured value, in the base unit of the metric; `metric` is a name of `GET /metricNames`."""

    metric: str
    number: float
    taken: datetime


@dataclass(frozen=True)
class Reading:
    """What a report says of a host.

    `uptime` is in seconds. `databases` holds the samples of each database, and is None when they were not
    asked.
    """

    address: Address
    type_name: str
    reachable: bool
    version: str | None = None
    replica_set: str | None = None
    cluster: str | None = None
    shard: str | None = None
    uptime: int | None = None
    samples: Sequence[Sample] = ()
    databases: Mapping[str, Sequence[Sample]] | None = None


class Measured(Protocol):
    """What has samples: of the server, and of its databases when these were asked."""

    @property
    def samples(self) -> Sequence[Sample]:
        """Of the server."""

    @property
    def databases(self) -> Mapping[str, Sequence[Sample]] | None:
        """By database; None when they were not asked."""


def joined(
    earlier: Measured | None, later: Measured
) -> tuple[Sequence[Sample], Mapping[str, Sequence[Sample]] | None]:
    """The samples and databases of two answers of a server: a late one of the last round, and this one's."""
    if earlier is None:
        return later.samples, later.databases
    databases = earlier.databases if later.databases is None else later.databases
    return [*earlier.samples, *later.samples], databases


class Target(Protocol):
    """A host to ask, as its engine knows it."""

    @property
    def address(self) -> Address:
        """Where it listens."""

    def poll(self) -> Any:
        """Ask the host, in a thread of its own; the answer, whatever happens, is for the engine alone."""


class Engine(Protocol):
    """A kind of database. But for `Target.poll` and what `look` returns, one thread calls all of it."""

    @property
    def role(self) -> str:
        """The role that is wanting where a host refuses to be measured."""

    def targets(self) -> Sequence[Target]:
        """The hosts to ask in the round that begins."""

    def look(self, target: Any) -> Callable[[], Any] | None:
        """Let go of a host that another agent watches.

        Returns what asks it, as `Target.poll` does, for the hosts that it names; None where it names none.
        """

    def sets(self) -> Mapping[Address, str]:
        """For hosts that are in one, the name of their replica set: they are best watched by one agent."""

    def learn(self, target: Any, answer: Any) -> Sequence[Target]:
        """Take the answer of a host; return hosts that were not known, to be asked in the same round."""

    def readings(self) -> Sequence[Reading]:
        """What the answers since the last call say; each host stands there once."""

    def why_missing(self) -> Mapping[Address, Mapping[str, Why]]:
        """By host and metric: whether it was reported the last time, or why not."""

    def close(self) -> None:
        """Leave nothing running."""
