"""The query for measurements of many hosts: hosts, metrics, time range, buckets and aggregate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from automation.choices import Aggregate, Granularity, Tier
from automation.measurements.query import (
    END,
    METRIC,
    PERIOD,
    START,
    bucket_start,
    granularity_parameter,
    length_faults,
    metrics_of,
    range_faults,
    range_name,
    range_of,
    refuse,
    span_of,
)
from automation.measurements.tiers import Kept, chosen_tier, longest_kept
from automation.metrics import Metric
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID
from opsapi.api.errors import ApiError, BadField
from opsapi.api.query import Parameter, identifier_parameter, read_choice, read_identifier, read_name
from opsapi.ids import ID_PATTERN

MOST_POINTS: Final = 1_500
"""Limit for a series."""
MOST_SERIES: Final = 100
"""Limit for an answer without an aggregate: a series for each host and metric."""
MOST_AGGREGATED: Final = 1_000
"""The same for an answer with an aggregate, which has a series for each metric."""
MOST_UNNAMED: Final = 10
"""Limit of hosts in a query without metrics."""

_AGGREGATES = [aggregate.value for aggregate in Aggregate]
_LONGEST = MOST_POINTS * span_of(Granularity.P1D)

FLEET_PARAMETERS: Sequence[Parameter] = (
    Parameter(
        METRIC.name,
        METRIC.read,
        schema=METRIC.schema,
        description=f"{METRIC.description} Without it, the answer is limited to {MOST_UNNAMED} hosts.",
        repeatable=True,
        code=METRIC.code,
        allowed=METRIC.allowed,
    ),
    Parameter(
        "hostId",
        read_identifier,
        schema={"type": "string", "pattern": f"^{ID_PATTERN}$", "examples": [AN_ID]},
        description="Only this host. Repeatable. Default: all hosts of the project. At most "
        f"{MOST_SERIES} series, which are hosts times metrics; with an aggregate, it reads at most "
        f"{MOST_AGGREGATED}.",
        repeatable=True,
    ),
    Parameter(
        "replicaSetName",
        read_name,
        schema={"type": "string", "minLength": 1, "maxLength": 200, "examples": ["rs0"]},
        description="Only members of replica sets with this name.",
    ),
    identifier_parameter("clusterId", "Only hosts of this cluster.", examples=[AN_ID]),
    granularity_parameter(
        f"Length of a bucket. Default: the shortest with at most {MOST_POINTS} points a series. Longer if no "
        "such short buckets are kept any more. Buckets start at whole minutes, hours or days in UTC."
    ),
    PERIOD,
    START,
    END,
    Parameter(
        "aggregate",
        read_choice(_AGGREGATES),
        schema={"type": "string", "enum": _AGGREGATES},
        description="One series for each metric: the aggregate over the hosts that have values in a bucket. "
        "P95 is the 95th percentile, interpolated between the two nearest hosts.",
        code=ErrorCode.INVALID_ENUM_VALUE,
        allowed=_AGGREGATES,
    ),
)


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """Buckets from `start`, the start of a bucket, to `end`, inclusive; no metrics means all metrics.

    `host_ids` are the named hosts; none means all hosts of the project. No tier is read whose buckets are
    longer than the buckets of `tier`.
    """

    granularity: Granularity
    start: datetime
    end: datetime
    metrics: Sequence[Metric] = ()
    host_ids: Sequence[str] = ()
    replica_set_name: str | None = None
    cluster_id: str | None = None
    aggregate: Aggregate | None = None
    tier: Tier = Tier.RAW


def read_fleet_query(query: Mapping[str, Any], *, now: datetime, kept: Kept) -> FleetQuery:
    """Combine the checked parameters.

    Raises: ApiError: with every missing or conflicting parameter in `badFields`.
    """
    refuse([*_too_many_metrics(query), *range_faults(query)])
    end, length = range_of(query, now=now)
    refuse([*length_faults(query, length, longest_kept(kept)), *_too_long(query, length)][:1])
    fitting = [granularity for granularity in Granularity if length <= MOST_POINTS * span_of(granularity)]
    refuse(list(_too_fine(query, fitting)))
    asked = Granularity(query["granularity"] or fitting[0])
    tier, granularity = chosen_tier(asked, end - length, now=now, kept=kept)
    return FleetQuery(
        granularity=granularity,
        tier=tier,
        start=_first_bucket(end, length, span_of(granularity)),
        end=end,
        metrics=metrics_of(query),
        host_ids=list(dict.fromkeys(query["hostId"])),
        replica_set_name=query["replicaSetName"],
        cluster_id=query["clusterId"],
        aggregate=None if query["aggregate"] is None else Aggregate(query["aggregate"]),
    )


def most_hosts(query: FleetQuery) -> int:
    """The maximum number of hosts of a query."""
    if not query.metrics:
        return MOST_UNNAMED
    most = MOST_SERIES if query.aggregate is None else MOST_AGGREGATED
    return most // len(query.metrics)


def too_many_hosts(query: FleetQuery) -> ApiError:
    """The refusal of a query for more hosts."""
    metrics = f"{len(query.metrics)} metrics" if query.metrics else "all metrics"
    message = (
        f"must choose at most {most_hosts(query)} hosts with {metrics}: name fewer metrics, or choose hosts "
        "with hostId, replicaSetName or clusterId"
    )
    return ApiError.of_field("hostId", ErrorCode.INVALID_QUERY_PARAMETER, message)


def too_many_series(hosts: int, series: int) -> ApiError:
    """The refusal of a query without metrics."""
    message = f"is required: {hosts} hosts have {series} series, and an answer has at most {MOST_SERIES}"
    return ApiError.of_field("m", ErrorCode.INVALID_QUERY_PARAMETER, message)


def _too_many_metrics(query: Mapping[str, Any]) -> Iterator[BadField]:
    if len(metrics_of(query)) > MOST_SERIES:
        message = f"must name at most {MOST_SERIES} metrics"
        yield BadField("m", ErrorCode.INVALID_QUERY_PARAMETER, message)


def _too_long(query: Mapping[str, Any], length: timedelta) -> Iterator[BadField]:
    if length > _LONGEST:
        message = f"asks for more than {_LONGEST.days} days"
        yield BadField(range_name(query), ErrorCode.INVALID_QUERY_PARAMETER, message)


def _too_fine(query: Mapping[str, Any], fitting: Sequence[Granularity]) -> Iterator[BadField]:
    if query["granularity"] is not None and query["granularity"] not in fitting:
        message = f"needs more than {MOST_POINTS} points a series for this time range"
        allowed = [granularity.value for granularity in fitting]
        yield BadField("granularity", ErrorCode.INVALID_QUERY_PARAMETER, message, allowed)


def _first_bucket(end: datetime, length: timedelta, span: timedelta) -> datetime:
    """The start of the first bucket. If there is one too many, the first one is left out: it is not whole."""
    first = bucket_start(end - length, span)
    return first + span if (bucket_start(end, span) - first) // span >= MOST_POINTS else first
