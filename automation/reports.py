"""A report of an agent in the immutable form that services accept. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from automation.addresses import Address
from automation.choices import AgentType, HostType
from automation.metrics import Engine, Metric
from events.types import EventType

OLDEST = timedelta(hours=1)
NEWEST = timedelta(minutes=5)
"""Maximum age of a sample in a report, and how far it can be in the future."""
LATEST = timedelta(days=1)
"""Maximum age of a report that says when it was observed, and of its samples."""

Samples = Mapping[Metric, Sequence[tuple[datetime, float]]]
"""Samples by metric, in the base unit of the metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """The report of a host; `databases` is None if the list was left out.

    `engine` is the engine that the agent names; `engine_of` also reads it from the metrics.
    `lease` is the lease under which the host was polled, if the agent shares hosts. `problem` is why the host
    could not be measured although it is reachable.
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
    samples: Samples = field(default_factory=dict)
    lease: str | None = None
    engine: Engine | None = None
    problem: str | None = None

    @property
    def sample_count(self) -> int:
        """The number of measured values, of the host and its databases."""
        measured = (self.samples, *(self.databases or {}).values())
        return sum(len(series) for samples in measured for series in samples.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReport:
    """An event that an agent observed."""

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
    """The automation state of a process."""

    name: str
    hostname: str
    goal_version: int
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """The hosts that an agent can watch and shares with other agents.

    `instance` distinguishes agents with the same hostname. `together` has a text for each host, such as its
    replica set: hosts with the same text go to one agent; an empty text means nothing. `metrics` is the
    metric coverage as JSON: `sets` of metric names by state, and `hosts`, the index of each host's set by
    hostname:port. A request with `stops` gives back all leases.
    """

    instance: str
    interval: timedelta
    hosts: Sequence[Address]
    together: Sequence[str]
    metrics: Mapping[str, Any]
    stops: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report of an agent. `labels` are of all its hosts; None leaves their labels unchanged.

    `observed`: when the agent observed it; None if the report does not say so. `waiting`: how many reports
    of the agent wait on its disk; None if the report does not say so. `update_problem`: why the agent did not
    update itself, empty if nothing prevents it; None if the report does not say so.

    `demonstration`: the report belongs to the demonstration. No agent can say so.
    """

    agent_type: AgentType
    hostname: str
    version: str
    hosts: Sequence[HostReport]
    events: Sequence[EventReport]
    processes: Sequence[ProcessReport] = ()
    leases: LeaseRequest | None = None
    labels: Mapping[str, str] | None = None
    demonstration: bool = False
    observed: datetime | None = None
    waiting: int | None = None
    update_problem: str | None = None

    @property
    def sample_count(self) -> int:
        """The number of measured values, of hosts and databases."""
        return sum(host.sample_count for host in self.hosts)
