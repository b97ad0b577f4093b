"""Creates and drops the partitions of `automation_reading`, one for each UTC day."""

from collections.abc import Iterable
from datetime import UTC, date, datetime

from django.db import OperationalError, transaction

from accesslist.locks import advisory_lock
from automation.days import DAY, READINGS, begin_of, existing_days, partition_name
from opsapi.sql import execute

_LOCK = 0x6F70736461797331  # "opsdays1": one process at a time creates or drops partitions
_AHEAD = 3
"""Number of future days with a partition. If workers are down for longer, reports create partitions."""

# ATTACH waits for no reader or writer. CREATE TABLE … PARTITION OF would wait for all of them. It adopts the
# index. A full page of the index is split where the newest reading of a source ends, and no earlier reading
# is added afterwards, so it needs no room: a day has 12 % less index than with a fillfactor of 90.
_CREATE = (
    f"CREATE TABLE {{name}} (LIKE {READINGS})",
    "CREATE INDEX ON {name} (source_id, reported) WITH (fillfactor = 100)",
    f"ALTER TABLE {READINGS} ATTACH PARTITION {{name}} FOR VALUES FROM ('{{begin}}') TO ('{{end}}')",
)
# While a DROP waits for a reader, all others wait behind it. It gives up soon and is tried again later.
_BE_BRIEF = "SET LOCAL lock_timeout = '50ms'"
_GAVE_UP = "55P03"  # SQLSTATE: lock not available


@transaction.atomic
def days_create(days: Iterable[date]) -> None:
    """Create the missing partitions of these days."""
    wanted = set(days)
    if wanted <= set(existing_days()):
        return
    advisory_lock(_LOCK)
    for day in sorted(wanted - set(existing_days())):
        for statement in _CREATE:
            execute(statement.format(name=partition_name(day), begin=begin_of(day), end=begin_of(day) + DAY))


def days_prepare(*, now: datetime, back: int = 0) -> None:
    """Create the partitions of today, of the next days, and of the last `back` days."""
    today = now.astimezone(UTC).date()
    days_create(today + ahead * DAY for ahead in range(-back, _AHEAD + 1))


def day_drop(*, before: datetime) -> bool:
    """Drop the oldest partition if its day ended `before` that time.

    Return False if there is no such partition, or if it is being read.
    """
    over = [day for day in existing_days() if begin_of(day) + DAY <= before]
    if not over:
        return False
    try:
        with transaction.atomic():
            execute(_BE_BRIEF)
            advisory_lock(_LOCK)
            execute(f"DROP TABLE IF EXISTS {partition_name(over[-1])}")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _GAVE_UP:
            raise
        return False
    return True
