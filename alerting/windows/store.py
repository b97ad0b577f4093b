"""Maintenance windows, the window that mutes each alert, and the search of delivery for such windows."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet

from alerting.budgets import Budget, OutOfTimeError
from alerting.incidents.models import Alert
from alerting.windows.models import MaintenanceWindow
from alerting.windows.mute_search import MuteSearch, MuteTarget
from alerting.windows.rules import (
    ActiveWindow,
    WindowRule,
    WindowState,
    active_windows,
    last_to_end_first,
    muting,
)
from alerting.windows.subjects import MOST_LABELED_HOSTS, Subjects, TargetFacts, subjects_of
from events.models import Event
from events.types import EVENT_TYPES, EventType
from opsapi.fields import Among


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
    ids = [row.id for row in windows.filter(begun) if row.rule.state(now) is WindowState.ACTIVE]
    if state is WindowState.ACTIVE:
        return Q(recurrence__isnull=True, start__lte=now, end__gt=now) | Q(id__in=ids)
    return Q(start__gt=now) | begun & ~Q(id__in=ids)


def costly_windows(group_id: str, now: datetime) -> QuerySet[MaintenanceWindow]:
    """The windows of a project that delivery computes: they are not over, and recur or have matchers."""
    computed = Q(recurrence__isnull=False) | Q(matchers__isnull=False)
    return MaintenanceWindow.objects.filter(not_over(now), computed, group_id=group_id)


COMPARE_SECONDS: Final = 1.0
"""The processor time that a page or an explanation spends on comparing alerts with windows."""


class MutingWindows(dict[str, MaintenanceWindow]):
    """The window that mutes each alert now, by the alert's id.

    `unknown`: the ids of other alerts, which were not compared with all windows in time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unknown: set[str] = set()

    def is_muted(self, alert_id: str) -> bool | None:
        """Whether a window mutes the alert; None if it is not known."""
        return None if alert_id in self.unknown else alert_id in self


def muting_windows(
    alerts: Collection[Alert], *, now: datetime, clock: Callable[[], float] = time.thread_time
) -> MutingWindows:
    """The window that mutes each alert now: of its project and category.

    One query, however many alerts, and a few more if a window selects hosts by their type or labels. The
    projects of the alerts have equal shares of COMPARE_SECONDS. `clock` is processor time, in seconds.
    """
    by_group: dict[str, list[Alert]] = {}
    for alert in alerts:
        by_group.setdefault(alert.group_id, []).append(alert)
    # A recurring window may be in between.
    begun = MaintenanceWindow.objects.filter(not_over(now), start__lte=now, group_id__in=by_group)
    windows = {row.id: row for row in begun} if by_group else {}
    muted, seconds = MutingWindows(), dict.fromkeys(sorted(by_group), COMPARE_SECONDS / max(1, len(by_group)))
    active = {}
    for group_id in seconds:
        budget = Budget(clock() + seconds[group_id], clock)
        try:
            active[group_id] = _active(
                (row for row in windows.values() if row.group_id == group_id), now, budget
            )
        except OutOfTimeError:
            muted.unknown |= {alert.id for alert in by_group[group_id]}
        seconds[group_id] = budget.left
    targets = {alert.id: TargetFacts(alert.group_id, alert.facts) for alert in alerts}
    rules = (current.window for of_group in active.values() for current in of_group)
    subjects = Subjects(rules, targets.values(), most_hosts=MOST_LABELED_HOSTS)
    for group_id, of_group in active.items():
        budget = Budget(clock() + seconds[group_id], clock)
        for alert in by_group[group_id]:
            try:
                by = _muting(of_group, alert, targets[alert.id], subjects, budget)
            except OutOfTimeError:
                muted.unknown.add(alert.id)
            else:
                if by is not None:
                    muted[alert.id] = windows[by.window.id]
    return muted


def _active(rows: Iterable[MaintenanceWindow], now: datetime, budget: Budget) -> list[ActiveWindow]:
    """The windows of a project with an occurrence in effect. Raises OutOfTimeError."""
    active = []
    for row in rows:
        budget.check()
        active += active_windows([row.rule], now)
    return last_to_end_first(active)


def _muting(
    active: Sequence[ActiveWindow], alert: Alert, target: TargetFacts, subjects: Subjects, budget: Budget
) -> ActiveWindow | None:
    """The window that mutes the alert. Raises OutOfTimeError, also if it needs labels that were not read."""
    of_category = [current for current in active if category_of(alert) in current.window.categories]
    compared = of_category
    if not subjects.has_labels_of(target):
        compared = [current for current in of_category if not current.window.compares_labels]
    by = muting(compared, subjects.of(target), budget.check)
    if by is None and len(compared) < len(of_category):
        raise OutOfTimeError
    return by


class RulesSinceStart(NamedTuple):
    """Windows that mute an alert.

    `is_cut`: not all windows were compared in time.
    """

    rules: list[WindowRule]
    is_cut: bool


def rules_since_start(
    alert: Alert, *, most: int, clock: Callable[[], float] = time.thread_time
) -> RulesSinceStart:
    """The first windows that mute the alert and were not over when it started, as they are now.

    `clock` is processor time, in seconds.
    """
    windows = windows_of(alert.group_id).filter(
        not_over(alert.created), alert_types__contains=[category_of(alert)]
    )
    rules, target = [window.rule for window in windows], TargetFacts(alert.group_id, alert.facts)
    subjects = Subjects(rules, [target], most_hosts=MOST_LABELED_HOSTS)
    subject, has_labels = subjects.of(target), subjects.has_labels_of(target)
    budget, muting_rules, is_cut = Budget(clock() + COMPARE_SECONDS, clock), list[WindowRule](), False
    try:
        for rule in rules:
            if rule.compares_labels and not has_labels:
                is_cut = True
            elif rule.mutes(subject, budget.check):
                muting_rules.append(rule)
            if len(muting_rules) == most:
                break
    except OutOfTimeError:
        is_cut = True
    return RulesSinceStart(muting_rules, is_cut)


def category_of(alert: Alert) -> str:
    """The category of the alert, by which windows select alerts."""
    return EVENT_TYPES[EventType(alert.event_type)].category.value


Versions = Mapping[str, str]
"""The versions of the windows of a project that have begun and are not over, by the id of the window."""


class BegunSearches(NamedTuple):
    """The searches of projects, and the faults of projects with a window that cannot be read."""

    searches: dict[str, MuteSearch]
    faults: dict[str, Exception]


def mute_searches(
    targets: Mapping[str, AbstractSet[str]], versions: Mapping[str, Versions], *, now: datetime
) -> BegunSearches:
    """The searches for the windows of projects that mute alerts and events now.

    `targets` are the ids of alerts and events by project. A window that has changed since its version was
    read makes a search invalid, as any change does. A few queries, however many projects.
    """
    begun = BegunSearches({}, {})
    if not targets:
        return begun
    rules: dict[str, list[WindowRule]] = {group_id: [] for group_id in targets}
    ids = {window_id for group_id in targets for window_id in versions[group_id]}
    for row in MaintenanceWindow.objects.filter(Among("id", ids)).order_by("id"):
        try:
            rules[row.group_id].append(row.rule)
        except (LookupError, TypeError, ValueError) as error:
            begun.faults[row.group_id] = error
    windows = [rule for of_project in rules.values() for rule in of_project]
    about = _about({name for names in targets.values() for name in names}, _compare_facts(windows))
    facts = {
        name: TargetFacts(group_id, about[name].facts if name in about else {})
        for group_id, names in targets.items()
        for name in names
    }
    subjects = subjects_of(windows, facts)
    for group_id, names in targets.items():
        if group_id not in begun.faults:
            of_project = {
                name: MuteTarget(about[name].category if name in about else "", subjects[name])
                for name in sorted(names)
            }
            begun.searches[group_id] = MuteSearch(rules[group_id], versions[group_id], of_project, now)
    return begun


def _compare_facts(windows: Iterable[WindowRule]) -> bool:
    return any(window.matchers for window in windows)


class _About(NamedTuple):
    """The category of an alert or event, and its facts if they are needed."""

    category: str
    facts: Mapping[str, Any]


def _about(ids: AbstractSet[str], with_facts: bool) -> dict[str, _About]:
    """What alerts and events are about, by their ids; missing if the alert or event was deleted."""
    of_alert = ("facts",) if with_facts else ()
    rows = list(Alert.objects.filter(Among("id", ids)).values_list("id", "event_type", *of_alert))
    if missing := ids - {row[0] for row in rows}:
        of_event = ("details",) if with_facts else ()
        events = Event.objects.filter(Among("id", missing))
        rows += events.values_list("id", "event_type", *of_event)
    return {
        name: _About(EVENT_TYPES[EventType(event_type)].category.value, facts[0] if facts else {})
        for name, event_type, *facts in rows
    }
