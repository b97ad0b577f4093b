"""Packs the rows of closed days into blocks, some sources in each step.

The blocks of a day are invisible until all are there. Then one transaction compares them with the rows, shows
them and drops the partition of the day. A packing that ends earlier goes on where it ended.
"""

import logging
from collections.abc import Sequence
from datetime import date, datetime

from django.db import transaction

from automation.measurements.blocks import BLOCKS, PACKINGS
from automation.measurements.days import (
    DAY,
    READINGS,
    begin_of,
    existing_days,
    partition_drop,
    partition_name,
    succeeds_soon,
)
from automation.measurements.models import Measurement
from automation.measurements.packing import packed
from automation.measurements.rollups import ROLLUPS
from automation.measurements.sent_rows import read_rows
from automation.measurements.tiers import is_closed, kept_tiers, longest_kept
from opsapi.sql import execute, fetch_rows

logger = logging.getLogger("opsapi.worker")

SOURCES_AT_ONCE = 20
"""Maximum number of sources in a step."""

_LOCK_KEY = 0x6F70737061636B31  # "opspack1": one process at a time packs
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
# The rollups of a deleted packing keep its number.
_NUMBER = f"""
SELECT greatest((SELECT max(number) FROM {PACKINGS} WHERE day = %(day)s),
                (SELECT max(number) FROM {ROLLUPS} WHERE day = %(day)s), 0) + 1
"""  # noqa: S608 - contains only our own names
_NEXT = f"""
SELECT id
  FROM automation_source AS source
 WHERE id > coalesce((SELECT max(source_id) FROM {BLOCKS} WHERE day = %(day)s AND number = %(number)s), 0)
   AND EXISTS (SELECT FROM {{partition}} WHERE source_id = source.id)
 ORDER BY id
 LIMIT %(limit)s
"""  # noqa: S608 - contains only our own names
# Each reading has a head of 16 bytes. PostgreSQL aggregates in the order of the inner SELECT.
_ROWS = """
SELECT source_id, string_agg(head, ''::bytea), string_agg(numbers, ''::bytea)
  FROM (SELECT source_id, numbers,
               timestamptz_send(reported) || int2send(report) || int2send(age) || int4send(length(numbers))
               AS head
          FROM (SELECT source_id, reported, report, age, array_send(numbers) AS numbers
                  FROM {partition}
                 WHERE source_id = ANY(%s)
                OFFSET 0) AS sent
         ORDER BY source_id, reported, report, age DESC) AS ordered
 GROUP BY source_id
"""
_WRITE = f"""
INSERT INTO {BLOCKS} (source_id, day, rows, number, metrics, ends, block) VALUES (%s, %s, %s, %s, %s, %s, %s)
"""  # noqa: S608 - contains only our own names
_DIFFERENT = f"""
SELECT coalesce(reading.source_id, block.source_id)
  FROM (SELECT source_id, count(*) AS rows FROM {{partition}} GROUP BY source_id) AS reading
  FULL JOIN (SELECT source_id, rows FROM {BLOCKS} WHERE day = %(day)s AND number = %(number)s) AS block
    ON block.source_id = reading.source_id
 WHERE block.rows IS DISTINCT FROM reading.rows
"""  # noqa: S608 - contains only our own names
_FORGET = f"DELETE FROM {BLOCKS} WHERE day = %s AND number = %s AND source_id = ANY(%s)"  # noqa: S608 - our own name
_SHOW = f"""
INSERT INTO {PACKINGS} (day, number)
SELECT %(day)s, %(number)s
 WHERE EXISTS (SELECT FROM {BLOCKS} WHERE day = %(day)s AND number = %(number)s)
"""  # noqa: S608 - contains only our own names


def day_pack_some(*, now: datetime) -> bool:
    """Pack some sources of the oldest closed day, or show its blocks when all are packed.

    Return whether there may be more to pack. Another process that packs does it alone. A day is shown later
    if somebody reads it.
    """
    with transaction.atomic():
        # Measurements of earlier versions become rows first.
        if not _lock() or Measurement.objects.exists():
            return False
        day = _closed_day(now)
        if day is None:
            return False
        number = _number(day)
        sources = _column(_NEXT, day, number, limit=SOURCES_AT_ONCE)
        _pack(day, number, sources)
    # Comparing takes a while, and is of no use while somebody reads the day.
    return bool(sources) or (succeeds_soon(lambda: _lock_all(day)) and succeeds_soon(lambda: _show(day)))


def _closed_day(now: datetime) -> date | None:
    """The oldest closed day with a partition of which something is kept."""
    kept = longest_kept(kept_tiers())
    days = (day for day in reversed(existing_days()) if kept is None or begin_of(day) + DAY > now - kept)
    return next((day for day in days if is_closed(begin_of(day), now)), None)


def _lock() -> bool:
    [(got,)] = fetch_rows(_TRY_LOCK, [_LOCK_KEY])
    return bool(got)


def _number(day: date) -> int:
    """The number of the packing of a day that is not shown yet."""
    [(number,)] = fetch_rows(_NUMBER, {"day": day})
    return int(number)


def _column(statement: str, day: date, number: int, **parameters: int) -> list[int]:
    found = fetch_rows(
        statement.format(partition=partition_name(day)), {"day": day, "number": number, **parameters}
    )
    return [source for (source,) in found]


def _lock_all(day: date) -> None:
    """Take the locks with which a partition is dropped."""
    if day in existing_days():
        execute(f"LOCK TABLE ONLY {READINGS}, {partition_name(day)} IN ACCESS EXCLUSIVE MODE")


def _show(day: date) -> None:
    """Show the blocks of a day and drop its rows. If rows came or went meanwhile, pack them again instead."""
    if not _lock() or day not in existing_days():
        return
    execute(f"LOCK TABLE {partition_name(day)} IN SHARE MODE")
    number = _number(day)
    different = _column(_DIFFERENT, day, number)
    if different:
        execute(_FORGET, [day, number, different])
        _pack(day, number, different)
        return
    execute(_SHOW, {"day": day, "number": number})
    partition_drop(day)
    logger.info("the measurements of %s are packed", day)


def _pack(day: date, number: int, sources: Sequence[int]) -> None:
    """Write the blocks of these sources."""
    for start in range(0, len(sources), SOURCES_AT_ONCE):
        chosen = list(sources[start : start + SOURCES_AT_ONCE])
        for source, heads, bodies in fetch_rows(_ROWS.format(partition=partition_name(day)), [chosen]):
            times, columns = read_rows(heads, bodies)
            block = packed(times, columns)
            written = [source, day, block.rows, number, list(block.metrics), list(block.ends), block.octets]
            execute(_WRITE, written)
