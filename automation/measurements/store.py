"""Reading the measurements of hosts, report by report or over time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from automation.measurements.blocks import (
    Packings,
    UnpackedBlock,
    day_of,
    last_packed_day,
    microseconds,
    packed_newest,
    packed_reports,
    packings,
    source_of,
    undisturbed,
    unpacked_blocks,
    within,
)
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
from automation.reports.rules import (
    NEWEST,
    OLDEST,
    Samples,
    known_moment,
    newest_moments,
    second_of,
)
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
# A sample that is ahead of its report counts from its report, as in `known_moment`.
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
          AND least(date_trunc('second', reading.reported) - reading.age * interval '1 second',
                    date_trunc('second', %(now)s::timestamptz)) > given.moment
        ORDER BY reading.reported DESC
        LIMIT 1) AS later
"""  # noqa: S608 - contains only our own names
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
Named = tuple[str, int | str]
"""A host id and the `measurementId` of its signal; signals of an earlier version have a number."""


@dataclass(frozen=True, slots=True)
class MeasuredReport:
    """The samples of a host itself in a report."""

    at: MeasuredAt
    samples: Samples


def newest_measurements(
    host_ids: Iterable[str],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    metrics: Collection[Metric] = NUMBERS,
) -> dict[str, MeasuredReport]:
    """Return the newest measurements of each host by host id, reported from `since` to before `until`.

    `metrics`: samples of other metrics may be left out, which makes packed measurements quick to read. Hosts
    without measurements are left out. Reports that measured only databases of a host do not count.
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
    found |= _packed_newest(missing, found, metrics, since=since, until=until)
    newer = {
        host_id for host_id, report in old.items() if host_id not in found or report.at > found[host_id].at
    }
    return found | {host_id: old[host_id] for host_id in newer}


def _packed_newest(
    missing: Collection[str],
    found: Mapping[str, MeasuredReport],
    metrics: Collection[Metric],
    *,
    since: datetime | None,
    until: datetime | None,
) -> dict[str, MeasuredReport]:
    """The packed reports of the missing hosts, and packed reports that are newer than the found ones."""
    last = last_packed_day() if missing or found else None
    if last is None:
        return {}
    first = since or _FIRST_MOMENT
    wanted = {host_id: day_of(first) for host_id in missing}
    wanted |= {
        host_id: day for host_id, report in found.items() if (day := day_of(report.at.reported)) <= last
    }
    numbers = [NUMBERS[metric] for metric in metrics]
    newest = packed_newest(wanted, numbers, since=first, until=until or _LAST_MOMENT)
    return {
        host_id: MeasuredReport(at, samples)
        for host_id, (at, samples) in newest.items()
        if host_id not in found or at > found[host_id].at
    }


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
        if packed := set(places.values()) - read.keys():
            read |= packed_reports(packed)
        found |= {name: read[place] for name, place in places.items() if place in read}
    return found


SeriesMoment = tuple[str, Metric, datetime]
"""A host, a metric, and the time of a sample in whole seconds."""


def outdated_series(given: Sequence[SeriesMoment], now: datetime) -> Sequence[SeriesMoment]:
    """Return the given series of which a newer sample is stored.

    A sample may be newer than its report says. Reports after `now` do not count, and a sample after `now` is
    of `now`.
    """
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
    outdated = {given[place - 1] for (place,) in fetch_rows(_OUTDATED, parameters)}
    if shown := packings(parameters["since"], now):
        outdated.update(
            series for series in given if series not in outdated and _is_outdated(series, shown, now)
        )
    return [series for series in given if series in outdated]


def outdated_metrics(
    reports: Mapping[str, MeasuredReport], measured: Mapping[str, datetime | None], now: datetime
) -> dict[str, frozenset[Metric]]:
    """Return the metrics in reports of hosts of which a newer sample is stored, by host id.

    `measured` has the time of the newest sample of each host: most reports have no older sample.
    """
    given: list[SeriesMoment] = []
    for host_id, report in reports.items():
        known = measured.get(host_id)
        if known is None or known > now:
            continue
        moments = {metric: known_moment(at, now) for metric, at in newest_moments(report.samples).items()}
        given += [(host_id, metric, at) for metric, at in moments.items() if at < second_of(known)]
    return metrics_by_host(outdated_series(given, now))


def metrics_by_host(series: Iterable[SeriesMoment]) -> dict[str, frozenset[Metric]]:
    """Return the metrics of the series by the id of their host."""
    metrics: dict[str, set[Metric]] = {}
    for host_id, metric, _ in series:
        metrics.setdefault(host_id, set()).add(metric)
    return {host_id: frozenset(some) for host_id, some in metrics.items()}


def _is_outdated(given: SeriesMoment, shown: Packings, now: datetime) -> bool:
    """Whether a newer sample of the series is packed."""
    host_id, metric, moment = given
    source = source_of(host_id, "")
    since = microseconds(moment - NEWEST)
    second, latest = (microseconds(time) // 1_000_000 for time in (moment, now))
    for block in unpacked_blocks(shown, [source] if source is not None else [], [NUMBERS[metric]]):
        for column in block.columns.values():
            reported, _, ages, _ = within(block, column, moment - NEWEST, now + _MICROSECOND)
            seconds = np.minimum(reported // 1_000_000 - ages, latest)
            if np.any((reported >= since) & (seconds > second)):
                return True
    return False


def _read(statement: str, parameters: Mapping[str, Any]) -> dict[tuple[str, MeasuredAt], Samples]:
    found: dict[tuple[str, MeasuredAt], list[tuple[int, list[float | None]]]] = {}
    for host_id, reported, report, age, numbers in fetch_rows(statement, parameters):
        found.setdefault((host_id, MeasuredAt(reported, report)), []).append((age, numbers))
    return {(host_id, at): samples_of(at.reported, some) for (host_id, at), some in found.items()}


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
 UNION ALL
SELECT (%(metrics)s::text[])[packed.place], to_timestamp(packed.second), packed.number
  FROM unnest(%(packed_places)s::int[], %(packed_seconds)s::bigint[], %(packed_numbers)s::float8[])
       AS packed (place, second, number)
"""  # noqa: S608 - contains only our own names
SAMPLES_OF_HOST = _SAMPLES.format(database="''", old=OLD_SAMPLES_OF_HOST)
"""Metric, moment and number of each sample of a host, for `read_samples`."""
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
    series = {metric.value: MetricSeries(metric) for metric in wanted}
    parameters = {"span": span_of(query.granularity), "start": query.start, "end": query.end}
    statement = _OF_HOST if database is None else _OF_DATABASE
    samples = WantedSamples(host_id, wanted, query.start, query.end, database)
    for metric, bucket, mean in read_samples(statement, samples, parameters):
        series[metric].points.append((bucket, mean))
    return [found for found in series.values() if found.points or query.metrics]


@dataclass(frozen=True, slots=True)
class WantedSamples:
    """The samples of a host, or of one of its databases, from `start` to `end`."""

    host_id: str
    metrics: Sequence[Metric]
    start: datetime
    end: datetime
    database: str | None = None


def read_samples(statement: str, wanted: WantedSamples, parameters: JsonObject) -> list[tuple[Any, ...]]:
    """Return the rows of a statement over these samples.

    The bounds include every report that can contain such a sample. They are plain values, so PostgreSQL
    opens no partition of another day.
    """
    since = wanted.start - min(NEWEST, wanted.start - _FIRST_MOMENT)
    until = wanted.end + min(OLDEST + timedelta(seconds=1), _LAST_MOMENT - wanted.end)
    numbers = [NUMBERS[metric] for metric in wanted.metrics]
    given = {
        **parameters,
        "host": wanted.host_id,
        "database": wanted.database,
        "metrics": [metric.value for metric in wanted.metrics],
        "numbers": numbers,
        "since": since,
        "until": until,
    }

    def read(shown: Packings) -> list[tuple[Any, ...]]:
        source = source_of(wanted.host_id, wanted.database or "") if shown else None
        blocks = unpacked_blocks(shown, [] if source is None else [source], numbers)
        return fetch_rows(statement, {**given, **_packed_samples(blocks, numbers, since, until)})

    return undisturbed(read, since, until)


def _packed_samples(
    blocks: Iterable[UnpackedBlock], numbers: Sequence[int], since: datetime, until: datetime
) -> dict[str, str]:
    """Unpacked samples as arrays: the place of the metric, the second and the number of each."""
    places: list[int] = []
    seconds: list[int] = []
    values: list[float] = []
    for block in blocks:
        for number, column in block.columns.items():
            reported, _, ages, taken = within(block, column, since, until)
            places += [numbers.index(number) + 1] * len(taken)
            seconds += (reported // 1_000_000 - ages).tolist()
            values += taken.tolist()
    arrays: Mapping[str, Sequence[float]] = {
        "packed_places": places,
        "packed_seconds": seconds,
        "packed_numbers": values,
    }
    # psycopg takes longer to write long arrays.
    return {name: f"{{{','.join(map(repr, array))}}}" for name, array in arrays.items()}
