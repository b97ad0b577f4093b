"""Maintenance windows, as documents."""

from typing import Any

from django.db.models import QuerySet

from alerting.models import MaintenanceWindow
from opsapi.fields import WireTime

WindowRow = dict[str, Any]


def window_rows(group_id: str) -> QuerySet[MaintenanceWindow, Any]:
    """A project's windows, in the order they begin."""
    windows = MaintenanceWindow.objects.filter(group_id=group_id).order_by("start", "id")
    return windows.values(
        "id",
        "group_id",
        "alert_types",
        "description",
        wire_start=WireTime("start"),
        wire_end=WireTime("end"),
        wire_created=WireTime("created"),
        wire_updated=WireTime("updated"),
    )


def window_row(window_id: str, *, group_id: str) -> WindowRow | None:
    """One window of a project; None when there is none."""
    row: WindowRow | None = window_rows(group_id).filter(id=window_id).first()
    return row


def window_facts(row: WindowRow) -> dict[str, Any]:
    """A window without its links: what answers show and diffs compare."""
    shown = {
        "id": row["id"],
        "groupId": row["group_id"],
        "created": row["wire_created"],
        "updated": row["wire_updated"],
        "startDate": row["wire_start"],
        "endDate": row["wire_end"],
        "alertTypeNames": row["alert_types"],
        "description": row["description"],
    }
    return {name: value for name, value in shown.items() if value is not None}
