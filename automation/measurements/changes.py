"""Writes measurements, and deletes them after their retention or with their host."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction

from automation.measurements.blocks import BLOCKS, PACKINGS, day_of
from automation.measurements.days import READINGS, day_drop, existing_days, partition_name
from automation.measurements.moving import old_measurements_trim
from automation.measurements.rollups import ROLLUPS, rollups_delete, rollups_trim, rollups_wanted
from automation.measurements.rules import MeasuredAt, reported_before, rows_of
from automation.measurements.store import metrics_by_host, outdated_series
from automation.measurements.tiers import kept_rollups, measurement_retention
from automation.metrics import Metric
from automation.reports.rules import (
    NEWEST,
    OLDEST,
    HostReport,
    is_within,
    known_moment,
    newest_numbers,
    second_of,
)
from opsapi.sql import execute, fetch_rows

MEASUREMENTS_AT_ONCE = 5_000
"""Maximum number of rows deleted in a transaction, so that transactions stay short."""
BLOCKS_AT_ONCE = 500
"""Maximum number of blocks deleted in a transaction. A block takes as much as some thirty rows."""

# Missing sources are added. The caller has locked the host, so no other process adds the same source. Rows in
# the order of the index leave its pages fuller: 38 bytes a row after a day instead of 44. The subselect hides
# the length of the arrays from PostgreSQL. Otherwise a plan for one host seems so much cheaper than a plan
# for ten that PostgreSQL makes a new plan for each report: 0.21 ms with 100,000 hosts, instead of 0.05 ms.
_WRITE = f"""
WITH given AS (
    SELECT *
      FROM unnest((SELECT %(hosts)s::text[]), %(databases)s::text[], %(seconds)s::int[], %(ages)s::int[],
                  %(numbers)s::text[])
           AS given (host_id, database, seconds, age, numbers)
), fresh AS (
    INSERT INTO automation_source (host_id, database)
    SELECT DISTINCT host_id, database
      FROM given
     WHERE NOT EXISTS (SELECT FROM automation_source AS known
                        WHERE known.host_id = given.host_id AND known.database = given.database)
    RETURNING id, host_id, database
), found AS (
    SELECT known.id, given.seconds, given.age, given.numbers
      FROM given JOIN automation_source AS known USING (host_id, database)
     UNION ALL
    SELECT fresh.id, given.seconds, given.age, given.numbers FROM given JOIN fresh USING (host_id, database)
), this AS MATERIALIZED (
    SELECT nextval('automation_reading_report') AS report
)
INSERT INTO {READINGS} (source_id, reported, report, age, numbers)
SELECT found.id,
       CASE found.seconds WHEN 0 THEN %(reported)s
                          ELSE date_trunc('second', %(reported)s) - found.seconds * interval '1 second' END,
       this.report, found.age, found.numbers::float8[]
  FROM found, this
 ORDER BY found.id
RETURNING report
"""  # noqa: S608 - contains only our own names

_DELETE = """
DELETE FROM {partition}
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM {partition} WHERE source_id = ANY(%s) LIMIT %s))
"""
_DELETE_BLOCKS = f"""
DELETE FROM {BLOCKS} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {BLOCKS} AS old WHERE {{condition}} LIMIT %s))
"""  # noqa: S608 - contains only our own names
_DELETE_BLOCKS_OF_SOURCES = _DELETE_BLOCKS.format(condition="source_id = ANY(%s)")
# A day with a partition is being packed.
_DELETE_OLD_BLOCKS = _DELETE_BLOCKS.format(
    condition=f"""
       day < %s AND day <> ALL(%s)
   AND NOT EXISTS (SELECT FROM {PACKINGS} AS known WHERE known.day = old.day AND known.number = old.number)
"""
)
_DELETE_OLD_PACKINGS = f"""
DELETE FROM {PACKINGS} AS packing
 WHERE day < %(day)s
   AND NOT EXISTS (SELECT FROM unnest(%(minutes)s::int[], %(firsts)s::date[]) AS wanted (minutes, first)
                    WHERE wanted.first <= packing.day
                      AND NOT EXISTS (SELECT FROM {ROLLUPS} AS known
                                       WHERE known.minutes = wanted.minutes AND known.day = packing.day
                                         AND known.number = packing.number))
"""  # noqa: S608 - contains only our own names
_IS_UNUSED = f"""
       source.database <> ''
   AND NOT EXISTS (SELECT FROM automation_database AS known
                    WHERE known.host_id = source.host_id AND known.name = source.database)
   AND NOT EXISTS (SELECT FROM {READINGS} AS reading WHERE reading.source_id = source.id)
   AND NOT EXISTS (SELECT FROM {BLOCKS} AS block WHERE block.source_id = source.id)
"""  # noqa: S608 - contains only our own names
# While the host is locked, no report uses its sources. A report may have ended just before, so the DELETE
# checks again.
_LOCK_UNUSED = f"""
SELECT source.id
  FROM automation_source AS source JOIN automation_host AS host ON host.id = source.host_id
 WHERE {_IS_UNUSED}
 LIMIT %s
   FOR UPDATE OF host SKIP LOCKED
"""  # noqa: S608 - contains only our own names
_DELETE_UNUSED = f"DELETE FROM automation_source AS source WHERE id = ANY(%s) AND {_IS_UNUSED}"  # noqa: S608 - as above


_ROW_OCTETS, _VALUE_OCTETS = 112, 8


class NoDayError(Exception):
    """A day has no partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMeasured:
    """The samples of a host itself in a report.

    `at` is the place of the readings. `decides`: whether any sample there is the newest of its series.
    `older` are the metrics there for which a newer sample is stored. `apart` has the numbers of the newest
    samples that are stored in another place. `newest` is the time of the newest sample.
    """

    at: MeasuredAt
    decides: bool
    older: frozenset[Metric]
    apart: Mapping[Metric, Sequence[float]]
    newest: datetime


@dataclass(frozen=True, slots=True)
class StoredMeasurements:
    """The measurements that a report stored, by host id, without hosts that were not measured themselves.

    `octets` are their bytes with the index (docs/performance.md, "Disk").
    """

    of: Mapping[str, HostMeasured] = field(default_factory=dict)
    octets: int = 0


def measurements_write(
    *,
    reports: Mapping[str, HostReport],
    newest: Mapping[str, datetime | None],
    observed: datetime,
    now: datetime,
) -> StoredMeasurements:
    """Store the measurements of a report. `reports` are by host id; the caller has locked the hosts.

    `newest` has the newest known sample of each host. `observed`: when the report was observed.

    Raises: NoDayError: a day has no partition; the transaction must be rolled back.
    """
    late = _late_series(reports, newest, now)
    older = _older_series(late, now)
    seconds = {
        host_id: _seconds_before(observed, known_moment(max(reports[host_id].moments), now))
        for host_id in older
    }
    rows = list(_rows(reports, observed, seconds))
    if not rows:
        return StoredMeasurements()
    names = ("hosts", "databases", "seconds", "ages", "numbers")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    try:
        with connection.cursor() as cursor:
            cursor.execute(_WRITE, {**columns, "reported": observed})
            (report,) = cursor.fetchone()
    except IntegrityError as error:
        if _has_no_day(error):
            raise NoDayError from None
        raise
    values = sum(report.sample_count for report in reports.values())
    of = {}
    for host_id, host in reports.items():
        if host.newest:
            reported = reported_before(observed, seconds.get(host_id, 0))
            of[host_id] = _measured(host, MeasuredAt(reported, report), older.get(host_id, frozenset()), now)
    return StoredMeasurements(of, len(rows) * _ROW_OCTETS + values * _VALUE_OCTETS)


_Series = Mapping[str, Mapping[Metric, datetime]]
"""The newest sample of each metric, by host id."""


def _late_series(
    reports: Mapping[str, HostReport], newest: Mapping[str, datetime | None], now: datetime
) -> _Series:
    """The series with samples that are older than the newest sample of their host."""
    found: dict[str, Mapping[Metric, datetime]] = {}
    for host_id, report in reports.items():
        known = newest.get(host_id)
        if known is None or known > now or not report.newest:
            continue
        newest_known = second_of(known)
        if second_of(min(report.moments)) < newest_known:
            seconds = {metric: known_moment(moment, now) for metric, moment in report.newest.items()}
            found[host_id] = {metric: second for metric, second in seconds.items() if second < newest_known}
    return found


def _older_series(late: _Series, now: datetime) -> Mapping[str, frozenset[Metric]]:
    """The metrics of each host for which a newer sample is stored."""
    given = [
        (host_id, metric, moment) for host_id, series in late.items() for metric, moment in series.items()
    ]
    return metrics_by_host(outdated_series(given, now))


def _measured(host: HostReport, at: MeasuredAt, older: frozenset[Metric], now: datetime) -> HostMeasured:
    """Where the samples of a host are stored, and which of them decide."""
    outside = {moment for moment in host.moments if not is_within(moment, at.reported)}
    apart = {
        metric: newest_numbers(host.samples[metric])
        for metric, moment in (host.newest.items() if outside else ())
        if moment in outside and metric not in older
    }
    return HostMeasured(
        at=at,
        decides=len(host.newest) > len(older) + len(apart),
        older=older | apart.keys(),
        apart=apart,
        newest=known_moment(max(host.moments), now),
    )


def _rows(
    reports: Mapping[str, HostReport], observed: datetime, seconds: Mapping[str, int]
) -> Iterator[tuple[str, str, int, int, str]]:
    """Host, database, seconds before `observed`, age and numbers of each row."""
    for host_id, report in reports.items():
        before = seconds.get(host_id, 0)
        reported = reported_before(observed, before)
        for database, samples in (("", report.samples), *(report.databases or {}).items()):
            for age, numbers in rows_of(samples, reported):
                if -NEWEST <= timedelta(seconds=age) <= OLDEST:
                    yield host_id, database, before, age, numbers
                else:  # Such a sample is stored with its own time, because readings have short ages.
                    yield host_id, database, before + age, 0, numbers


def _seconds_before(observed: datetime, moment: datetime) -> int:
    return max(0, int((second_of(observed) - moment).total_seconds()))


def _has_no_day(error: IntegrityError) -> bool:
    """Whether no partition was found, the only constraint of the table."""
    return getattr(getattr(error.__cause__, "diag", None), "table_name", None) == READINGS


def measurements_trim(*, now: datetime) -> bool:
    """Delete the oldest day, or some blocks, that are no longer kept as a whole.

    Measurements of which rollups are kept wait for their rollups. Return whether anything was deleted; then
    call it again.
    """
    if rollups_trim(now=now):
        return True
    kept = measurement_retention()
    if kept is None:
        return False
    if old_measurements_trim(before=now - kept, limit=MEASUREMENTS_AT_ONCE):
        return True
    unpacked = max([kept, *kept_rollups().values()])
    deleted = day_drop(before=now - unpacked) or _blocks_trim(before=now - kept, now=now)
    if deleted:
        _sources_trim()
    return deleted


@transaction.atomic
def _blocks_trim(*, before: datetime, now: datetime) -> bool:
    """Delete some blocks of days that ended before that time, and first hide them all from readers.

    The days have their rollups.
    """
    execute(_DELETE_OLD_PACKINGS, {"day": day_of(before), **rollups_wanted(now)})
    return execute(_DELETE_OLD_BLOCKS, [day_of(before), existing_days(), BLOCKS_AT_ONCE]) > 0


def readings_delete(*, sources: Collection[int], limit: int) -> int:
    """Delete at most `limit` readings of these sources, or else some of their blocks.

    Return the number of deleted rows.
    """
    deleted = 0
    for day in existing_days() if sources else ():
        if deleted < limit:
            statement = _DELETE.format(partition=partition_name(day))
            deleted += execute(statement, [list(sources), limit - deleted])
    if sources and not deleted:
        deleted = execute(_DELETE_BLOCKS_OF_SOURCES, [list(sources), min(limit, BLOCKS_AT_ONCE)])
    if sources and not deleted:
        deleted = rollups_delete(sources=sources, limit=limit)
    return deleted


def _sources_trim() -> None:
    """Delete the sources of former databases that have no readings left."""
    found = MEASUREMENTS_AT_ONCE
    while found == MEASUREMENTS_AT_ONCE:
        with transaction.atomic():
            unused = [source for (source,) in fetch_rows(_LOCK_UNUSED, [MEASUREMENTS_AT_ONCE])]
            execute(_DELETE_UNUSED, [unused])
            found = len(unused)
