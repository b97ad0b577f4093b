"""The recorded values of one metric of many hosts, in the order of reports: a day, then a part of it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from automation.hosts.models import Host
from automation.measurements.days import DAY, READINGS, begin_of
from automation.measurements.models import Measurement, Source
from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject

HOUR = timedelta(hours=1)
MOST_ROWS: Final = 50_000
"""The most rows of a read of hosts that report once a minute."""

_BEYOND = f"""
SELECT source_id
  FROM {READINGS}
 WHERE source_id = ANY(%(sources)s) AND reported >= %(since)s AND reported < %(until)s
   AND numbers[%(number)s] {{comparison}} %(level)s
 GROUP BY source_id
"""  # noqa: S608 - contains only our own names
_ABOVE, _BELOW = _BEYOND.format(comparison=">="), _BEYOND.format(comparison="<=")
# A report can have several values of different age, so it and the next report are always read.
_CROSSING = f"""
SELECT reported, report, source_id, age, value
  FROM (SELECT *, lag(value) OVER ordered AS before, lag(size) OVER ordered AS size_before
          FROM (SELECT source_id, reported, report, age, numbers[%(number)s] AS value,
                       count(*) OVER (PARTITION BY source_id, reported, report) AS size
                  FROM {READINGS}
                 WHERE source_id = ANY(%(sources)s) AND reported >= %(since)s AND reported < %(until)s
                   AND numbers[%(number)s] IS NOT NULL) AS sized
        WINDOW ordered AS (PARTITION BY source_id ORDER BY reported, report, age DESC)) AS compared
 WHERE before IS NULL OR size > 1 OR size_before > 1
    OR (value > %(level)s) <> (before > %(level)s) OR (value < %(level)s) <> (before < %(level)s)
 ORDER BY reported, report, source_id
"""  # noqa: S608 - contains only our own names
# OFFSET keeps PostgreSQL from planning a scan of all readings.
_WITHIN = f"""
SELECT given.place, reading.reported, reading.report, reading.age, reading.value
  FROM unnest(%(sources)s::int[], %(since)s::timestamptz[], %(until)s::timestamptz[])
       WITH ORDINALITY AS given (source_id, since, until, place)
 CROSS JOIN LATERAL (SELECT reported, report, age, numbers[%(number)s] AS value
                       FROM {READINGS}
                      WHERE source_id = given.source_id
                        AND reported > given.since AND reported <= given.until
                        AND reported > %(first)s AND reported <= %(last)s
                     OFFSET 0) AS reading
 WHERE reading.value IS NOT NULL
 LIMIT %(most)s
"""  # noqa: S608 - contains only our own names
_LAST = f"""
SELECT reading.reported, reading.report, reading.source_id, reading.age, reading.numbers[%(number)s]
  FROM unnest(%(sources)s::int[]) AS given (source_id)
 CROSS JOIN LATERAL (SELECT reported, report
                       FROM {READINGS}
                      WHERE source_id = given.source_id AND numbers[%(number)s] IS NOT NULL
                        AND reported >= %(since)s AND reported < %(until)s
                      ORDER BY reported DESC, report DESC
                      LIMIT 1) AS last
  JOIN {READINGS} AS reading
    ON reading.source_id = given.source_id AND reading.reported = last.reported
   AND reading.report = last.report AND reading.numbers[%(number)s] IS NOT NULL
 WHERE reading.reported >= %(since)s AND reading.reported < %(until)s
 ORDER BY reading.reported, reading.report, reading.source_id
"""  # noqa: S608 - contains only our own names


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A time range of a source; `since` is exclusive, `until` inclusive."""

    source: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ReportedValues:
    """The newest value of a metric that one report has of a source; several if they have the same time."""

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


def parts_between(start: datetime, end: datetime, hosts: int) -> Iterator[tuple[datetime, datetime]]:
    """Split a time range into half-open ranges of at most an hour, and of a minute for so many hosts."""
    length = min(HOUR, timedelta(minutes=max(1, MOST_ROWS // max(1, hosts))))
    while start < end:
        until = min(end, start + length)
        yield start, until
        start = until


def sources_beyond(
    sources: Collection[int], metric: Metric, level: float, since: datetime, until: datetime, *, above: bool
) -> list[int]:
    """The sources with a value at or above a level, or else at or below it.

    From `since` to before `until` on one UTC day.
    """
    parameters = {**_parameters(sources, metric, since, until), "level": level}
    return _sources(_ABOVE if above else _BELOW, parameters)


def _sources(statement: str, parameters: JsonObject) -> list[int]:
    if not parameters["sources"]:
        return []
    return [source for (source,) in fetch_rows(statement, parameters)]


def crossing_values(
    sources: Collection[int], metric: Metric, level: float, since: datetime, until: datetime
) -> list[ReportedValues]:
    """The values in the reports from `since` to before `until`, on one UTC day, in order of time.

    Leaves out a report whose only value is on the same side of the level as the only value of the report
    before it. The first report of each source is always there.
    """
    parameters = {**_parameters(sources, metric, since, until), "level": level}
    return _read(_CROSSING, parameters)


def last_values(
    sources: Collection[int], metric: Metric, since: datetime, until: datetime
) -> list[ReportedValues]:
    """The values in the last report of each source that has any, from `since` to before `until`."""
    return _read(_LAST, _parameters(sources, metric, since, until)) if sources else []


def values_within(
    spans: Sequence[SourceSpan], metric: Metric, *, most: int
) -> list[list[ReportedValues]] | None:
    """The values in the reports of each span, in order of time; None if there are more than `most`."""
    if not spans:
        return []
    parameters: JsonObject = {
        "first": min(span.since for span in spans),
        "last": max(span.until for span in spans),
        "sources": [span.source for span in spans],
        "since": [span.since for span in spans],
        "until": [span.until for span in spans],
        "number": NUMBERS[metric],
        "most": most + 1,
    }
    within = sorted(fetch_rows(_WITHIN, parameters), key=lambda row: row[:3])
    if len(within) > most:
        return None
    found: list[list[ReportedValues]] = [[] for _ in spans]
    for (place, reported, _), same in groupby(within, key=lambda row: row[:3]):
        values = ReportedValues(spans[place - 1].source, reported, _newest(same))
        found[place - 1].append(values)
    return found


def _read(statement: str, parameters: JsonObject) -> list[ReportedValues]:
    return _by_report(fetch_rows(statement, parameters))


def _parameters(sources: Collection[int], metric: Metric, since: datetime, until: datetime) -> JsonObject:
    return {"sources": list(sources), "number": NUMBERS[metric], "since": since, "until": until}


def _by_report(rows: Iterable[tuple[datetime, int, int, int, float]]) -> list[ReportedValues]:
    return [
        ReportedValues(source, reported, _newest(same))
        for (reported, _, source), same in groupby(rows, key=lambda row: row[:3])
    ]


def _newest(rows: Iterable[tuple[Any, ...]]) -> list[float]:
    """The values of the rows of a report with the least age. Age and value are the last columns of a row."""
    given = [row[-2:] for row in rows]
    least = min(age for age, _ in given)
    return [value for age, value in given if age == least]
