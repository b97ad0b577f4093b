"""The partitions of readings, one for each day: which exist, and how they are created and dropped."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate, repeat

from django.db import OperationalError, transaction

from accesslist.locks import advisory_lock
from opsapi.sql import execute, fetch_rows

DAY = timedelta(days=1)
READINGS = "automation_reading"

_EXISTING = """
SELECT to_date(right(partition.relname, 8), 'YYYYMMDD')
  FROM pg_inherits
  JOIN pg_class AS partition ON partition.oid = inhrelid
 WHERE inhparent = %s::regclass AND relname ~ '_[0-9]{8}$'
 ORDER BY 1 DESC
"""
_FIRST_SPAN = 5
_WIDER = 4


def partition_name(day: date) -> str:
    return f"{READINGS}_{day:%Y%m%d}"


def begin_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def existing_days() -> list[date]:
    """The days with a partition, the latest first."""
    return [day for (day,) in fetch_rows(_EXISTING, [READINGS])]


def spans_back(since: datetime | None, until: datetime | None) -> Iterator[tuple[datetime, datetime]]:
    """Split the kept part of a time range into half-open spans, the latest first, each longer than the last.

    Most searches succeed in the first span, so a statement opens few partitions.
    """
    days = [
        day
        for day in existing_days()
        if (until is None or begin_of(day) < until) and (since is None or begin_of(day) + DAY > since)
    ]
    place = 0
    for length in accumulate(repeat(_FIRST_SPAN), lambda length, _: length * _WIDER):
        some = days[place : place + length]
        if not some:
            return
        begin, end = begin_of(some[-1]), begin_of(some[0]) + DAY
        yield max(begin, since or begin), min(end, until or end)
        place += length


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
    return succeeds_soon(lambda: partition_drop(over[-1]))


def succeeds_soon(change: Callable[[], object]) -> bool:
    """Make a change in a transaction. Return False, unchanged, if it waits for a lock for more than 50 ms."""
    try:
        with transaction.atomic():
            execute(_BE_BRIEF)
            change()
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _GAVE_UP:
            raise
        return False
    return True


def partition_drop(day: date) -> None:
    """Drop the partition of a day, in a transaction that gives up soon (`succeeds_soon`)."""
    advisory_lock(_LOCK)
    execute(f"DROP TABLE IF EXISTS {partition_name(day)}")
