"""Maintenance windows, and the window that mutes each alert or notification: the rule of delivery."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q, QuerySet

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.rules.delivery_policy import Mute
from alerting.rules.matchers import MatchSubject
from alerting.rules.windows import (
    ActiveWindow,
    WindowRule,
    WindowState,
    active_windows,
    muting,
    window_rule,
)
from alerting.selectors.subjects import TargetFacts, subjects_of
from events.models import Event
from events.types import EVENT_TYPES, EventType
from opsapi.fields import Among
from opsapi.sql import fetch_rows


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


def muting_windows(alerts: Collection[Alert], *, now: datetime) -> dict[str, MaintenanceWindow]:
    """The window that mutes each alert now, by the alert's id: of its project and category.

    One query, however many alerts, and a few more if a window selects hosts by their type or labels.
    """
    groups = {alert.group_id for alert in alerts}
    # A recurring window may be in between.
    begun = MaintenanceWindow.objects.filter(not_over(now), start__lte=now, group_id__in=groups)
    rows = list(begun) if groups else []
    windows = {row.id: row for row in rows}
    active = _active_by_category(((row.group_id, row.alert_types, row.rule) for row in rows), now)
    subjects = _subjects(active, {alert.id: TargetFacts(alert.group_id, alert.facts) for alert in alerts})
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
    subject = subjects_of(rules, {alert.id: TargetFacts(alert.group_id, alert.facts)})[alert.id]
    return [rule for rule in rules if rule.mutes(subject)][:most], subject


def category_of(alert: Alert) -> str:
    """The category of the alert, by which windows select alerts."""
    return EVENT_TYPES[EventType(alert.event_type)].category.value


_LOCK_BEGUN = """
SELECT id, group_id, alert_types, start, "end", recurrence::text, matchers::text
  FROM alerting_maintenancewindow
 WHERE group_id = ANY(%(groups)s) AND start <= %(now)s
   AND ("end" > %(now)s OR recurrence IS NOT NULL AND (last_end IS NULL OR last_end > %(now)s))
   AND alert_types && %(types)s::varchar[]
 ORDER BY id FOR SHARE
"""
"""SQL: the windows that have begun and are not over, locked until the transaction ends."""


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
    types = sorted(set(categories.values()))
    begun = fetch_rows(_LOCK_BEGUN, {"groups": sorted(groups), "types": types, "now": now})
    # Read last, and without a lock: deleting a project locks its windows first.
    live = set(Project.objects.filter(id__in={row[1] for row in begun}).values_list("id", flat=True))
    active = _active_by_category(((row[1], row[2], _rule_of(row)) for row in begun if row[1] in live), now)
    by_matchers = any(found.window.matchers for windows in active.values() for found in windows)
    facts = _of_subjects(notifications, "facts", "details") if by_matchers else {}
    subjects = _subjects(
        active,
        {
            notification.id: TargetFacts(notification.group_id or "", facts.get(notification.id, {}))
            for notification in notifications
            if notification.id in categories
        },
    )
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


_ActiveWindows = Mapping[tuple[str, str], Sequence[ActiveWindow]]
"""Active windows by project and category."""


def _active_by_category(
    rows: Iterable[tuple[str, Collection[str], WindowRule]], now: datetime
) -> _ActiveWindows:
    by_rule = {rule.id: (group_id, categories, rule) for group_id, categories, rule in rows}
    found: dict[tuple[str, str], list[ActiveWindow]] = {}
    for active in active_windows((rule for _, _, rule in by_rule.values()), now):
        group_id, categories, _ = by_rule[active.window.id]
        for category in categories:
            found.setdefault((group_id, category), []).append(active)
    return found


def _rule_of(row: Sequence[Any]) -> WindowRule:
    """The rule of a row of _LOCK_BEGUN."""
    window_id, _, _, start, end, recurrence, matchers = row
    return window_rule(
        id=window_id,
        start=start,
        end=end,
        recurrence=recurrence and orjson.loads(recurrence),
        matchers=matchers and orjson.loads(matchers),
    )


def _subjects(active: _ActiveWindows, targets: Mapping[str, TargetFacts]) -> dict[str, MatchSubject]:
    return subjects_of((found.window for windows in active.values() for found in windows), targets)


def _categories(notifications: Collection[Notification]) -> dict[str, str]:
    """By notification, the category of its alert or event; missing if that was deleted."""
    types = _of_subjects(notifications, "event_type", "event_type")
    return {name: EVENT_TYPES[EventType(found)].category.value for name, found in types.items()}


def _of_subjects(notifications: Collection[Notification], of_alert: str, of_event: str) -> dict[str, Any]:
    """By notification, a column of its alert or of its event; missing if that was deleted."""
    alerts = {notification.alert_id for notification in notifications if notification.alert_id}
    events = {notification.event_id for notification in notifications if notification.event_id}
    found = dict(Alert.objects.filter(Among("id", alerts)).values_list("id", of_alert))
    if events:
        found |= dict(Event.objects.filter(Among("id", events)).values_list("id", of_event))
    return {
        notification.id: found[about]
        for notification in notifications
        if (about := notification.alert_id or notification.event_id) in found
    }
