"""Reading packed measurements: which days are packed, and the parts of their blocks.

A day is packed in a transaction that drops its rows and shows its blocks. If this transaction ends while a
reader has read the rows and not yet the blocks, the reader sees a reading twice. It never misses a reading.
A reader that cannot bear a reading twice uses `undisturbed`, or `hold_days` in a transaction of many reads.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

import numpy as np

from automation.measurements.days import READINGS
from automation.measurements.packing import (
    TIMES,
    Column,
    Doubles,
    Integers,
    Times,
    unpacked_column,
    unpacked_times,
)
from automation.measurements.rules import METRICS, MeasuredAt, samples_of
from automation.reports.rules import Samples
from opsapi.sql import execute, fetch_rows

S = TypeVar("S")
T = TypeVar("T")
Packings = frozenset[tuple[date, int]]
"""Days, each with the number of a packing."""

BLOCKS = "automation_packedreadings"
PACKINGS = "automation_packing"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_HOSTS_AT_ONCE = 50
"""The maximum number of hosts whose whole blocks are in memory at a time."""

_SHOWN = f"SELECT day, number FROM {PACKINGS} WHERE day BETWEEN %s AND %s"  # noqa: S608 - our own name
_LAST_DAY = f"SELECT max(day) FROM {PACKINGS}"  # noqa: S608 - our own name
_HOLD = f"LOCK TABLE ONLY {READINGS} IN ACCESS SHARE MODE"
_SOURCE = "SELECT id FROM automation_source WHERE host_id = %s AND database = %s"
# PostgreSQL reads a part without the rest of its block.
_PARTS = f"""
SELECT block.source_id, block.day, block.number, block.rows, wanted.metric,
       substring(block.block FROM coalesce(block.ends[place.number - 1], 0) + 1
                             FOR block.ends[place.number] - coalesce(block.ends[place.number - 1], 0))
  FROM unnest(%(days)s::date[], %(numbers)s::int[]) AS shown (day, number)
  JOIN {BLOCKS} AS block
    ON block.source_id = ANY(%(sources)s) AND block.day = shown.day AND block.number = shown.number
 CROSS JOIN unnest(%(metrics)s::int[]) AS wanted (metric)
 CROSS JOIN LATERAL array_position(block.metrics, wanted.metric::smallint) AS place (number)
 WHERE place.number IS NOT NULL
"""  # noqa: S608 - contains only our own names
_LATEST = f"""
WITH given AS (
    SELECT *
      FROM unnest(%(hosts)s::text[], %(firsts)s::date[], %(lasts)s::date[]) AS given (host_id, first, last)
)
SELECT given.host_id, block.day, block.rows,
       ARRAY(SELECT metric
               FROM unnest(block.metrics) WITH ORDINALITY AS part (metric, number)
              WHERE metric = ANY(%(metrics)s::int[])
              ORDER BY number),
       ARRAY(SELECT substring(block.block FROM coalesce(block.ends[number - 1], 0) + 1
                                          FOR block.ends[number] - coalesce(block.ends[number - 1], 0))
               FROM unnest(block.metrics) WITH ORDINALITY AS part (metric, number)
              WHERE metric = ANY(%(metrics)s::int[])
              ORDER BY number)
  FROM given
  JOIN automation_source AS source ON source.host_id = given.host_id AND source.database = ''
 CROSS JOIN LATERAL (SELECT day
                       FROM {BLOCKS} JOIN {PACKINGS} USING (day, number)
                      WHERE source_id = source.id AND day BETWEEN given.first AND given.last
                      ORDER BY day DESC
                      LIMIT 1) AS latest
  JOIN {BLOCKS} AS block ON block.source_id = source.id AND block.day = latest.day
  JOIN {PACKINGS} AS shown ON shown.day = block.day AND shown.number = block.number
"""  # noqa: S608 - contains only our own names


def packings(since: datetime, until: datetime) -> Packings:
    """The packings of the days (UTC) from that of `since` to that of `until`."""
    return frozenset(fetch_rows(_SHOWN, [day_of(since), day_of(until)]))


def undisturbed(
    read: Callable[[S], T],
    since: datetime,
    until: datetime,
    shown: Callable[[datetime, datetime], S] = packings,  # type: ignore[assignment]
) -> T:
    """Read with the packings of these days, again while a day is packed meanwhile."""
    known = shown(since, until)
    while True:
        found = read(known)
        if (after := shown(since, until)) == known:
            return found
        known = after


def hold_days() -> None:
    """Keep the days as they are until the transaction ends: packing or dropping a day gives up meanwhile."""
    execute(_HOLD)


def last_packed_day() -> date | None:
    """The last day that is packed."""
    [(day,)] = fetch_rows(_LAST_DAY)
    last: date | None = day
    return last


def source_of(host_id: str, database: str) -> int | None:
    """The source of a host, or of one of its databases."""
    return next((source for (source,) in fetch_rows(_SOURCE, [host_id, database])), None)


def day_of(moment: datetime) -> date:
    """The day in UTC."""
    return moment.astimezone(UTC).date()


def microseconds(moment: datetime) -> int:
    """The microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(number: int) -> datetime:
    """The time from microseconds since 1970."""
    return _EPOCH + number * _MICROSECOND


@dataclass(frozen=True, slots=True, eq=False)
class UnpackedBlock:
    """Readings of a source: the times of all, and the wanted columns by number of the metric."""

    source: int
    times: Times
    columns: Mapping[int, Column]


def unpacked_blocks(
    shown: Collection[tuple[date, int]], sources: Collection[int], metrics: Collection[int]
) -> Iterator[UnpackedBlock]:
    """Read these metrics of these sources in these packings, the earliest first."""
    if not shown or not sources:
        return
    parameters = {
        "days": [day for day, _ in shown],
        "numbers": [number for _, number in shown],
        "sources": list(sources),
        "metrics": [TIMES, *metrics],
    }
    blocks: dict[tuple[date, int, int], tuple[int, dict[int, bytes]]] = {}
    for source, day, number, rows, metric, part in fetch_rows(_PARTS, parameters):
        blocks.setdefault((day, number, source), (rows, {}))[1][metric] = bytes(part)
    for (_, _, source), (rows, parts) in sorted(blocks.items()):
        columns = {metric: unpacked_column(part, rows) for metric, part in parts.items() if metric != TIMES}
        if columns or not metrics:
            yield UnpackedBlock(source, unpacked_times(parts[TIMES]), columns)


def packed_newest(
    wanted: Mapping[str, date], metrics: Collection[int], *, since: datetime, until: datetime
) -> dict[str, tuple[MeasuredAt, Samples]]:
    """The newest packed report of each host from `since` to before `until`, in no day before that wanted.

    `metrics` are the numbers of the metrics of which samples are wanted.
    """
    found: dict[str, tuple[MeasuredAt, Samples]] = {}
    lasts = dict.fromkeys(wanted, day_of(until))
    while lasts:
        chosen = list(lasts)[:_HOSTS_AT_ONCE]
        parameters = {
            "hosts": chosen,
            "firsts": [wanted[host_id] for host_id in chosen],
            "lasts": [lasts[host_id] for host_id in chosen],
            "metrics": [TIMES, *metrics],
        }
        days: dict[str, date] = {}
        for host_id, day, rows, parts, octets in fetch_rows(_LATEST, parameters):
            days[host_id] = day
            block = _Parts(rows, dict(zip(parts, octets, strict=True)))
            times = unpacked_times(block.octets[TIMES])
            within = (times.reported >= microseconds(since)) & (times.reported < microseconds(until))
            if not within.any():
                continue
            newest = times.reported[within].max()
            report = times.reports[within & (times.reported == newest)].max()
            at = MeasuredAt(moment_of(int(newest)), int(report))
            if host_id not in found or at > found[host_id][0]:
                found[host_id] = (at, _samples(at, times, block))
        for host_id in chosen:
            if host_id in found or host_id not in days:
                del lasts[host_id]
            else:
                lasts[host_id] = days[host_id] - timedelta(days=1)
    return found


def packed_reports(places: Collection[tuple[str, MeasuredAt]]) -> dict[tuple[str, MeasuredAt], Samples]:
    """The samples of these packed reports of hosts."""
    found: dict[tuple[str, MeasuredAt], Samples] = {}
    days: dict[date, dict[str, list[MeasuredAt]]] = {}
    for host_id, at in places:
        days.setdefault(day_of(at.reported), {}).setdefault(host_id, []).append(at)
    for day, hosts in days.items():
        for start in range(0, len(hosts), _HOSTS_AT_ONCE):
            chosen = list(hosts)[start : start + _HOSTS_AT_ONCE]
            parameters = {
                "hosts": chosen,
                "firsts": [day] * len(chosen),
                "lasts": [day] * len(chosen),
                "metrics": [TIMES, *METRICS],
            }
            for host_id, _, rows, parts, octets in fetch_rows(_LATEST, parameters):
                block = _Parts(rows, dict(zip(parts, octets, strict=True)))
                times = unpacked_times(block.octets[TIMES])
                for at in hosts[host_id]:
                    if samples := _samples(at, times, block):
                        found[host_id, at] = samples
    return found


def packed_place(host_id: str, report: int) -> MeasuredAt | None:
    """The newest packed report of a host with this number."""
    source = source_of(host_id, "")
    shown = packings(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    newest = max(
        (
            int(block.times.reported[block.times.reports == report].max())
            for block in unpacked_blocks(shown, [source] if source is not None else [], [])
            if (block.times.reports == report).any()
        ),
        default=None,
    )
    return None if newest is None else MeasuredAt(moment_of(newest), report)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of a block by number of the metric, and the number of readings."""

    rows: int
    octets: Mapping[int, bytes]


def _samples(at: MeasuredAt, times: Times, block: _Parts) -> Samples:
    """The samples of a report in a block."""
    of_report = (times.reported == microseconds(at.reported)) & (times.reports == at.report)
    places = np.flatnonzero(of_report).tolist()
    readings: dict[int, list[float | None]] = {place: [None] * len(METRICS) for place in places}
    for metric, part in block.octets.items():
        if metric != TIMES and places:
            column = unpacked_column(part, block.rows)
            here = of_report[column.places]
            for place, value in zip(column.places[here].tolist(), column.values[here].tolist(), strict=True):
                readings[place][metric - 1] = value
    ages = times.ages.tolist()
    return samples_of(at.reported, [(ages[place], numbers) for place, numbers in readings.items()])


def within(
    block: UnpackedBlock, column: Column, since: datetime, until: datetime
) -> tuple[Integers, Integers, Integers, Doubles]:
    """Reported, report, age and value of the readings that were reported from `since` to before `until`."""
    reported = block.times.reported[column.places]
    chosen = (reported >= microseconds(since)) & (reported < microseconds(until))
    places = column.places[chosen]
    return reported[chosen], block.times.reports[places], block.times.ages[places], column.values[chosen]
