"""Maintenance windows: the notifications they mute, the extent of a window, and a preview of its effect."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

import orjson
from django.db import connection
from django.db.models import Count, Model, Q, QuerySet

from accesslist.models import Project
from alerting.choices import AlertStatus
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.rules.delivery_policy import Mute
from alerting.rules.matchers import MatcherField, MatchSubject, subject_of
from alerting.rules.recurrence import Occurrence
from alerting.rules.window_calendar import Calendar, window_calendar
from alerting.rules.windows import (
    ActiveWindow,
    MuteCounts,
    MuteExtent,
    WindowRule,
    WindowState,
    active_windows,
    muting,
    window_rule,
)
from automation.models import Agent, Cluster, Host, ReplicaSet
from automation.selectors.hosts import hosts_of
from events.models import Event
from events.types import EVENT_TYPES, Category, EventType
from opsapi.api.resources import Facts
from opsapi.first_rows import MOST_SHOWN, more_words


def windows_of(group_id: str, *, not_over_at: datetime | None = None) -> QuerySet[MaintenanceWindow]:
    """A project's windows, in the order of their start; `not_over_at` leaves out windows over by then."""
    windows = MaintenanceWindow.objects.filter(group_id=group_id).order_by("start", "id")
    return windows if not_over_at is None else windows.filter(not_over(not_over_at))


def window_with_id(window_id: str, *, group_id: str) -> QuerySet[MaintenanceWindow]:
    """The window of a project with this ID: at most one row."""
    return windows_of(group_id).filter(id=window_id)


def not_over(now: datetime) -> Q:
    """The windows that are or may be in effect now or later."""
    recurs = Q(recurrence__isnull=False)
    return Q(end__gt=now) | recurs & (Q(last_end=None) | Q(last_end__gt=now))


def in_state(windows: QuerySet[MaintenanceWindow], state: WindowState, now: datetime) -> Q:
    """The windows in a state. Python finds the active windows that recur."""
    if state is WindowState.EXPIRED:
        return ~not_over(now)
    begun = Q(recurrence__isnull=False, start__lte=now) & not_over(now)
    found = [row.id for row in windows.filter(begun) if row.rule.state(now) is WindowState.ACTIVE]
    if state is WindowState.ACTIVE:
        return Q(recurrence__isnull=True, start__lte=now, end__gt=now) | Q(id__in=found)
    return Q(start__gt=now) | begun & ~Q(id__in=found)


def costly_windows(group_id: str, now: datetime) -> QuerySet[MaintenanceWindow]:
    """The windows of a project that delivery computes: they are not over, and recur or have matchers."""
    computed = Q(recurrence__isnull=False) | Q(matchers__isnull=False)
    return MaintenanceWindow.objects.filter(not_over(now), computed, group_id=group_id)


def windows_in_effect(now: datetime) -> QuerySet[MaintenanceWindow]:
    """The windows of all projects that have begun and are not over; a recurring window may be in between."""
    return MaintenanceWindow.objects.filter(not_over(now), start__lte=now)


def muting_windows(alerts: Collection[Alert], *, now: datetime) -> dict[str, MaintenanceWindow]:
    """The window that mutes each alert now, by the alert's id: of its project and category.

    One query, however many alerts, and one more if a window selects hosts by their type.
    """
    groups = {alert.group_id for alert in alerts}
    rows = list(windows_in_effect(now).filter(group_id__in=groups)) if groups else []
    windows = {row.id: row for row in rows}
    active = _active_by_category(((row.group_id, row.alert_types, row.rule) for row in rows), now)
    subjects = _subjects(active, {alert.id: alert.facts for alert in alerts})
    found = (
        (alert.id, muting(active.get((alert.group_id, category_of(alert)), ()), subjects[alert.id]))
        for alert in alerts
    )
    return {alert_id: windows[by.window.id] for alert_id, by in found if by is not None}


def rules_since_start(alert: Alert, *, most: int) -> tuple[list[WindowRule], MatchSubject]:
    """The first windows that mute the alert and were not over when it started, as they are now, and the
    alert's subject, by which they select it."""
    windows = windows_of(alert.group_id).filter(
        not_over(alert.created), alert_types__contains=[category_of(alert)]
    )
    rules = [window.rule for window in windows]
    subject = subjects_of(rules, {alert.id: alert.facts})[alert.id]
    return [rule for rule in rules if rule.mutes(subject)][:most], subject


def category_of(alert: Alert) -> str:
    """The category of the alert, by which windows select alerts."""
    return EVENT_TYPES[EventType(alert.event_type)].category.value


def mutes_of(notifications: Collection[Notification], *, now: datetime) -> dict[str, Mute]:
    """The window that mutes each notification now, by the notification's id; locks the windows.

    The windows are locked until the transaction ends. Events without a project have no windows, and windows
    of a deleted project mute nothing.
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
    active = _active_by_category(((row[1], row[2], _rule_of(row)) for row in rows if row[1] in live), now)
    by_matchers = any(found.window.matchers for windows in active.values() for found in windows)
    facts = _facts(notifications) if by_matchers else {name: {} for name in categories}
    subjects = _subjects(active, facts)
    waiting: dict[tuple[str, str], list[str]] = {}
    for notification in notifications:
        if notification.id in categories:
            key = notification.group_id or "", categories[notification.id]
            waiting.setdefault(key, []).append(notification.id)
    mutes: dict[str, Mute] = {}
    # One window after the other, so that the patterns of each are compiled once.
    for key, windows in active.items():
        for window, until in windows:
            for name in waiting.get(key, ()):
                if name not in mutes and window.mutes(subjects[name]):
                    mutes[name] = Mute(window.id, until)
    return mutes


_Active = Mapping[tuple[str, str], Sequence[ActiveWindow]]
"""Active windows by project and category."""


def _active_by_category(rows: Iterable[tuple[str, Collection[str], WindowRule]], now: datetime) -> _Active:
    by_rule = {rule.id: (group_id, categories, rule) for group_id, categories, rule in rows}
    found: dict[tuple[str, str], list[ActiveWindow]] = {}
    for active in active_windows((rule for _, _, rule in by_rule.values()), now):
        group_id, categories, _ = by_rule[active.window.id]
        for category in categories:
            found.setdefault((group_id, category), []).append(active)
    return found


def _rule_of(row: Sequence[Any]) -> WindowRule:
    """The rule of a row of _ACTIVE."""
    window_id, _, _, start, end, recurrence, matchers = row
    return window_rule(
        id=window_id,
        start=start,
        end=end,
        recurrence=recurrence and orjson.loads(recurrence),
        matchers=matchers and orjson.loads(matchers),
    )


def _subjects(active: _Active, facts: Mapping[str, Facts]) -> dict[str, MatchSubject]:
    return subjects_of((found.window for windows in active.values() for found in windows), facts)


def subjects_of(windows: Iterable[WindowRule], facts: Mapping[str, Facts]) -> dict[str, MatchSubject]:
    """The subjects of alerts or notifications for the matchers of these windows; `facts` by their id.

    The type of a host is read only if a matcher asks for it.
    """
    types: dict[str, str] = {}
    if any(matcher.field is MatcherField.TYPE_NAME for window in windows for matcher in window.matchers):
        ids = {found["hostId"] for found in facts.values() if "hostId" in found}
        types = dict(Host.objects.filter(id__in=ids).values_list("id", "type_name"))
    return {
        name: subject_of(found, type_name=types.get(found.get("hostId", ""))) for name, found in facts.items()
    }


_ACTIVE = """
SELECT id, group_id, alert_types, start, "end", recurrence::text, matchers::text
  FROM alerting_maintenancewindow
 WHERE group_id = ANY(%(groups)s) AND start <= %(now)s
   AND ("end" > %(now)s OR recurrence IS NOT NULL AND (last_end IS NULL OR last_end > %(now)s))
   AND alert_types && %(types)s::varchar[]
 ORDER BY id FOR SHARE
"""


def _categories(notifications: Collection[Notification]) -> dict[str, str]:
    """By notification, the category of its alert or event; missing if that was deleted."""
    types = _of_subjects(notifications, "event_type", "event_type")
    return {name: EVENT_TYPES[EventType(found)].category.value for name, found in types.items()}


def _facts(notifications: Collection[Notification]) -> dict[str, Facts]:
    """By notification, the facts of its alert or event; missing if that was deleted."""
    return _of_subjects(notifications, "facts", "details")


def _of_subjects(notifications: Collection[Notification], of_alert: str, of_event: str) -> dict[str, Any]:
    """By notification, a column of its alert or of its event."""
    alerts = {notification.alert_id for notification in notifications if notification.alert_id}
    events = {notification.event_id for notification in notifications if notification.event_id}
    found = dict(Alert.objects.filter(id__in=alerts).values_list("id", of_alert))
    found |= dict(Event.objects.filter(id__in=events).values_list("id", of_event))
    return {
        notification.id: found[about]
        for notification in notifications
        if (about := notification.alert_id or notification.event_id) in found
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
    *, group_id: str, project: str, categories: Collection[str], is_narrow: bool = False, not_only: str = ""
) -> MuteExtent:
    """Return the extent of a window for these categories in a project."""
    counts = mute_counts([group_id])[group_id]
    return MuteExtent(
        categories=categories, project=project, counts=counts, is_narrow=is_narrow, not_only=not_only
    )


def window_extents(windows: Iterable[MaintenanceWindow]) -> dict[str, MuteExtent]:
    """Return the extent of each window, by its id."""
    listed = list(windows)
    counts = mute_counts({window.group_id for window in listed})
    return {
        window.id: MuteExtent(
            categories=window.alert_types,
            project=str(window.group),
            counts=counts[window.group_id],
            is_narrow=bool(window.matchers),
        )
        for window in listed
    }


MOST_OCCURRENCES: Final = 10
MOST_NAMED: Final = 100
"""The most hosts and alerts that a preview names; it counts all of them."""


@dataclass(frozen=True, slots=True)
class Muted:
    """The ids of the first muted hosts or alerts, and the number of all."""

    ids: list[str]
    count: int


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The next occurrences of a window, hosts by name, and open alerts, newest first."""

    rule: WindowRule
    occurrences: list[Occurrence]
    hosts: Muted
    alerts: Muted


def window_preview(*, group_id: str, values: Mapping[str, Any], now: datetime) -> WindowPreview:
    """Return the effect of a window in a project; `values` are of a valid document, by column.

    Hosts and alerts are muted during each occurrence, by the rule of delivery.
    """
    rule = window_rule(
        id="",
        start=values["start"],
        end=values["end"],
        recurrence=values.get("recurrence"),
        matchers=values.get("matchers"),
    )
    categories = values["alert_types"]
    return WindowPreview(
        rule=rule,
        occurrences=list(islice(rule.occurrences(now), MOST_OCCURRENCES)),
        hosts=_muted_hosts(group_id, rule) if Category.HOST.value in categories else Muted([], 0),
        alerts=_muted_alerts(group_id, rule, categories),
    )


def _muted_hosts(group_id: str, rule: WindowRule) -> Muted:
    hosts = hosts_of(group_id)
    if not rule.matchers:
        return Muted(list(hosts.values_list("id", flat=True)[:MOST_NAMED]), hosts.count())
    columns = ("id", "hostname", "port", "type_name", "replica_set_name")
    found = [row[0] for row in hosts.values_list(*columns) if rule.mutes(MatchSubject(*row[1:]))]
    return Muted(found[:MOST_NAMED], len(found))


def _muted_alerts(group_id: str, rule: WindowRule, categories: Collection[str]) -> Muted:
    types = [name.value for name, spec in EVENT_TYPES.items() if spec.category.value in categories]
    alerts = Alert.objects.filter(
        group_id=group_id, status=AlertStatus.OPEN.value, event_type__in=types
    ).order_by("-created", "-id")
    if not rule.matchers:
        return Muted(list(alerts.values_list("id", flat=True)[:MOST_NAMED]), alerts.count())
    subjects = subjects_of([rule], dict(alerts.values_list("id", "facts")))
    found = [alert_id for alert_id, subject in subjects.items() if rule.mutes(subject)]
    return Muted(found[:MOST_NAMED], len(found))


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A preview as the console shows it: four weeks, and the first hosts and alerts as rows."""

    preview: WindowPreview
    calendar: Calendar
    hosts: Sequence[Host]
    alerts: Sequence[Alert]

    @property
    def more_hosts(self) -> str:
        """The text at the end of the hosts."""
        return more_words(self.preview.hosts.count - len(self.hosts))

    @property
    def more_alerts(self) -> str:
        """The text at the end of the alerts."""
        return more_words(self.preview.alerts.count - len(self.alerts))


def shown_window(*, group_id: str, values: Mapping[str, Any], now: datetime) -> ShownWindow:
    """Return the effect of a window in a project for the console; `values` as of `window_preview`."""
    preview = window_preview(group_id=group_id, values=values, now=now)
    hosts = hosts_of(group_id).filter(id__in=preview.hosts.ids[:MOST_SHOWN])
    alerts = Alert.objects.filter(id__in=preview.alerts.ids[:MOST_SHOWN]).order_by("-created", "-id")
    return ShownWindow(preview, window_calendar(preview.rule, now), list(hosts), list(alerts))
