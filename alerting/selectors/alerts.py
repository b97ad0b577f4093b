"""Alerts as documents."""

from typing import Any

from django.db.models import QuerySet

from alerting.models import Alert
from opsapi.fields import WireTime

AlertRow = dict[str, Any]


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


# Built once: naming the columns costs the ORM more than all that follows per request.
_NEWEST_FIRST = as_rows(Alert.objects.order_by("-created", "-id"))


def alert_rows(*, group_id: str, status: str | None = None) -> QuerySet[Alert, Any]:
    """A project's alerts, newest first, id as tie-break."""
    alerts = _NEWEST_FIRST.filter(group_id=group_id)
    return alerts if status is None else alerts.filter(status=status)
