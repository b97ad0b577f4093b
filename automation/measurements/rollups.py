"""Computes the rollups of packed days, some hosts in each step.

The rollups of a packing are invisible until all are there. Days that were packed before they had rollups, or
while a tier was switched off, get them in the same way. A step that is stopped is done again.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from typing import Any

from django.db import transaction

from automation.choices import Tier
from automation.measurements.blocks import BLOCKS, PACKINGS, UnpackedBlock, day_of, unpacked_blocks
from automation.measurements.days import begin_of
from automation.measurements.points import Points, points_of
from automation.measurements.rollup_packing import packed_points, unpacked_points
from automation.measurements.rules import METRICS
from automation.measurements.tiers import MINUTES, kept_rollups
from opsapi.sql import execute, fetch_rows

logger = logging.getLogger("opsapi.worker")

ROLLUPS = "automation_rollup"
ROLLUP_BLOCKS = "automation_packedrollups"
SOURCES_AT_ONCE = 20
"""Maximum number of hosts in a step."""
ROLLUP_BLOCKS_AT_ONCE = 2_000
"""Maximum number of blocks deleted in a transaction."""

_LOCK_KEY = 0x6F7073726F6C6C31  # "opsroll1": one process at a time computes rollups
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
_WANTED = "unnest(%(minutes)s::int[], %(firsts)s::date[]) AS wanted (minutes, first)"
_MISSING = f"""
SELECT packing.day, packing.number, wanted.minutes
  FROM {PACKINGS} AS packing
  JOIN {_WANTED} ON packing.day >= wanted.first
 WHERE NOT EXISTS (SELECT FROM {ROLLUPS} AS known
                    WHERE known.minutes = wanted.minutes
                      AND known.day = packing.day AND known.number = packing.number)
 ORDER BY packing.day, packing.number, wanted.minutes
 LIMIT 1
"""  # noqa: S608 - contains only our own names
_NEXT = f"""
SELECT source.id
  FROM {BLOCKS} AS block JOIN automation_source AS source ON source.id = block.source_id
 WHERE block.day = %(day)s AND block.number = %(number)s AND source.database = ''
   AND source.id > coalesce((SELECT max(source_id) FROM {ROLLUP_BLOCKS}
                              WHERE minutes = %(minutes)s AND day = %(day)s AND number = %(number)s), 0)
 ORDER BY source.id
 LIMIT %(limit)s
"""  # noqa: S608 - contains only our own names
_WRITE = f"""
INSERT INTO {ROLLUP_BLOCKS} (source_id, minutes, day, number, block) VALUES (%s, %s, %s, %s, %s)
"""  # noqa: S608 - contains only our own names
_FORGET_ORPHANS = f"""
DELETE FROM {ROLLUP_BLOCKS} AS block
 WHERE minutes = %(minutes)s AND day = %(day)s AND number = %(number)s
   AND NOT EXISTS (SELECT FROM automation_source AS source WHERE source.id = block.source_id)
"""  # noqa: S608 - contains only our own names
_SHOW = f"INSERT INTO {ROLLUPS} (minutes, day, number) VALUES (%(minutes)s, %(day)s, %(number)s)"  # noqa: S608 - our own name
_STORED = f"""
SELECT 0, day, number FROM {PACKINGS} WHERE day BETWEEN %(since)s AND %(until)s
 UNION ALL
SELECT minutes, day, number FROM {ROLLUPS} WHERE day BETWEEN %(since)s AND %(until)s
"""  # noqa: S608 - contains only our own names
_BLOCKS = f"""
SELECT block.source_id, block.minutes, block.day, block.block
  FROM unnest(%(minutes)s::int[], %(days)s::date[], %(numbers)s::int[]) AS shown (minutes, day, number)
  JOIN {ROLLUP_BLOCKS} AS block
    ON block.source_id = ANY(%(sources)s) AND block.minutes = shown.minutes
       AND block.day = shown.day AND block.number = shown.number
"""  # noqa: S608 - contains only our own names
_HIDE_OLD = f"""
DELETE FROM {ROLLUPS} AS known
 WHERE NOT EXISTS (SELECT FROM {_WANTED} WHERE wanted.minutes = known.minutes AND wanted.first <= known.day)
"""  # noqa: S608 - contains only our own names
_DELETE_BLOCKS = f"""
DELETE FROM {ROLLUP_BLOCKS}
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM {ROLLUP_BLOCKS} WHERE {{condition}} LIMIT %s))
"""  # noqa: S608 - contains only our own names
_DELETE_OLD = _DELETE_BLOCKS.format(condition="minutes = %s AND day < %s")
_DELETE_OF_SOURCES = _DELETE_BLOCKS.format(condition="source_id = ANY(%s)")


def rollups_wanted(now: datetime) -> dict[str, list[Any]]:
    """The lengths of the rollups that are kept, in minutes, and the first day of each."""
    kept = kept_rollups()
    return {
        "minutes": [MINUTES[tier] for tier in kept],
        "firsts": [day_of(now - length) for length in kept.values()],
    }


@transaction.atomic
def rollups_compute_some(*, now: datetime) -> bool:
    """Compute the rollups of some hosts in the oldest packing without them, or show them when all are there.

    Return whether there may be more. Another process that computes rollups does it alone.
    """
    [(is_alone,)] = fetch_rows(_TRY_LOCK, [_LOCK_KEY])
    found = fetch_rows(_MISSING, rollups_wanted(now)) if is_alone else []
    for day, number, minutes in found:
        place = {"day": day, "number": number, "minutes": minutes}
        sources = [source for (source,) in fetch_rows(_NEXT, {**place, "limit": SOURCES_AT_ONCE})]
        if sources:
            _compute(day, number, minutes, sources)
        else:
            execute(_FORGET_ORPHANS, place)
            execute(_SHOW, place)
            logger.info("the measurements of %s have rollups of %s minutes", day, minutes)
    return bool(found)


def _compute(day: date, number: int, minutes: int, sources: Sequence[int]) -> None:
    """Write the rollups of these sources."""
    for block in unpacked_blocks([(day, number)], sources, METRICS):
        execute(_WRITE, [block.source, minutes, day, number, rollup_block(block, day, minutes)])


def rollup_block(block: UnpackedBlock, day: date, minutes: int) -> bytes:
    """The rollups of the readings of a source."""
    span, moments = minutes * 60, block.times.moments
    points = {
        metric: points_of(moments[column.places], column.values, span)
        for metric, column in block.columns.items()
    }
    return packed_points(points, begin=int(begin_of(day).timestamp()), span=span)


Stored = frozenset[tuple[int, date, int]]
"""Packings that are stored: minutes of a bucket, or 0 as measured, day and number."""


def stored_packings(since: datetime, until: datetime) -> Stored:
    """The packings of these days (UTC) and their rollups."""
    return frozenset(fetch_rows(_STORED, {"since": day_of(since), "until": day_of(until)}))


def finest_packings(since: datetime, until: datetime) -> Stored:
    """The packings of these days (UTC), each once: as measured, or in the shortest buckets that are kept."""
    shortest: dict[tuple[date, int], int] = {}
    for minutes, day, number in stored_packings(since, until):
        shortest[day, number] = min(minutes, shortest.get((day, number), minutes))
    return frozenset((minutes, *packing) for packing, minutes in shortest.items())


def unpacked_rollups(
    shown: Sequence[tuple[int, date, int]], sources: Collection[int], metrics: Collection[int]
) -> Iterator[tuple[int, int, Points]]:
    """Read these metrics of these sources in these rollups: source, metric and points."""
    if not shown or not sources:
        return
    minutes, days, numbers = map(list, zip(*shown, strict=True))
    parameters = {"minutes": minutes, "days": days, "numbers": numbers, "sources": list(sources)}
    for source, length, day, block in fetch_rows(_BLOCKS, parameters):
        begin, span = int(begin_of(day).timestamp()), length * 60
        for metric, points in unpacked_points(bytes(block), metrics, begin=begin, span=span):
            yield source, metric, points


@transaction.atomic
def rollups_trim(*, now: datetime) -> bool:
    """Delete some rollups that are no longer kept, and first hide them all from readers.

    Return whether any were deleted.
    """
    execute(_HIDE_OLD, rollups_wanted(now))
    kept = kept_rollups()
    firsts = {
        minutes: day_of(now - kept[tier]) if tier in kept else date.max
        for tier, minutes in MINUTES.items()
        if tier is not Tier.RAW
    }
    deleted = [execute(_DELETE_OLD, [*first, ROLLUP_BLOCKS_AT_ONCE]) for first in firsts.items()]
    return any(deleted)


def rollups_delete(*, sources: Collection[int], limit: int) -> int:
    """Delete at most `limit` blocks of these sources. Return their number."""
    return execute(_DELETE_OF_SOURCES, [list(sources), min(limit, ROLLUP_BLOCKS_AT_ONCE)])
