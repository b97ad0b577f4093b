"""The query for measurements: time range and buckets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from automation.choices import Granularity
from automation.metrics import Metric
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.api.query import Parameter, read_choice
from opsapi.clock import parse_time

_ISO_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,6})W|(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?)?)",
    re.ASCII,
)
_FIRST_BUCKET = datetime(2000, 1, 1, tzinfo=UTC)
_SPANS = {
    Granularity.PT1M: timedelta(minutes=1),
    Granularity.PT5M: timedelta(minutes=5),
    Granularity.PT1H: timedelta(hours=1),
    Granularity.P1D: timedelta(days=1),
}
MOST_POINTS = 5_000
"""Limit for a metric in an answer."""
GRANULARITIES = [granularity.value for granularity in Granularity]
_METRICS = [metric.value for metric in Metric]
_LATER_NAMES = {"OPLOG_REPLICATION_LAG_TIME": Metric.OPLOG_SLAVE_LAG_MASTER_TIME.value}
"""Other client names for metrics; answers use our names."""


def read_duration(text: str) -> timedelta:
    """Parse an ISO 8601 duration of weeks, or of days, hours, minutes and seconds, longer than zero.

    Years and months are rejected, because their length varies.

    Raises: ValueError: not such a duration.
    """
    found = _ISO_DURATION.fullmatch(text)
    parts = {name: int(number) for name, number in found.groupdict().items() if number} if found else {}
    duration = timedelta(**parts)
    if not duration:
        raise ValueError("must be an ISO 8601 duration of weeks, days, hours, minutes, seconds, such as PT1H")
    return duration


def span_of(granularity: Granularity) -> timedelta:
    """The length of a bucket."""
    return _SPANS[granularity]


def bucket_start(moment: datetime, span: timedelta) -> datetime:
    """The start of the bucket that contains the moment: buckets of a day start at midnight UTC, and so on."""
    return moment - (moment - _FIRST_BUCKET) % span


_read_metric = read_choice(_METRICS)


def _read_moment(text: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError:
        raise ValueError("must be an ISO 8601 date-time, such as 2026-11-21T07:26:14Z") from None


PERIOD = Parameter(
    "period", read_duration, description="ISO 8601 duration that ends now. Alternative to start."
)
START = Parameter("start", _read_moment, description="ISO 8601. Alternative to period.")
END = Parameter("end", _read_moment, description="ISO 8601, inclusive. Only with start. Default: now.")
METRIC = Parameter(
    "m",
    lambda text: _read_metric(_LATER_NAMES.get(text, text)),
    schema={"type": "string", "enum": [*_METRICS, *_LATER_NAMES]},
    description="Metric. Repeatable. Default: all measured metrics. OPLOG_REPLICATION_LAG_TIME is "
    "an alias of OPLOG_SLAVE_LAG_MASTER_TIME.",
    repeatable=True,
    code=ErrorCode.INVALID_METRIC_NAME,
    allowed=_METRICS,
)


def granularity_parameter(description: str) -> Parameter:
    """The length of a bucket."""
    return Parameter(
        "granularity",
        read_choice(GRANULARITIES),
        schema={"type": "string", "enum": GRANULARITIES},
        description=description,
        code=ErrorCode.INVALID_ENUM_VALUE,
        allowed=GRANULARITIES,
    )


PARAMETERS: Sequence[Parameter] = (
    granularity_parameter(
        "Required. Length of a bucket. Buckets start at whole minutes, hours or days in UTC."
    ),
    PERIOD,
    START,
    END,
    METRIC,
)


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """Buckets from `start`, the start of a bucket, to `end`, inclusive; no metrics means all metrics."""

    granularity: Granularity
    start: datetime
    end: datetime
    metrics: Sequence[Metric] = ()


def read_series_query(query: Mapping[str, Any], *, now: datetime, retention: timedelta | None) -> SeriesQuery:
    """Combine the checked parameters.

    Raises: ApiError: with every missing or conflicting parameter in `badFields`.
    """
    refuse([*_missing_granularity(query), *range_faults(query)])
    span = span_of(Granularity(query["granularity"]))
    end, length = range_of(query, now=now)
    refuse([*_too_many_points(query, length, span), *length_faults(query, length, retention)][:1])
    return SeriesQuery(
        granularity=Granularity(query["granularity"]),
        start=bucket_start(end - length, span),
        end=end,
        metrics=metrics_of(query),
    )


def metrics_of(query: Mapping[str, Any]) -> list[Metric]:
    """The named metrics, each once, in the order of `Metric`."""
    return [metric for metric in Metric if metric.value in query["m"]]


def range_of(query: Mapping[str, Any], *, now: datetime) -> tuple[datetime, timedelta]:
    """The end and the length of the time range."""
    end = query["end"] or now
    return end, query["period"] or end - query["start"]


def range_name(query: Mapping[str, Any]) -> str:
    """The parameter that says the length of the time range."""
    return "period" if query["period"] else "start"


def range_faults(query: Mapping[str, Any]) -> Iterator[BadField]:
    """Missing and conflicting parameters of the time range."""
    if query["period"] is None and query["start"] is None:
        name = "period" if query["end"] is None else "start"
        yield BadField(name, ErrorCode.MISSING_QUERY_PARAMETER, "is required: send either period or start")
    if query["period"] is not None:
        for name in ("start", "end"):
            if query[name] is not None:
                yield BadField(name, ErrorCode.INVALID_QUERY_PARAMETER, "is not allowed with period")


def length_faults(
    query: Mapping[str, Any], length: timedelta, retention: timedelta | None
) -> Iterator[BadField]:
    """Whether the range ends before its start, or is longer than the retention."""
    wrong = ErrorCode.INVALID_QUERY_PARAMETER
    if length < timedelta():
        yield BadField(range_name(query), wrong, "must not be after end; without end, not after now")
    elif retention is not None and length > retention:
        yield BadField(
            range_name(query), wrong, f"asks for more than the {retention.days} days measurements are kept"
        )


def refuse(bad: Sequence[BadField]) -> None:
    """Raises: ApiError: if there are faults."""
    if bad:
        raise ApiError.of_fields(bad)


def _missing_granularity(query: Mapping[str, Any]) -> Iterator[BadField]:
    if query["granularity"] is None:
        yield BadField("granularity", ErrorCode.MISSING_QUERY_PARAMETER, "is required", GRANULARITIES)


def _too_many_points(query: Mapping[str, Any], length: timedelta, span: timedelta) -> Iterator[BadField]:
    if length > MOST_POINTS * span:
        message = f"asks for more than {MOST_POINTS} buckets of that granularity"
        yield BadField(range_name(query), ErrorCode.INVALID_QUERY_PARAMETER, message)
