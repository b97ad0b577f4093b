"""Maintenance windows, the notifications that they silence, and the extent of what they mute."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from django.db import connection
from django.db.models import Count, Model, QuerySet

from accesslist.models import Project
from alerting.choices import AlertStatus
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.rules.delivery_policy import Silence
from alerting.rules.windows import MuteCounts, MuteExtent, WindowSpan, covering
from automation.models import Agent, Cluster, Host, ReplicaSet
from events.models import Event
from events.types import EVENT_TYPES, Category, EventType


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


_THINGS: Mapping[Category, type[Model]] = {
    Category.HOST: Host,
    Category.REPLICA_SET: ReplicaSet,
    Category.CLUSTER: Cluster,
    Category.AGENT: Agent,
}


def mute_counts(group_ids: Collection[str]) -> dict[str, MuteCounts]:
    """Return the numbers of objects and open alerts in each category, by project."""
    things: dict[str, dict[Category, int]] = {id_: {} for id_ in group_ids}
    for category, model in _THINGS.items():
        rows = model._default_manager.filter(group_id__in=group_ids).order_by()
        for group_id, count in rows.values_list("group_id").annotate(Count("pk")):
            things[group_id][category] = count
    alerts: dict[str, dict[Category, int]] = {id_: defaultdict(int) for id_ in group_ids}
    opened = Alert.objects.filter(group_id__in=group_ids, status=AlertStatus.OPEN.value).order_by()
    for group_id, event_type, count in opened.values_list("group_id", "event_type").annotate(Count("pk")):
        alerts[group_id][EVENT_TYPES[EventType(event_type)].category] += count
    return {id_: MuteCounts(things[id_], alerts[id_]) for id_ in group_ids}


def mute_extent(
    *, group_id: str, project: str, categories: Collection[str], not_only: str = ""
) -> MuteExtent:
    """Return the extent of a window for these categories in a project."""
    counts = mute_counts([group_id])[group_id]
    return MuteExtent(categories=categories, project=project, counts=counts, not_only=not_only)


def window_extents(windows: Iterable[MaintenanceWindow]) -> dict[str, MuteExtent]:
    """Return the extent of each window, by its id."""
    listed = list(windows)
    counts = mute_counts({window.group_id for window in listed})
    return {
        window.id: MuteExtent(
            categories=window.alert_types, project=str(window.group), counts=counts[window.group_id]
        )
        for window in listed
    }
