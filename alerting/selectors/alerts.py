"""Alerts as documents."""

from typing import Any

from django.db.models import QuerySet

from alerting.models import Alert
from opsapi.fields import WireTime

AlertRow = dict[str, Any]


def alert_rows(*, group_id: str, status: str | None = None) -> QuerySet[Alert, Any]:
    """A project's alerts, newest first, id as tie-break."""
    alerts = Alert.objects.filter(group_id=group_id).order_by("-created", "-id")
    if status is not None:
        alerts = alerts.filter(status=status)
    return as_rows(alerts)


def as_rows(alerts: QuerySet[Alert, Alert]) -> QuerySet[Alert, Any]:
    """What `present_alert` takes."""
    return alerts.values(
        "id",
        "group_id",
        "config_id",
        "event_type",
        "status",
        "facts",
        "metric_name",
        "current_value",
        "tags",
        "acknowledgement_comment",
        "acknowledging_username",
        wire_created=WireTime("created"),
        wire_updated=WireTime("updated"),
        wire_resolved=WireTime("resolved"),
        wire_last_notified=WireTime("last_notified"),
        wire_acknowledged_until=WireTime("acknowledged_until"),
    )
