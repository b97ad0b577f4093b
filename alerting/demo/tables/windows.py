"""Maintenance windows: past, active and coming."""

from dataclasses import dataclass

from alerting.demo.tables.people import MIRA, SAMIR, TOMAS, YUKI
from events.types import Category


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A maintenance window from `begin` to `end` minutes ago, made so many minutes ago."""

    group: str
    made: int
    begin: int
    end: int
    categories: tuple[Category, ...]
    description: str
    by: str


_HOUR = 60
WINDOWS = (
    WindowSpec(
        "route-planning", 1400, 320, 260, (Category.REPLICA_SET,), "Replica set gets a fourth member", YUKI
    ),
    WindowSpec("catalogue", 1000, 335, 295, (Category.HOST,), "Upgrade to 8.0.5", SAMIR),
    WindowSpec(
        "route-planning",
        600,
        60,
        -20 * _HOUR,
        (Category.HOST, Category.REPLICA_SET),
        "Host moves to the new rack",
        YUKI,
    ),
    WindowSpec(
        "payments", 500, -26 * _HOUR, -30 * _HOUR, (Category.HOST,), "Kernel update, shard by shard", MIRA
    ),
    WindowSpec(
        "customer-accounts",
        450,
        -98 * _HOUR,
        -100 * _HOUR,
        (Category.BACKUP,),
        "Backup store is moved",
        TOMAS,
    ),
)
