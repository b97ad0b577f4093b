"""Moves measurements that earlier versions stored to the current tables, batch by batch."""

import logging
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from prometheus_client.metrics_core import Metric

from automation.hosts.models import Host
from automation.measurements.days import READINGS, days_create
from automation.measurements.models import Measurement, Source
from automation.measurements.old import number_of_moved, old_samples
from automation.measurements.rules import rows_of
from opsapi.batches import delete_batch
from opsapi.fields import Among
from opsapi.metric_series import gauge
from opsapi.sql import execute, fetch_rows

logger = logging.getLogger("opsapi.worker")

MOVED_AT_ONCE = 1_000
"""Maximum number of rows in a transaction."""

_LOCK_KEY = 0x6F70736D6F766572  # "opsmover"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
_COLUMNS = ("hosts", "databases", "reported", "reports", "ages", "numbers")
_MOVE = f"""
INSERT INTO {READINGS} (source_id, reported, report, age, numbers)
SELECT source.id, given.reported, given.report, given.age, given.numbers::float8[]
  FROM unnest(%(hosts)s::text[], %(databases)s::text[], %(reported)s::timestamptz[], %(reports)s::int[],
              %(ages)s::int[], %(numbers)s::text[])
       AS given (host_id, database, reported, report, age, numbers)
  JOIN automation_source AS source USING (host_id, database)
"""  # noqa: S608 - contains only our own names
_LEFT = """
SELECT greatest(reltuples, 1)::bigint FROM pg_class
 WHERE oid = 'automation_measurement'::regclass AND EXISTS (SELECT FROM automation_measurement)
"""

_Row = tuple[str, str, datetime, int, int, str]


def old_measurements_left() -> int:
    """Return PostgreSQL's estimate of the number of rows that are not moved yet; 0 if there are none."""
    return next((number for (number,) in fetch_rows(_LEFT)), 0)


@transaction.atomic
def old_measurements_move() -> int:
    """Move the oldest batch. Return the number of rows; 0 if there are none or another process moves a batch.

    Readers see each row once, before or after the move.
    """
    if not _lock():
        return 0
    # The purge deletes the rows of deleted hosts.
    waiting = Measurement.objects.filter(host__deleted=None).order_by("reported", "id")
    chosen = list(waiting[:MOVED_AT_ONCE])
    if not chosen:
        return 0
    days_create({measurement.reported.astimezone(UTC).date() for measurement in chosen})
    # Hosts are locked before their measurements, as in the purge.
    _add_sources(
        {
            (measurement.host_id, database)
            for measurement in chosen
            for database in ("", *measurement.databases)
        }
    )
    there = Measurement.objects.filter(id__in=[measurement.id for measurement in chosen])
    locked = set(there.select_for_update().values_list("id", flat=True))
    readings = list(_rows(measurement for measurement in chosen if measurement.id in locked))
    columns: dict[str, list[Any]] = {
        name: [row[place] for row in readings] for place, name in enumerate(_COLUMNS)
    }
    written = execute(_MOVE, columns)
    if written != len(readings):
        raise RuntimeError(f"of {len(readings)} readings {written} could be written")
    there.delete()
    if locked and not Measurement.objects.exists():
        logger.info("all measurements of earlier versions are moved")
    return len(chosen)


def old_measurements_trim(*, before: datetime, limit: int) -> bool:
    """Delete at most `limit` rows that were reported before that time. Return whether any were deleted."""
    return delete_batch(Measurement.objects.filter(reported__lt=before), limit) > 0


def _lock() -> bool:
    [(got,)] = fetch_rows(_TRY_LOCK, [_LOCK_KEY])
    return bool(got)


def _rows(measurements: Iterable[Measurement]) -> Iterator[_Row]:
    for measurement in measurements:
        number = number_of_moved(measurement.id)
        for database, stored in (("", measurement.metrics), *measurement.databases.items()):
            for age, numbers in rows_of(old_samples(stored), measurement.reported):
                yield measurement.host_id, database, measurement.reported, number, age, numbers


def _add_sources(wanted: Collection[tuple[str, str]]) -> None:
    """Add missing sources while their hosts are locked."""
    known = Source.objects.filter(Among("host_id", {host_id for host_id, _ in wanted}))
    missing = set(wanted) - set(known.values_list("host_id", "database"))
    if not missing:
        return
    hosts = Host.with_deleted.filter(Among("id", {host_id for host_id, _ in missing}))
    list(hosts.order_by("id").select_for_update(of=("self",)).values_list("id"))
    fresh = [Source(host_id=host_id, database=database) for host_id, database in sorted(missing)]
    Source.objects.bulk_create(fresh, ignore_conflicts=True)


_TO_MOVE = gauge(
    "opsapi_measurements_to_move",
    "Estimated number of host reports from an earlier version that still have to be moved.",
)


def fleet_metrics() -> Iterator[Metric]:
    """Rows that are not moved yet."""
    yield _TO_MOVE.of(old_measurements_left())
