"""The recorded values of one metric of many hosts, in the order of their reports: a day, then an hour."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from django.db import connection

from automation.days import DAY, READINGS, begin_of
from automation.metrics import Metric
from automation.models import Host, Measurement, Source
from automation.readings import NUMBERS
from opsapi.wire_json import JsonObject

HOUR = timedelta(hours=1)

_EXTREMES = f"""
SELECT source_id, min(numbers[%(number)s]), max(numbers[%(number)s]), max(reported)
  FROM {READINGS}
 WHERE source_id = ANY(%(sources)s) AND reported >= %(since)s AND reported < %(until)s
   AND numbers[%(number)s] IS NOT NULL
 GROUP BY source_id
"""  # noqa: S608 - contains only our own names
_VALUES = f"""
SELECT reported, report, source_id, numbers[%(number)s]
  FROM {READINGS}
 WHERE source_id = ANY(%(sources)s) AND reported >= %(since)s AND reported < %(until)s
   AND numbers[%(number)s] IS NOT NULL
 ORDER BY reported, report, source_id
"""  # noqa: S608 - contains only our own names
_LAST = f"""
SELECT reading.reported, reading.report, reading.source_id, reading.numbers[%(number)s]
  FROM unnest(%(sources)s::int[], %(times)s::timestamptz[]) AS given (source_id, reported)
  JOIN {READINGS} AS reading
    ON reading.source_id = given.source_id AND reading.reported = given.reported
 WHERE reading.reported BETWEEN %(first)s AND %(last)s AND reading.numbers[%(number)s] IS NOT NULL
 ORDER BY reading.reported, reading.report, reading.source_id
"""  # noqa: S608 - contains only our own names


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The lowest and highest value of a source in a time range, and the time of its last report."""

    lowest: float
    highest: float
    last: datetime


@dataclass(frozen=True, slots=True)
class ReportedValues:
    """The values of a metric that one report has of a source."""

    source: int
    reported: datetime
    values: list[float]


def sources_of_hosts(group_id: str) -> Mapping[int, Host]:
    """The hosts of a project that were measured themselves, by their source."""
    sources = Source.objects.filter(host__group=group_id, host__deleted=None, database="")
    return {source.id: source.host for source in sources.select_related("host").order_by("host_id")}


def has_old_measurements(group_id: str, since: datetime, until: datetime) -> bool:
    """Whether measurements of an earlier version from this time range are not moved yet."""
    old = Measurement.objects.filter(reported__gte=since, reported__lte=until, host__group=group_id)
    return old.exists()


def days_between(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Split a time range at midnight UTC into half-open ranges, each in one partition."""
    while start < end:
        until = min(end, begin_of(start.astimezone(UTC).date()) + DAY)
        yield start, until
        start = until


def hours_between(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Split a time range into half-open ranges of an hour."""
    while start < end:
        until = min(end, start + HOUR)
        yield start, until
        start = until


def value_ranges(
    sources: Collection[int], metric: Metric, since: datetime, until: datetime
) -> dict[int, ValueRange]:
    """The range of the values of each source reported from `since` to before `until`, on one UTC day."""
    parameters: JsonObject = {
        "sources": list(sources),
        "number": NUMBERS[metric],
        "since": since,
        "until": until,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EXTREMES, parameters)
        return {source: ValueRange(lowest, highest, last) for source, lowest, highest, last in cursor}


def reported_values(
    sources: Collection[int], metric: Metric, since: datetime, until: datetime
) -> list[ReportedValues]:
    """The values in each report from `since` to before `until`, on one UTC day, in order of time."""
    parameters: JsonObject = {
        "sources": list(sources),
        "number": NUMBERS[metric],
        "since": since,
        "until": until,
    }
    with connection.cursor() as cursor:
        cursor.execute(_VALUES, parameters)
        return _by_report(cursor.fetchall())


def values_at(times: Mapping[int, datetime], metric: Metric) -> list[ReportedValues]:
    """The values that each source has in its reports of one moment; `times` are the moments by source."""
    if not times:
        return []
    parameters: JsonObject = {
        "sources": list(times),
        "times": list(times.values()),
        "number": NUMBERS[metric],
        "first": min(times.values()),
        "last": max(times.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(_LAST, parameters)
        return _by_report(cursor.fetchall())


def _by_report(rows: Iterable[tuple[datetime, int, int, float]]) -> list[ReportedValues]:
    return [
        ReportedValues(source, reported, [value for *_, value in same])
        for (reported, _, source), same in groupby(rows, key=lambda row: row[:3])
    ]
