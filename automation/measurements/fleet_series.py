"""Reading the measurements of many hosts over time, in buckets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from automation.choices import Tier
from automation.hosts.models import Host
from automation.measurements.blocks import microseconds, undisturbed, unpacked_blocks
from automation.measurements.days import DAY, READINGS
from automation.measurements.fleet_query import FleetQuery
from automation.measurements.old import OLD_ROWS_OF_HOSTS
from automation.measurements.packing import Column, Times
from automation.measurements.points import NO_POINTS, Points, aggregated, merged, points_of
from automation.measurements.query import span_of
from automation.measurements.rollups import Stored, stored_packings, unpacked_rollups
from automation.measurements.rules import METRICS, NUMBERS
from automation.measurements.sent_rows import read_rows
from automation.measurements.tiers import MINUTES
from automation.metrics import Metric
from automation.reports.rules import NEWEST, OLDEST
from opsapi.sql import fetch_rows

_HOST_DAYS_AT_ONCE: Final = 1_000
"""Maximum number of hosts times days whose values are in memory at a time."""
_SECOND = timedelta(seconds=1)
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)

_SOURCES = "SELECT id, host_id FROM automation_source WHERE host_id = ANY(%s) AND database = ''"
# OFFSET lets PostgreSQL convert each array once. {numbers} are places of the wanted metrics.
_ROWS = f"""
SELECT host_id,
       string_agg(timestamptz_send(reported) || int2send(report) || int2send(age)
                  || int4send(length(numbers)), ''::bytea),
       string_agg(numbers, ''::bytea)
  FROM (SELECT source.host_id, reading.reported, reading.report, reading.age,
               array_send({{numbers}}) AS numbers
          FROM automation_source AS source
          JOIN {READINGS} AS reading ON reading.source_id = source.id
         WHERE source.host_id = ANY(%(hosts)s) AND source.database = ''
           AND reading.reported >= %(since)s AND reading.reported < %(until)s
         UNION ALL {OLD_ROWS_OF_HOSTS}
        OFFSET 0) AS sent
 GROUP BY host_id
"""  # noqa: S608 - contains only our own names


@dataclass(frozen=True, slots=True)
class FleetSeries:
    """A metric of a host over time, or the aggregate of hosts, which has no host."""

    host: Host | None
    metric: Metric
    points: Points


def fleet_series(hosts: Sequence[Host], query: FleetQuery) -> Sequence[FleetSeries]:
    """Return the series of these hosts, in their order and the order of `Metric`.

    Metrics that the query names are included even without samples.
    """
    points = _points(hosts, query)
    metrics = query.metrics or [
        metric for metric in Metric if any((host.id, metric) in points for host in hosts)
    ]
    if query.aggregate is None:
        return [
            FleetSeries(host, metric, points.get((host.id, metric), NO_POINTS))
            for host in hosts
            for metric in metrics
            if query.metrics or (host.id, metric) in points
        ]
    return [
        FleetSeries(
            None,
            metric,
            aggregated([points.get((host.id, metric), NO_POINTS) for host in hosts], query.aggregate),
        )
        for metric in metrics
        if hosts
    ]


_Points = dict[tuple[str, Metric], Points]
"""The points of each host id and metric."""


def _points(hosts: Sequence[Host], query: FleetQuery) -> _Points:
    days = (query.end - query.start) // DAY + 1
    at_once = max(1, _HOST_DAYS_AT_ONCE // days)
    found: _Points = {}
    for start in range(0, len(hosts), at_once):
        found |= _points_of([host.id for host in hosts[start : start + at_once]], query)
    return found


def _points_of(host_ids: Sequence[str], query: FleetQuery) -> _Points:
    # The bounds include every report that can contain a wanted sample.
    since = query.start - min(NEWEST, query.start - _FIRST_MOMENT)
    until = query.end + min(OLDEST + _SECOND, _LAST_MOMENT - query.end)
    numbers = [NUMBERS[metric] for metric in query.metrics or Metric]
    sources: Mapping[int, str] = dict(fetch_rows(_SOURCES, [list(host_ids)]))
    span = span_of(query.granularity) // _SECOND
    first, last = (microseconds(moment) // 1_000_000 for moment in (query.start, query.end))

    def read(shown: Stored) -> _Points:
        parts: dict[tuple[str, Metric], list[Points]] = {}

        def take(host_id: str, times: Times, columns: Mapping[int, Column]) -> None:
            for number, column in columns.items():
                seconds = times.moments[column.places]
                wanted = (seconds >= first) & (seconds <= last)
                if wanted.any():
                    points = points_of(seconds[wanted], column.values[wanted], span)
                    parts.setdefault((host_id, METRICS[number]), []).append(points)

        for host_id, times, columns in _rows(host_ids, query.metrics, since, until):
            take(host_id, times, columns)
        packings, rollups = _read_from(shown, query.tier)
        for block in unpacked_blocks(packings, sources, numbers):
            take(sources[block.source], block.times, block.columns)
        for source, number, points in unpacked_rollups(rollups, sources, frozenset(numbers)):
            if len(inside := points.within(first, last)):
                parts.setdefault((sources[source], METRICS[number]), []).append(inside)
        return {series: merged(some, span) for series, some in parts.items()}

    return undisturbed(read, since, until, stored_packings)


def _read_from(shown: Stored, tier: Tier) -> tuple[list[tuple[date, int]], list[tuple[int, date, int]]]:
    """The packings to read as measured, and the rollups to read.

    Each packing is read once: in the longest buckets that are not longer than a bucket of the tier.
    """
    longest: dict[tuple[date, int], int] = {}
    for minutes, day, number in shown:
        if minutes <= MINUTES[tier]:
            longest[day, number] = max(minutes, longest.get((day, number), 0))
    return (
        [packing for packing, minutes in longest.items() if not minutes],
        [(minutes, *packing) for packing, minutes in longest.items() if minutes],
    )


def _rows(
    host_ids: Sequence[str], metrics: Sequence[Metric], since: datetime, until: datetime
) -> Iterator[tuple[str, Times, Mapping[int, Column]]]:
    """The rows of each host, and the columns of these metrics; without metrics, of all."""
    wanted = list(metrics or Metric)
    numbers = [NUMBERS[metric] for metric in wanted]
    # Each array has the wanted numbers only.
    array = (
        f"ARRAY[{','.join(f'reading.numbers[{number}]' for number in numbers)}]"
        if metrics
        else "reading.numbers"
    )
    parameters = {
        "hosts": list(host_ids),
        "since": since,
        "until": until,
        "metrics": [metric.value for metric in wanted],
        "places": list(range(1, len(wanted) + 1)) if metrics else numbers,
    }
    for host_id, heads, bodies in fetch_rows(_ROWS.format(numbers=array), parameters):
        times, columns = read_rows(bytes(heads), bytes(bodies))
        yield host_id, times, {numbers[place - 1]: column for place, column in columns.items()}
