"""Days with a partition of `automation_reading`, each named by its UTC day."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate, repeat

from opsapi.sql import fetch_rows

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
