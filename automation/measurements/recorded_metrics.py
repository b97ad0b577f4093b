"""The recorded values of one metric of many hosts, in the order of reports: a day, then a part of it.

Days that are kept in buckets only have the mean of each bucket, reported at its end.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any, Final

import numpy as np

from automation.hosts.models import Host
from automation.measurements.blocks import (
    day_of,
    hold_days,
    microseconds,
    moment_of,
    undisturbed,
    unpacked_blocks,
    within,
)
from automation.measurements.days import DAY, READINGS, begin_of
from automation.measurements.models import Measurement, Source
from automation.measurements.packing import Doubles, Integers
from automation.measurements.points import Points
from automation.measurements.rollups import Stored, finest_packings, unpacked_rollups
from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
_MICROSECOND = timedelta(microseconds=1)
_SOURCES_AT_ONCE = 200
"""The maximum number of blocks whose parts are in memory at a time."""
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
_VALUES = f"""
SELECT reported, report, source_id, age, numbers[%(number)s]
  FROM {READINGS}
 WHERE source_id = ANY(%(sources)s) AND reported >= %(since)s AND reported < %(until)s
   AND numbers[%(number)s] IS NOT NULL
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
_COUNT_WITHIN = f"SELECT count(*) FROM ({_WITHIN}) AS within"  # noqa: S608 - built from constants
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


_Row = tuple[datetime, int, int, int, float]
"""Reported, report, source, age and value."""


@dataclass(frozen=True, slots=True, eq=False)
class _SourceValues:
    """The values of a metric of a source, in the order of reports, and in each report the oldest first."""

    source: int
    reported: Integers
    reports: Integers
    ages: Integers
    values: Doubles

    @classmethod
    def together(cls, source: int, parts: Sequence["_SourceValues"]) -> "_SourceValues":
        """The values of all parts of the source."""
        names = ("reported", "reports", "ages", "values")
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        reported, reports, ages, _ = columns
        order = np.lexsort((-ages.astype(np.int64), reports, reported))
        return cls(source, *(column[order] for column in columns))

    @classmethod
    def of_means(cls, source: int, points: Points, span: int) -> "_SourceValues":
        """The means of buckets of `span` seconds."""
        nothing = np.zeros(len(points), np.int16)
        return cls(source, (points.buckets + span) * 1_000_000 - 1, nothing, nothing, points.means)

    def part(self, chosen: Any) -> "_SourceValues":
        """The values that are chosen by an array of places or of whether each is chosen."""
        columns = (self.reported, self.reports, self.ages, self.values)
        return _SourceValues(self.source, *(column[chosen] for column in columns))

    def rows(self, chosen: Any) -> Iterator[_Row]:
        """The rows that are chosen by an array of places or of whether each is chosen."""
        columns = (self.reported, self.reports, self.ages, self.values)
        for reported, report, age, value in zip(
            *(column[chosen].tolist() for column in columns), strict=True
        ):
            yield moment_of(reported), report, self.source, age, value

    def crossing(self, level: float) -> Iterator[_Row]:
        """As `_CROSSING`."""
        begins = np.flatnonzero(
            np.append(True, (np.diff(self.reported) != 0) | (np.diff(self.reports.astype(np.int64)) != 0))
        )
        sizes = np.diff(np.append(begins, len(self.values)))
        alone = np.repeat(sizes, sizes) == 1
        above, below = self.values > level, self.values < level
        chosen = np.append(
            True, ~alone[1:] | ~alone[:-1] | (above[1:] != above[:-1]) | (below[1:] != below[:-1])
        )
        yield from self.rows(chosen)

    def last(self) -> Iterator[_Row]:
        """The values of the last report."""
        newest = self.reported == self.reported.max()
        yield from self.rows(newest & (self.reports == self.reports[newest].max()))

    def between(self, span: SourceSpan) -> Iterator[_Row]:
        """The values in the time range."""
        since, until = microseconds(span.since), microseconds(span.until)
        yield from self.rows((self.reported > since) & (self.reported <= until))


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


@dataclass(frozen=True, slots=True)
class RecordedMetric:
    """The values of a metric in a transaction, for hosts of a project. No day is packed while it lasts."""

    metric: Metric
    packings: Stored

    @classmethod
    def held(cls, metric: Metric, start: datetime, end: datetime) -> "RecordedMetric":
        """Until the transaction ends, packing a day gives up: no statement needs to look for new packings."""
        hold_days()
        return cls(metric, finest_packings(start, end))

    def parts_between(
        self, start: datetime, end: datetime, hosts: int
    ) -> Iterator[tuple[datetime, datetime]]:
        """Split a time range into half-open ranges of at most an hour, and of a minute for so many hosts.

        The range of a packed day stays whole: its blocks are read as a whole.
        """
        if self._packed_between(start, end - _MICROSECOND):
            yield start, end
            return
        length = min(HOUR, timedelta(minutes=max(1, MOST_ROWS // max(1, hosts))))
        while start < end:
            until = min(end, start + length)
            yield start, until
            start = until

    def sources_beyond(
        self, sources: Sequence[int], level: float, since: datetime, until: datetime, *, above: bool
    ) -> list[int]:
        """The sources with a value at or above a level, or else at or below it.

        From `since` to before `until` on one UTC day.
        """
        if not sources:
            return []
        parameters = {**_parameters(sources, self.metric, since, until), "level": level}
        beyond = {source for (source,) in fetch_rows(_ABOVE if above else _BELOW, parameters)}
        rest = [source for source in sources if source not in beyond]
        for readings in _packed(self._packed_between(since, until), rest, self.metric, since, until):
            if np.any(readings.values >= level if above else readings.values <= level):
                beyond.add(readings.source)
        return [source for source in sources if source in beyond]

    def crossing_values(
        self, sources: Sequence[int], level: float, since: datetime, until: datetime
    ) -> list[ReportedValues]:
        """The values in the reports from `since` to before `until`, on one UTC day, in order of time.

        Leaves out a report whose only value is on the same side of the level as the only value of the report
        before it. The first report of each source is always there.
        """
        parameters = {**_parameters(sources, self.metric, since, until), "level": level}
        packed = self._packed_between(since, until)
        if not packed:
            return _by_report(fetch_rows(_CROSSING, parameters))
        rows = fetch_rows(_VALUES, parameters)
        readings = _by_source(_packed(packed, sources, self.metric, since, until), rows)
        return _by_report(_in_order(row for values in readings for row in values.crossing(level)))

    def last_values(self, sources: Sequence[int], since: datetime, until: datetime) -> list[ReportedValues]:
        """The values in the last report of each source that has any, from `since` to before `until`."""
        if not sources:
            return []
        last = _by_report(fetch_rows(_LAST, _parameters(sources, self.metric, since, until)))
        newest = {values.source: values for values in last}
        packed = self._packed_between(since, until)
        for day in sorted({day for _, day, _ in packed}, reverse=True):
            rest = [
                source for source in sources if source not in newest or day_of(newest[source].reported) <= day
            ]
            of_day = [packing for packing in packed if packing[1] == day]
            blocks = _packed(of_day, rest, self.metric, since, until)
            rows = [row for of_block in blocks for row in of_block.last()]
            for values in _by_report(_in_order(rows)):
                if values.source not in newest or values.reported > newest[values.source].reported:
                    newest[values.source] = values
        return sorted(newest.values(), key=lambda values: (values.reported, values.source))

    @property
    def bucket_minutes(self) -> set[int]:
        """The lengths of the buckets of days that are kept in buckets only."""
        return {minutes for minutes, _, _ in self.packings if minutes}

    def _packed_between(self, since: datetime, until: datetime) -> Stored:
        return _of_days(self.packings, since, until)


def _of_days(stored: Stored, since: datetime, until: datetime) -> Stored:
    """The packings of the days (UTC) from that of `since` to that of `until`."""
    first, last = day_of(since), day_of(until)
    return frozenset(packing for packing in stored if first <= packing[1] <= last)


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
    first, last = parameters["first"], parameters["last"]
    lengths = sum((span.until - span.since for span in spans), timedelta())
    # With a report a minute there are too many, and to count rows takes half as long as to read them.
    if lengths > most * MINUTE and fetch_rows(_COUNT_WITHIN, parameters)[0][0] > most:
        return None

    def read(shown: Stored) -> list[tuple[int, datetime, int, int, float]]:
        rows = fetch_rows(_WITHIN, parameters)
        for place, span in enumerate(spans, 1) if shown else ():
            of_span = _of_days(shown, span.since, span.until)
            for readings in _packed(of_span, [span.source], metric, span.since, span.until + _MICROSECOND):
                rows += (
                    (place, reported, report, age, value)
                    for reported, report, _, age, value in readings.between(span)
                )
            if len(rows) > most:
                break
        return rows

    rows = undisturbed(read, first, last, finest_packings)
    if len(rows) > most:
        return None
    rows.sort(key=lambda row: row[:3])
    found: list[list[ReportedValues]] = [[] for _ in spans]
    for (place, reported, _), same in groupby(rows, key=lambda row: row[:3]):
        values = ReportedValues(spans[place - 1].source, reported, _newest(same))
        found[place - 1].append(values)
    return found


def _packed(
    shown: Collection[tuple[int, date, int]],
    sources: Sequence[int],
    metric: Metric,
    since: datetime,
    until: datetime,
) -> Iterator[_SourceValues]:
    """The values of each block, and the means of each bucket, from `since` to before `until`."""
    number = NUMBERS[metric]
    measured = [(day, place) for minutes, day, place in shown if not minutes]
    first, last = microseconds(since), microseconds(until)
    for start in range(0, len(sources) if shown else 0, _SOURCES_AT_ONCE):
        some = sources[start : start + _SOURCES_AT_ONCE]
        for block in unpacked_blocks(measured, some, [number]) if measured else ():
            values = _SourceValues(block.source, *within(block, block.columns[number], since, until))
            if len(values.values):
                yield values
        for length in sorted({minutes for minutes, _, _ in shown if minutes}):
            of_length = [packing for packing in shown if packing[0] == length]
            for source, _, points in unpacked_rollups(of_length, some, [number]):
                means = _SourceValues.of_means(source, points, length * 60)
                chosen = (means.reported >= first) & (means.reported < last)
                if chosen.any():
                    yield means.part(chosen)


def _by_source(packed: Iterable[_SourceValues], rows: Sequence[_Row]) -> Iterator[_SourceValues]:
    """The values of each source, from blocks and rows."""
    parts: dict[int, list[_SourceValues]] = defaultdict(list)
    for values in packed:
        parts[values.source].append(values)
    for source, same in groupby(sorted(rows, key=lambda row: row[2]), key=lambda row: row[2]):
        reported, reports, _, ages, values_ = zip(*same, strict=True)
        parts[source].append(
            _SourceValues(
                source,
                np.array([microseconds(moment) for moment in reported]),
                np.array(reports, np.int16),
                np.array(ages, np.int16),
                np.array(values_, np.float64),
            )
        )
    for source, some in parts.items():
        yield _SourceValues.together(source, some)


def _in_order(rows: Iterable[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: row[:3])


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
