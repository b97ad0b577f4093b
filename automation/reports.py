"""What an agent reports, frozen: the form in which services take it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from automation.choices import AgentType, HostType
from automation.metrics import Metric
from events.types import EventType
from opsapi.hostport import host_and_port

Samples = Mapping[Metric, Sequence[tuple[datetime, float]]]
"""Per metric the samples, in the metric's base unit."""


@dataclass(frozen=True, slots=True)
class Address:
    """hostname:port; host names compare without regard to case."""

    hostname: str
    port: int

    @property
    def key(self) -> tuple[str, int]:
        """What makes two addresses the same host."""
        return self.hostname.lower(), self.port

    def __str__(self) -> str:
        """`hostname:port`, IPv6 in brackets."""
        return host_and_port(self.hostname, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """What is said of one host; `databases` None when the list was left out.

    `lease` is the one under which the host was asked, where its agent shares hosts with others.
    """

    address: Address
    type_name: HostType
    reachable: bool
    version: str | None = None
    replica_set_name: str | None = None
    cluster_name: str | None = None
    shard_name: str | None = None
    uptime_seconds: int | None = None
    databases: Mapping[str, Samples] | None = None
    samples: Samples
    lease: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """Something an agent saw happen."""

    event_type: EventType
    created: datetime | None = None
    hostname: str | None = None
    port: int | None = None
    replica_set_name: str | None = None
    cluster_name: str | None = None
    shard_name: str | None = None
    source_type_name: str | None = None
    database: str | None = None
    collection: str | None = None
    op_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """How far an automation agent has brought one process."""

    name: str
    hostname: str
    goal_version: int
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """Which hosts an agent can watch, and shares with other agents.

    `together` names for each host what it has in common with others that go to one agent, such as its replica
    set, or nothing. `instance` tells agents of one hostname apart. `metrics` is what becomes of the metrics
    of hosts, as JSON: `sets` of names of metrics by state, and `hosts` with the place of each host's set, by
    hostname:port. One that `stops` gives back all it holds.
    """

    instance: str
    interval: timedelta
    hosts: Sequence[Address]
    together: Sequence[str]
    metrics: Mapping[str, Any]
    stops: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report of one agent."""

    agent_type: AgentType
    hostname: str
    version: str
    hosts: Sequence[HostReport]
    events: Sequence[EventReport]
    processes: Sequence[ProcessReport] = ()
    leases: LeaseRequest | None = None

    @property
    def sample_count(self) -> int:
        """How many values were measured, of hosts and databases."""
        measured = [one for host in self.hosts for one in (host.samples, *(host.databases or {}).values())]
        return sum(len(taken) for samples in measured for taken in samples.values())
