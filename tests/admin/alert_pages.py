"""The pages of alerts, and what is typed there."""

from datetime import timedelta
from typing import Any

from alerting.models import Alert
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
