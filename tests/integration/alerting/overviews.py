"""What the start page shows a row of."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow
from automation.models import Agent
from opsapi.api.principal import VisibleScope
from tests.factories.alerting import make_alert
from tests.factories.automation import make_agent

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ALL = VisibleScope(everything=True)


def aged(project: Project, age: timedelta, **changes: Any) -> Alert:
    """An open alert that was opened so long ago."""
    return make_alert(project, created=NOW - age, opens=NOW - age, **changes)


def make_window(project: Project, start: timedelta, end: timedelta) -> MaintenanceWindow:
    """A window for hosts; its ends are relative to NOW."""
    return MaintenanceWindow.objects.create(
        group=project, alert_types=["HOST"], start=NOW + start, end=NOW + end, created=NOW, updated=NOW
    )


def make_agent_down(project: Project, hostname: str, **changes: Any) -> Agent:
    """A monitoring agent with a heartbeat timeout, which reported at NOW."""
    return make_agent(project, hostname, **({"created": NOW, "last_report": NOW, "down": True} | changes))


def ids(rows: Sequence[Any]) -> list[Any]:
    """The primary keys."""
    return [row.pk for row in rows]
