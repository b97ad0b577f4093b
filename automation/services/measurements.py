"""Writes measurements, and deletes them after their retention or with their host."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from automation.days import READINGS, existing_days, partition_name
from automation.readings import MeasuredAt, rows_of
from automation.reports import HostReport
from automation.selectors.measurements import measurement_retention
from automation.services.days import day_drop
from automation.services.old_measurements import old_measurements_trim
from opsapi.sql import execute, fetch_rows

MEASUREMENTS_AT_ONCE = 5_000
"""Maximum number of rows deleted in a transaction, so that transactions stay short."""

# Missing sources are added. The caller has locked the host, so no other process adds the same source. Rows in
# the order of the index leave its pages fuller: 38 bytes a row after a day instead of 44. The subselect hides
# the length of the arrays from PostgreSQL. Otherwise a plan for one host seems so much cheaper than a plan
# for ten that PostgreSQL makes a new plan for each report: 0.21 ms with 100,000 hosts, instead of 0.05 ms.
_WRITE = f"""
WITH given AS (
    SELECT *
      FROM unnest((SELECT %(hosts)s::text[]), %(databases)s::text[], %(ages)s::int[], %(numbers)s::text[])
           AS given (host_id, database, age, numbers)
), fresh AS (
    INSERT INTO automation_source (host_id, database)
    SELECT DISTINCT host_id, database
      FROM given
     WHERE NOT EXISTS (SELECT FROM automation_source AS known
                        WHERE known.host_id = given.host_id AND known.database = given.database)
    RETURNING id, host_id, database
), found AS (
    SELECT known.id, given.age, given.numbers
      FROM given JOIN automation_source AS known USING (host_id, database)
     UNION ALL
    SELECT fresh.id, given.age, given.numbers FROM given JOIN fresh USING (host_id, database)
), this AS MATERIALIZED (
    SELECT nextval('automation_reading_report') AS report
)
INSERT INTO {READINGS} (source_id, reported, report, age, numbers)
SELECT found.id, %(reported)s, this.report, found.age, found.numbers::float8[]
  FROM found, this
 ORDER BY found.id
RETURNING report
"""  # noqa: S608 - contains only our own names

_DELETE = """
DELETE FROM {partition}
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM {partition} WHERE source_id = ANY(%s) LIMIT %s))
"""
_IS_UNUSED = f"""
       source.database <> ''
   AND NOT EXISTS (SELECT FROM automation_database AS known
                    WHERE known.host_id = source.host_id AND known.name = source.database)
   AND NOT EXISTS (SELECT FROM {READINGS} AS reading WHERE reading.source_id = source.id)
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


@dataclass(frozen=True, slots=True)
class StoredMeasurements:
    """The measurements that a report stored.

    `at` is their place by host id, without hosts that were not measured themselves. `octets` are their bytes
    with the index (docs/performance.md, "Disk").
    """

    at: Mapping[str, MeasuredAt] = field(default_factory=dict)
    octets: int = 0


def measurements_write(*, reports: Mapping[str, HostReport], reported: datetime) -> StoredMeasurements:
    """Store the measurements of a report. `reports` are by host id; the caller has locked the hosts.

    Raises: NoDayError: the day has no partition; the transaction must be rolled back.
    """
    rows = list(_rows(reports, reported))
    if not rows:
        return StoredMeasurements()
    names = ("hosts", "databases", "ages", "numbers")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    try:
        with connection.cursor() as cursor:
            cursor.execute(_WRITE, {**columns, "reported": reported})
            (report,) = cursor.fetchone()
    except IntegrityError as error:
        if _has_no_day(error):
            raise NoDayError from None
        raise
    at = MeasuredAt(reported, report)
    values = sum(report.sample_count for report in reports.values())
    return StoredMeasurements(
        {host_id: at for host_id, database, *_ in rows if not database},
        len(rows) * _ROW_OCTETS + values * _VALUE_OCTETS,
    )


def _rows(reports: Mapping[str, HostReport], reported: datetime) -> Iterator[tuple[str, str, int, str]]:
    """Host, database, age and numbers of each row."""
    for host_id, report in reports.items():
        for database, samples in (("", report.samples), *(report.databases or {}).items()):
            for age, numbers in rows_of(samples, reported):
                yield host_id, database, age, numbers


def _has_no_day(error: IntegrityError) -> bool:
    """Whether no partition was found, the only constraint of the table."""
    return getattr(getattr(error.__cause__, "diag", None), "table_name", None) == READINGS


def measurements_trim(*, now: datetime) -> bool:
    """Drop the oldest day if all its measurements are older than OPSAPI_MEASUREMENT_RETENTION_DAYS.

    Return whether anything was deleted; then call it again.
    """
    kept = measurement_retention()
    if kept is None:
        return False
    if old_measurements_trim(before=now - kept, limit=MEASUREMENTS_AT_ONCE):
        return True
    dropped = day_drop(before=now - kept)
    if dropped:
        _sources_trim()
    return dropped


def readings_delete(*, sources: Collection[int], limit: int) -> int:
    """Delete at most `limit` readings of these sources. Return the number of deleted readings."""
    deleted = 0
    for day in existing_days() if sources else ():
        if deleted < limit:
            statement = _DELETE.format(partition=partition_name(day))
            deleted += execute(statement, [list(sources), limit - deleted])
    return deleted


def _sources_trim() -> None:
    """Delete the sources of former databases that have no readings left."""
    found = MEASUREMENTS_AT_ONCE
    while found == MEASUREMENTS_AT_ONCE:
        with transaction.atomic():
            unused = [source for (source,) in fetch_rows(_LOCK_UNUSED, [MEASUREMENTS_AT_ONCE])]
            execute(_DELETE_UNUSED, [unused])
            found = len(unused)
