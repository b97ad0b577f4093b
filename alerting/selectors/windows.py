"""Maintenance windows, and what they mute."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import connection
from django.db.models import QuerySet

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.rules.delivery_policy import Silence
from alerting.rules.windows import WindowSpan, covering
from events.models import Event
from events.types import EVENT_TYPES, EventType


def windows_of(group_id: str) -> QuerySet[MaintenanceWindow]:
    """A project's windows, in the order of their start."""
    return MaintenanceWindow.objects.filter(group_id=group_id).order_by("start", "id")


def windows_in_effect(now: datetime) -> QuerySet[MaintenanceWindow]:
    """The windows of all projects that have begun and not ended."""
    return MaintenanceWindow.objects.filter(start__lte=now, end__gt=now)


def muting_windows(alerts: Collection[Alert], *, now: datetime) -> dict[str, MaintenanceWindow]:
    """The window that covers each alert now, by the alert's id: of its project and category.

    One query, however many alerts.
    """
    groups = {alert.group_id for alert in alerts}
    rows = windows_in_effect(now).filter(group_id__in=groups) if groups else ()
    windows = {row.id: row for row in rows}
    spans = _spans(
        (window.id, window.group_id, window.alert_types, window.start, window.end)
        for window in windows.values()
    )
    found = (
        (alert.id, covering(spans.get((alert.group_id, category_of(alert)), ()), now)) for alert in alerts
    )
    return {alert_id: windows[span.id] for alert_id, span in found if span is not None}


def category_of(alert: Alert) -> str:
    """The category of the alert, by which windows select alerts."""
    return EVENT_TYPES[EventType(alert.event_type)].category.value


def silences_of(notifications: Collection[Notification], *, now: datetime) -> dict[str, Silence]:
    """The maintenance that holds back each notification now, by id; locks the windows.

    The windows are locked until the transaction ends. Events without a project have no windows, and windows
    of a deleted project hold nothing back.
    """
    categories = _categories(notifications)
    groups = {
        notification.group_id
        for notification in notifications
        if notification.id in categories and notification.group_id
    }
    if not groups:
        return {}
    with connection.cursor() as cursor:
        types = sorted(set(categories.values()))
        cursor.execute(_ACTIVE, {"groups": sorted(groups), "types": types, "now": now})
        rows = cursor.fetchall()
    # Read last, and without a lock: deleting a project locks its windows first.
    live = set(Project.objects.filter(id__in={row[1] for row in rows}).values_list("id", flat=True))
    spans = _spans(row for row in rows if row[1] in live)
    found = {
        notification.id: covering(
            spans.get((notification.group_id or "", categories[notification.id]), ()), now
        )
        for notification in notifications
        if notification.id in categories
    }
    return {name: Silence(window.id, window.end) for name, window in found.items() if window}


def _spans(
    rows: Iterable[tuple[str, str, Collection[str], datetime, datetime]],
) -> dict[tuple[str, str], list[WindowSpan]]:
    """The windows by project and category; `rows` have id, project, categories, start and end."""
    spans: dict[tuple[str, str], list[WindowSpan]] = {}
    for window_id, group_id, types, start, end in rows:
        for category in types:
            spans.setdefault((group_id, category), []).append(WindowSpan(id=window_id, start=start, end=end))
    return spans


_ACTIVE = """
SELECT id, group_id, alert_types, start, "end" FROM alerting_maintenancewindow
 WHERE group_id = ANY(%(groups)s) AND start <= %(now)s AND "end" > %(now)s
   AND alert_types && %(types)s::varchar[]
 ORDER BY id FOR SHARE
"""


def _categories(notifications: Collection[Notification]) -> dict[str, str]:
    """By notification, the category of its alert or event; missing if that was deleted."""
    alerts = {notification.alert_id for notification in notifications if notification.alert_id}
    events = {notification.event_id for notification in notifications if notification.event_id}
    types = dict(Alert.objects.filter(id__in=alerts).values_list("id", "event_type"))
    types |= dict(Event.objects.filter(id__in=events).values_list("id", "event_type"))
    return {
        notification.id: EVENT_TYPES[EventType(types[about])].category.value
        for notification in notifications
        if (about := notification.alert_id or notification.event_id) in types
    }
