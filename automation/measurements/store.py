"""Reading the measurements of hosts, report by report or over time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from automation.measurements.days import READINGS, spans_back
from automation.measurements.old import (
    OLD_SAMPLES_OF_DATABASE,
    OLD_SAMPLES_OF_HOST,
    old_measurements,
    old_newest,
)
from automation.measurements.query import SeriesQuery, span_of
from automation.measurements.rules import NUMBERS, MeasuredAt, samples_of
from automation.metrics import Metric
from automation.reports.rules import NEWEST, OLDEST, Samples
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject

# One index lookup for each host. DISTINCT ON would read all measurements of the span.
_NEWEST = f"""
SELECT source.host_id, reading.reported, reading.report, reading.age, reading.numbers
  FROM automation_source AS source
 CROSS JOIN LATERAL (SELECT reported, report
                       FROM {READINGS}
                      WHERE source_id = source.id AND reported >= %(since)s AND reported < %(until)s
                      ORDER BY reported DESC, report DESC
                      LIMIT 1) AS newest
  JOIN {READINGS} AS reading
    ON reading.source_id = source.id AND reading.reported = newest.reported AND reading.report = newest.report
 WHERE source.host_id = ANY(%(hosts)s) AND source.database = ''
   AND reading.reported >= %(since)s AND reading.reported < %(until)s
"""  # noqa: S608 - contains only our own names
_OF_REPORTS = f"""
SELECT source.host_id, reading.reported, reading.report, reading.age, reading.numbers
  FROM unnest(%(hosts)s::text[], %(reported)s::timestamptz[], %(reports)s::int[])
       AS given (host_id, reported, report)
  JOIN automation_source AS source ON source.host_id = given.host_id AND source.database = ''
  JOIN {READINGS} AS reading
    ON reading.source_id = source.id AND reading.reported = given.reported AND reading.report = given.report
 WHERE reading.reported BETWEEN %(first)s AND %(last)s
"""  # noqa: S608 - contains only our own names
# A sample that is ahead of its report counts from its report, as in `newest_moments`.
# The newest report of a host usually has the metric, so the search ends with it.
_OUTDATED = f"""
SELECT given.place
  FROM unnest(%(hosts)s::text[], %(numbers)s::int[], %(moments)s::timestamptz[])
       WITH ORDINALITY AS given (host_id, number, moment, place)
  JOIN automation_source AS source ON source.host_id = given.host_id AND source.database = ''
 CROSS JOIN LATERAL (
       SELECT FROM {READINGS} AS reading
        WHERE reading.source_id = source.id AND reading.numbers[given.number] IS NOT NULL
          AND reading.reported >= %(since)s AND reading.reported <= %(now)s
          AND reading.reported >= given.moment - %(ahead)s
          AND date_trunc('second', reading.reported) - greatest(reading.age, 0) * interval '1 second'
              > given.moment
        ORDER BY reading.reported DESC
        LIMIT 1) AS later
"""  # noqa: S608 - contains only our own names
Named = tuple[str, int | str]
"""A host id and the `measurementId` of its signal; signals of an earlier version have a number."""


def measurement_retention() -> timedelta | None:
    """OPSAPI_MEASUREMENT_RETENTION_DAYS as a duration; None to keep measurements for ever."""
    days: int = settings.OPSAPI_MEASUREMENT_RETENTION_DAYS
    return timedelta(days=days) if days else None


@dataclass(frozen=True, slots=True)
class MeasuredReport:
    """The samples of a host itself in a report."""

    at: MeasuredAt
    samples: Samples


def newest_measurements(
    host_ids: Iterable[str], *, since: datetime | None = None, until: datetime | None = None
) -> dict[str, MeasuredReport]:
    """Return the newest measurements of each host by host id, reported from `since` to before `until`.

    Hosts without measurements are left out. Reports that measured only databases of a host do not count.
    """
    missing = set(host_ids)
    # The old table first: a row that is moved meanwhile is then seen twice rather than not at all.
    old = {
        host_id: MeasuredReport(*report)
        for host_id, report in old_newest(missing, since=since, until=until).items()
    }
    found: dict[str, MeasuredReport] = {}
    for begin, end in spans_back(since, until) if missing else ():
        parameters = {"hosts": list(missing), "since": begin, "until": end}
        found |= {
            host_id: MeasuredReport(at, samples)
            for (host_id, at), samples in _read(_NEWEST, parameters).items()
        }
        missing -= found.keys()
        if not missing:
            break
    newer = {
        host_id for host_id, report in old.items() if host_id not in found or report.at > found[host_id].at
    }
    return found | {host_id: old[host_id] for host_id in newer}


def measurements_of_reports(named: Collection[Named]) -> dict[Named, Samples]:
    """Return the samples of hosts in reports; measurements that were deleted are left out."""
    found: dict[Named, Samples] = {}
    old = old_measurements([(host_id, name) for host_id, name in named if isinstance(name, int)])
    found.update({name: old[name] for name in named if name in old})
    places = {name: (name[0], MeasuredAt.read(name[1])) for name in named if isinstance(name[1], str)}
    if places:
        times = [at.reported for _, at in places.values()]
        parameters = {
            "hosts": [host_id for host_id, _ in places.values()],
            "reported": times,
            "reports": [at.report for _, at in places.values()],
            "first": min(times),
            "last": max(times),
        }
        read = _read(_OF_REPORTS, parameters)
        found |= {name: read[place] for name, place in places.items() if place in read}
    return found


SeriesMoment = tuple[str, Metric, datetime]
"""A host, a metric, and the time of a sample in whole seconds."""


def outdated_series(given: Sequence[SeriesMoment], now: datetime) -> Sequence[SeriesMoment]:
    """Return the given series of which a newer sample is stored. Samples after `now` do not count."""
    if not given:
        return []
    hosts, metrics, moments = zip(*given, strict=True)
    parameters = {
        "hosts": list(hosts),
        "numbers": [NUMBERS[metric] for metric in metrics],
        "moments": list(moments),
        "since": min(moments) - NEWEST,
        "ahead": NEWEST,
        "now": now,
    }
    return [given[place - 1] for (place,) in fetch_rows(_OUTDATED, parameters)]


def _read(statement: str, parameters: Mapping[str, Any]) -> dict[tuple[str, MeasuredAt], Samples]:
    found: dict[tuple[str, MeasuredAt], list[tuple[int, list[float | None]]]] = {}
    for host_id, reported, report, age, numbers in fetch_rows(statement, parameters):
        found.setdefault((host_id, MeasuredAt(reported, report)), []).append((age, numbers))
    return {(host_id, at): samples_of(at.reported, some) for (host_id, at), some in found.items()}


_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_SAMPLES = f"""
SELECT wanted.metric, date_trunc('second', reading.reported) - reading.age * interval '1 second',
       reading.numbers[wanted.number]
  FROM automation_source AS source
  JOIN {READINGS} AS reading ON reading.source_id = source.id
 CROSS JOIN unnest(%(metrics)s::text[], %(numbers)s::int[]) AS wanted (metric, number)
 WHERE source.host_id = %(host)s AND source.database = {{database}}
   AND reading.reported >= %(since)s AND reading.reported < %(until)s
   AND reading.numbers[wanted.number] IS NOT NULL
 UNION ALL {{old}}
"""  # noqa: S608 - contains only our own names
SAMPLES_OF_HOST = _SAMPLES.format(database="''", old=OLD_SAMPLES_OF_HOST)
"""Metric, moment and number of each sample of a host; its parameters are `sample_parameters`."""
_SAMPLES_OF_DATABASE = _SAMPLES.format(database="%(database)s", old=OLD_SAMPLES_OF_DATABASE)

# The mean is computed with numerics, because the sum of two large doubles can overflow. A mean too close to 0
# for a double is 0. PostgreSQL formats times much faster than Python.
_SERIES = """
SELECT metric, to_char(bucket AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
       CASE WHEN abs(mean) < 2.5e-324 THEN 0 ELSE mean::float8 END
  FROM (SELECT metric, date_bin(%(span)s, moment, '2000-01-01T00:00:00Z') AS bucket,
               avg(number::text::numeric) AS mean
          FROM ({samples}) AS taken (metric, moment, number)
         WHERE moment >= %(start)s::timestamptz
           AND moment < date_trunc('second', %(end)s::timestamptz) + interval '1 second'
         GROUP BY metric, bucket) AS series
 ORDER BY metric, bucket
"""
_OF_HOST = _SERIES.format(samples=SAMPLES_OF_HOST)
_OF_DATABASE = _SERIES.format(samples=_SAMPLES_OF_DATABASE)


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """A metric over time: (start of the bucket as wire text, mean) for each bucket with samples."""

    metric: Metric
    points: list[tuple[str, float]] = field(default_factory=list)


def measured_series(
    host_id: str, query: SeriesQuery, *, database: str | None = None
) -> Sequence[MetricSeries]:
    """Return the series of a host or of one of its databases, in the order of `Metric`.

    Metrics that the query names are included even without samples.
    """
    wanted = query.metrics or list(Metric)
    parameters = {
        **sample_parameters(host_id, wanted, query.start, query.end),
        "database": database,
        "span": span_of(query.granularity),
        "start": query.start,
        "end": query.end,
    }
    series = {metric.value: MetricSeries(metric) for metric in wanted}
    for metric, bucket, mean in fetch_rows(_OF_HOST if database is None else _OF_DATABASE, parameters):
        series[metric].points.append((bucket, mean))
    return [found for found in series.values() if found.points or query.metrics]


def sample_parameters(host_id: str, metrics: Sequence[Metric], start: datetime, end: datetime) -> JsonObject:
    """Return the parameters for the samples from `start` to `end`.

    The bounds include every report that can contain such a sample. They are plain values, so PostgreSQL
    opens no partition of another day.
    """
    return {
        "host": host_id,
        "metrics": [metric.value for metric in metrics],
        "numbers": [NUMBERS[metric] for metric in metrics],
        "since": start - min(NEWEST, start - _FIRST_MOMENT),
        "until": end + min(OLDEST + timedelta(seconds=1), _LAST_MOMENT - end),
    }
