"""The pages of alerts, and what is typed there."""

from datetime import timedelta
from typing import Any

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow
from opsapi import clock

ALERTS = "/admin/alerting/alert/"


def alert_page(alert: Alert, action: str = "") -> str:
    """The alert's page, or that of an action."""
    return f"{ALERTS}{alert.id}/do/{action}/" if action else f"{ALERTS}{alert.id}/change/"


def window_values(**changes: Any) -> dict[str, Any]:
    """A window that begins now."""
    now = clock.now()
    values = {
        "startDate": f"{now:%Y-%m-%dT%H:%M}",
        "endDate": f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M}",
        "alertTypeNames": ["HOST"],
        "description": "two\r\nlines",
    }
    return values | changes


def make_window(project: Project, **changes: Any) -> MaintenanceWindow:
    """A window of the project that mutes alerts of hosts now, for an hour before and after."""
    now = clock.now()
    values = {"alert_types": ["HOST"], "start": now - timedelta(hours=1), "end": now + timedelta(hours=1)}
    return MaintenanceWindow.objects.create(group=project, created=now, updated=now, **(values | changes))
