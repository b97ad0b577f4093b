"""The limits that reports reached, and how much projects store."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import add
from typing import Any

from django.conf import settings
from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce

from automation.reports.growth import StoredKind
from automation.reports.models import ReachedLimit, StoredDay
from opsapi.api.principal import VisibleScope
from opsapi.clock import AHEAD
from opsapi.first_rows import MOST_SHOWN, bounded_count, in_visible_scope

SAID_FOR = timedelta(days=1)
"""How long after its last refusal a limit is shown as reached."""


def reached_limits(
    visible_scope: VisibleScope, group_id: str | None, now: datetime
) -> Sequence[ReachedLimit]:
    """Return the limits that refused a report in the last day, newest first; at most MOST_SHOWN.

    Only of readable projects; `group_id`: only of this project.
    """
    refused = ReachedLimit.objects.filter(refused__gt=now - SAID_FOR, refused__lte=now + AHEAD)
    limits = in_visible_scope(refused.filter(group__deleted=None), visible_scope)
    if group_id is not None:
        limits = limits.filter(group_id=group_id)
    return list(limits.select_related("group").order_by("-refused", "id")[:MOST_SHOWN])


DAYS = 7
"""The days before today of which the mean is shown."""
LOW = 0.2
"""The share of free space from which the console warns: early enough to find a larger disk."""


@dataclass(frozen=True, slots=True)
class ProjectGrowth:
    """The bytes that a project stored today (UTC), and the mean of a day of the last DAYS, also by kind."""

    group_id: str
    name: str
    today: int
    mean: float
    means: Mapping[StoredKind, float]


_TOTAL = reduce(add, (F(kind.value) for kind in StoredKind))


def projects_growth(visible_scope: VisibleScope, now: datetime) -> tuple[Sequence[ProjectGrowth], int]:
    """Return the readable projects that stored anything today or in the last DAYS, the largest first.

    Only the first MOST_SHOWN, and the number of all, at most MOST_COUNTED + 1.
    """
    today = now.astimezone(UTC).date()
    days = in_visible_scope(StoredDay.objects.filter(group__deleted=None), visible_scope)
    recent = days.annotate(total=_TOTAL).filter(
        day__gte=today - timedelta(days=DAYS), day__lte=today, total__gt=0
    )
    before = Q(day__lt=today)
    largest = (
        recent.values("group_id", "group__name", "group__created")
        .annotate(
            today=Coalesce(Sum("total", filter=Q(day=today)), 0),
            all_days=Sum("total"),
            **{f"mean_{kind}": Coalesce(Sum(kind.value, filter=before), 0) for kind in StoredKind},
        )
        .order_by("-all_days", "group_id")
    )
    rows = [_growth(row, today) for row in largest[:MOST_SHOWN]]
    is_whole = len(rows) < MOST_SHOWN
    return rows, len(rows) if is_whole else bounded_count(recent.values("group_id").distinct())


def _growth(row: Mapping[str, Any], today: date) -> ProjectGrowth:
    days = _days_since(row["group__created"], today)
    means = {kind: row[f"mean_{kind}"] / days for kind in StoredKind}
    return ProjectGrowth(row["group_id"], row["group__name"], row["today"], sum(means.values()), means)


def _days_since(created: datetime, today: date) -> int:
    """The days of the mean: fewer for a new project."""
    return max(1, min(DAYS, (today - created.astimezone(UTC).date()).days))


@dataclass(frozen=True, slots=True)
class DatabaseDisk:
    """The bytes of the disk of the data directory."""

    free: int
    size: int

    @property
    def is_low(self) -> bool:
        return self.free < self.size * LOW

    @property
    def free_percent(self) -> int:
        return self.free * 100 // self.size


def database_disk() -> DatabaseDisk | None:
    """Return the disk of the embedded database; None if it is unknown, as with a database of your own."""
    if not settings.OPSAPI_EMBEDDED_DATABASE:
        return None
    try:
        usage = shutil.disk_usage(settings.OPSAPI_DATA_DIR)
    except OSError:
        return None
    return DatabaseDisk(usage.free, usage.total)
