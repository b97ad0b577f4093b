"""The projects that exceeded their share of the workers' time."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from alerting.models import AlertConfig, MaintenanceWindow, ProjectUsage
from alerting.rules.shares import remarked_minutes
from opsapi.api.principal import VisibleScope
from opsapi.first_rows import MOST_SHOWN, in_visible_scope


@dataclass(frozen=True, slots=True)
class ProjectOverShare:
    """A project, and the configuration or window that took most of its time.

    Both are None if something else took the time, if it was deleted, or if it is a global configuration that
    only users who read everything can see.
    """

    name: str
    config: AlertConfig | None
    window: MaintenanceWindow | None


def projects_over_share(
    visible_scope: VisibleScope, group_id: str | None = None, *, now: datetime
) -> list[ProjectOverShare]:
    """The first readable projects that exceeded their share in the last minutes.

    `group_id`: only this project.
    """
    minutes = remarked_minutes(now)
    over = ProjectUsage.objects.filter(
        exceeded__gte=minutes.start, exceeded__lt=minutes.stop, group__deleted=None
    )
    readable: QuerySet[ProjectUsage] = in_visible_scope(over, visible_scope)
    if group_id is not None:
        readable = readable.filter(group_id=group_id)
    rows = list(readable.select_related("group").order_by("group__name", "group_id")[:MOST_SHOWN])
    named = AlertConfig.objects.filter(deleted=None)
    shown = named if visible_scope.everything else named.exclude(group=None)
    configs = shown.in_bulk([row.config_id for row in rows if row.config_id])
    windows = MaintenanceWindow.objects.in_bulk([row.window_id for row in rows if row.window_id])
    return [
        ProjectOverShare(
            row.group.name,
            configs.get(row.config_id or ""),
            windows.get(row.window_id or ""),
        )
        for row in rows
    ]
