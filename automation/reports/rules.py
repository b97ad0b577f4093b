"""The values of a report, and which of its observations are the newest. Pure."""

from collections.abc import Collection, Mapping, Sequence
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

    `sample_count`: the number of measured values, of the host and its databases. `newest`: the time of the
    newest sample of each metric of the host itself; `moments`: these times, mostly a single time.

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
    sample_count: int = field(init=False)
    newest: Mapping[Metric, datetime] = field(init=False)
    moments: Collection[datetime] = field(init=False)

    def __post_init__(self) -> None:
        measured = (self.samples, *(self.databases or {}).values())
        count = sum(sum(map(len, samples.values())) for samples in measured)
        object.__setattr__(self, "sample_count", count)
        object.__setattr__(self, "newest", newest_moments(self.samples))
        object.__setattr__(self, "moments", frozenset(self.newest.values()))


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
    """The automation state of a process. `plan`: as it is stored, with the names of the API."""

    name: str
    hostname: str
    goal_version: int
    error: str | None = None
    plan: Mapping[str, Any] | None = None


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


HOLD = timedelta(seconds=60)
"""The longest time for which alerts about the hosts of an agent wait for other reports of the agent."""


def observation_time(observed: datetime | None, now: datetime) -> datetime:
    """Return when a report was observed: `now` if it does not say so, and never later than `now`.

    A time in the future comes from a clock that is ahead, so the time of arrival counts.
    """
    return now if observed is None or observed >= second_of(now) else observed


def is_newest(observed: datetime, known: datetime | None, now: datetime) -> bool:
    """Whether an observation is not older than the newest `known` observation.

    A `known` time in the future is ignored: it was stored while the clock of the database was ahead.
    """
    return known is None or known > now or second_of(observed) >= second_of(known)


def holds_at(waiting_since: datetime | None, now: datetime) -> bool:
    """Whether alerts about the hosts of an agent wait at `now`; its reports wait since `waiting_since`."""
    return waiting_since is not None and now - HOLD < waiting_since <= now


def newest_moments(samples: Samples) -> Mapping[Metric, datetime]:
    """Return the time of the newest sample of each metric."""
    return {
        metric: values[0][0] if len(values) == 1 else max(values)[0]
        for metric, values in samples.items()
        if values
    }


def known_moment(moment: datetime, now: datetime) -> datetime:
    """Return the moment of a sample in whole seconds and at most `now`: its clock can be ahead."""
    return second_of(min(moment, now))


def newest_numbers(given: Sequence[tuple[datetime, float]]) -> list[float]:
    """Return the numbers of the newest moment: a report can have several samples of a metric."""
    if len(given) == 1:
        return [given[0][1]]
    latest = max((second_of(moment) for moment, _ in given), default=None)
    return [number for moment, number in given if second_of(moment) == latest]


def is_within(moment: datetime, reported: datetime) -> bool:
    """Whether a sample can be stored with a report of this time; otherwise it is stored with its own time."""
    return -NEWEST <= second_of(reported) - second_of(moment) <= OLDEST


def second_of(moment: datetime) -> datetime:
    """Return the whole second of a moment."""
    return moment.replace(microsecond=0) if moment.microsecond else moment


def latest_of(moments: Collection[datetime], known: datetime | None, now: datetime) -> datetime | None:
    """Return the newest of the moments of samples and the `known` moment, which is ignored in the future."""
    usable = [known_moment(max(moments), now)] if moments else []
    if known is not None and known <= now:
        usable.append(known)
    return max(usable, default=None)
