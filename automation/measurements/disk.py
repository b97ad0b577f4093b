"""The disk that measurements take, and that the days of each tier need, computed from stored measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from django.conf import settings

from automation.choices import Tier
from automation.measurements.blocks import BLOCKS, unpacked_blocks
from automation.measurements.days import READINGS
from automation.measurements.rollups import ROLLUP_BLOCKS, ROLLUPS, rollup_block
from automation.measurements.rules import METRICS
from automation.measurements.tiers import MINUTES
from opsapi.sql import fetch_rows

SETTINGS: Final[Mapping[Tier, str]] = {
    Tier.RAW: "OPSAPI_MEASUREMENT_RETENTION_DAYS",
    Tier.PT5M: "OPSAPI_MEASUREMENT_PT5M_DAYS",
    Tier.PT1H: "OPSAPI_MEASUREMENT_PT1H_DAYS",
}
_UNPACKED_DAYS: Final = 2
_MEASURED_DAYS: Final = 7
"""The number of newest days whose mean is calculated."""
_BLOCK_OCTETS: Final = 60
"""The bytes of a block besides its content: its row with the indexes."""
_PAGE_SHARE: Final = 1.1
"""Pages are not full, and pieces of a long block have heads: `tests/benchmarks/reads_cost.py` measures it."""
_SAMPLE: Final = 20
"""The number of hosts whose rollups are computed if none are stored."""

_DAY_SIZES = """
SELECT pg_total_relation_size(inhrelid) FROM pg_inherits WHERE inhparent = %s::regclass
"""
_PACKED = f"""
SELECT count(DISTINCT day), count(*), coalesce(sum(length(block)), 0), (SELECT max(day) FROM {BLOCKS})
  FROM {BLOCKS}
 WHERE day > (SELECT max(day) FROM {BLOCKS}) - %s
"""  # noqa: S608 - contains only our own names
_ROLLED_UP = f"""
SELECT count(DISTINCT day), count(*), coalesce(sum(length(block)), 0),
       (SELECT count(DISTINCT day) FROM {ROLLUPS} WHERE minutes = %(minutes)s)
  FROM {ROLLUP_BLOCKS}
 WHERE minutes = %(minutes)s
   AND day > (SELECT max(day) FROM {ROLLUPS} WHERE minutes = %(minutes)s) - %(days)s
"""  # noqa: S608 - contains only our own names
_HOSTS = f"""
SELECT source.id, block.number, count(*) OVER ()
  FROM {BLOCKS} AS block JOIN automation_source AS source ON source.id = block.source_id
 WHERE block.day = %s AND source.database = ''
 LIMIT %s
"""  # noqa: S608 - contains only our own names


@dataclass(frozen=True, slots=True)
class TierDisk:
    """The disk of a tier, in bytes. `days` is its setting.

    `a_day` is a day when it is packed, and `needed` all days of the setting. They are None if they are
    unknown, because no day is packed yet. `needed` is also None if the days are kept forever.
    """

    tier: Tier
    days: int
    stored: float
    a_day: float | None
    needed: float | None


def measurement_disk(days: Mapping[Tier, int] | None = None) -> Sequence[TierDisk]:
    """The disk of each tier. `days`: settings to consider instead of the current ones."""
    chosen = {tier: getattr(settings, name) for tier, name in SETTINGS.items()} | dict(days or {})
    [(packed_days, blocks, octets, last)] = fetch_rows(_PACKED, [_MEASURED_DAYS])
    a_day = _octets(blocks, octets) / packed_days if packed_days else None
    return [
        _raw(chosen[Tier.RAW], a_day),
        *(_rollups(tier, chosen[tier], last) for tier in SETTINGS if tier is not Tier.RAW),
    ]


def _raw(days: int, a_day: float | None) -> TierDisk:
    """Two days are rows, the others are packed. The day that is not over yet is kept in addition."""
    unpacked = [size for (size,) in fetch_rows(_DAY_SIZES, [READINGS])]
    [(packed,)] = fetch_rows("SELECT pg_total_relation_size(%s::regclass)", [BLOCKS])
    needed = None
    if days and a_day is not None:
        needed = _UNPACKED_DAYS * max(unpacked, default=0) + max(0, days + 1 - _UNPACKED_DAYS) * a_day
    return TierDisk(Tier.RAW, days, sum(unpacked) + packed, a_day, needed)


def _rollups(tier: Tier, days: int, last_packed: date | None) -> TierDisk:
    parameters = {"minutes": MINUTES[tier], "days": _MEASURED_DAYS}
    [(measured_days, blocks, octets, stored_days)] = fetch_rows(_ROLLED_UP, parameters)
    if measured_days:
        a_day: float | None = _octets(blocks, octets) / measured_days
    else:
        a_day = None if last_packed is None else _sampled(tier, last_packed)
    needed = None if a_day is None else days * a_day
    return TierDisk(tier, days, stored_days * (a_day or 0), a_day, needed)


def _sampled(tier: Tier, day: date) -> float:
    """The rollups of a day, from the rollups of some hosts."""
    hosts = fetch_rows(_HOSTS, [day, _SAMPLE])
    if not hosts:
        return 0
    shown = {(day, number) for _, number, _ in hosts}
    blocks = list(unpacked_blocks(shown, [source for source, _, _ in hosts], METRICS))
    octets = sum(len(rollup_block(block, day, MINUTES[tier])) for block in blocks)
    number_of_hosts = int(hosts[0][2])
    return _octets(len(blocks), octets) / len(blocks) * number_of_hosts


def _octets(blocks: int, content: float) -> float:
    return blocks * _BLOCK_OCTETS + float(content) * _PAGE_SHARE
