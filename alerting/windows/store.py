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
    ActiveRule,
    WindowRule,
    WindowState,
    active_rules,
    last_to_end_first,
    muting_rule,
)
from alerting.windows.subjects import MOST_LABELED_HOSTS, Subjects, TargetFacts, subjects_of
from events.models import Event
from events.types import EVENT_TYPES, EventType
from opsapi.fields import Among


def windows_of(group_id: str, *, unexpired_at: datetime | None = None) -> QuerySet[MaintenanceWindow]:
    """A project's windows, in the order of their start; `unexpired_at` leaves out windows expired by then."""
    windows = MaintenanceWindow.objects.filter(group_id=group_id).order_by("start", "id")
    return windows if unexpired_at is None else windows.filter(unexpired(unexpired_at))


def window_with_id(window_id: str, *, group_id: str) -> QuerySet[MaintenanceWindow]:
    """The window of a project with this ID: at most one row."""
    return windows_of(group_id).filter(id=window_id)


def unexpired(now: datetime) -> Q:
    """The windows that are pending or active."""
    recurs = Q(recurrence__isnull=False)
    return Q(end__gt=now) | recurs & (Q(last_end=None) | Q(last_end__gt=now))


def begun(now: datetime) -> Q:
    """The windows that are active, and recurring windows between two occurrences."""
    return unexpired(now) & Q(start__lte=now)


def in_state(windows: QuerySet[MaintenanceWindow], state: WindowState, now: datetime) -> Q:
    """The windows in a state. Python finds the active windows that recur."""
    if state is WindowState.EXPIRED:
        return ~unexpired(now)
    recurring = begun(now) & Q(recurrence__isnull=False)
    ids = [window.id for window in windows.filter(recurring) if window.rule.state(now) is WindowState.ACTIVE]
    if state is WindowState.ACTIVE:
        return Q(recurrence__isnull=True, start__lte=now, end__gt=now) | Q(id__in=ids)
    return Q(start__gt=now) | recurring & ~Q(id__in=ids)


def costly_windows(group_id: str, now: datetime) -> QuerySet[MaintenanceWindow]:
    """The windows of a project that take time to compute: unexpired windows that recur or have matchers."""
    is_costly = Q(recurrence__isnull=False) | Q(matchers__isnull=False)
    return MaintenanceWindow.objects.filter(unexpired(now), is_costly, group_id=group_id)


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
    of_groups = MaintenanceWindow.objects.filter(begun(now), group_id__in=by_group)
    windows = {window.id: window for window in of_groups} if by_group else {}
    muted, seconds = MutingWindows(), dict.fromkeys(sorted(by_group), COMPARE_SECONDS / max(1, len(by_group)))
    active = {}
    for group_id in seconds:
        budget = Budget(clock() + seconds[group_id], clock)
        try:
            active[group_id] = _active(
                (window for window in windows.values() if window.group_id == group_id), now, budget
            )
        except OutOfTimeError:
            muted.unknown |= {alert.id for alert in by_group[group_id]}
        seconds[group_id] = budget.left
    targets = {alert.id: TargetFacts(alert.group_id, alert.facts) for alert in alerts}
    rules = (current.rule for of_group in active.values() for current in of_group)
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
                    muted[alert.id] = windows[by.rule.id]
    return muted


def _active(windows: Iterable[MaintenanceWindow], now: datetime, budget: Budget) -> list[ActiveRule]:
    """The rules of the active windows of a project. Raises OutOfTimeError."""
    active = []
    for window in windows:
        budget.check()
        active += active_rules([window.rule], now)
    return last_to_end_first(active)


def _muting(
    active: Sequence[ActiveRule], alert: Alert, target: TargetFacts, subjects: Subjects, budget: Budget
) -> ActiveRule | None:
    """The rule that mutes the alert. Raises OutOfTimeError, also if it needs labels that were not read."""
    of_category = [current for current in active if category_of(alert) in current.rule.alert_types]
    compared = of_category
    if not subjects.has_labels_of(target):
        compared = [current for current in of_category if not current.rule.compares_labels]
    by = muting_rule(compared, subjects.of(target), budget.check)
    if by is None and len(compared) < len(of_category):
        raise OutOfTimeError
    return by


class RulesSinceStart(NamedTuple):
    """The rules of windows that mute an alert.

    `is_cut`: not all windows were compared in time.
    """

    rules: list[WindowRule]
    is_cut: bool


def rules_since_start(
    alert: Alert, *, most: int, clock: Callable[[], float] = time.thread_time
) -> RulesSinceStart:
    """The first windows that mute the alert and had not expired when it started, as they are now.

    `clock` is processor time, in seconds.
    """
    windows = windows_of(alert.group_id).filter(
        unexpired(alert.created), alert_types__contains=[category_of(alert)]
    )
    rules, target = [window.rule for window in windows], TargetFacts(alert.group_id, alert.facts)
    subjects = Subjects(rules, [target], most_hosts=MOST_LABELED_HOSTS)
    subject, has_labels = subjects.of(target), subjects.has_labels_of(target)
    budget, muting_rules, is_cut = Budget(clock() + COMPARE_SECONDS, clock), list[WindowRule](), False
    try:
        for rule in rules:
            if rule.compares_labels and not has_labels:
                is_cut = True
            elif rule.matches(subject, budget.check):
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
"""The versions of the windows of a project that have begun and have not expired, by the id of the window."""


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
    if not targets:
        return BegunSearches({}, {})
    searches, faults = dict[str, MuteSearch](), dict[str, Exception]()
    rules: dict[str, list[WindowRule]] = {group_id: [] for group_id in targets}
    window_ids = {window_id for group_id in targets for window_id in versions[group_id]}
    for window in MaintenanceWindow.objects.filter(Among("id", window_ids)).order_by("id"):
        try:
            rules[window.group_id].append(window.rule)
        except (LookupError, TypeError, ValueError) as error:
            faults[window.group_id] = error
    all_rules = [rule for of_project in rules.values() for rule in of_project]
    about = _about(
        {target_id for target_ids in targets.values() for target_id in target_ids},
        with_facts=any(rule.matchers for rule in all_rules),
    )
    facts = {
        target_id: TargetFacts(group_id, about[target_id].facts)
        for group_id, target_ids in targets.items()
        for target_id in target_ids
    }
    subjects = subjects_of(all_rules, facts)
    for group_id, target_ids in targets.items():
        if group_id not in faults:
            of_project = {
                target_id: MuteTarget(about[target_id].category, subjects[target_id])
                for target_id in sorted(target_ids)
            }
            searches[group_id] = MuteSearch(rules[group_id], versions[group_id], of_project, now)
    return BegunSearches(searches, faults)


class _About(NamedTuple):
    """The category of an alert or event, and its facts if they are needed; empty if it was deleted."""

    category: str
    facts: Mapping[str, Any]


_DELETED = _About("", {})


def _about(ids: AbstractSet[str], *, with_facts: bool) -> dict[str, _About]:
    """What alerts and events are about, by their ids."""
    of_alert = ("facts",) if with_facts else ()
    rows = list(Alert.objects.filter(Among("id", ids)).values_list("id", "event_type", *of_alert))
    if missing := ids - {row[0] for row in rows}:
        of_event = ("details",) if with_facts else ()
        events = Event.objects.filter(Among("id", missing))
        rows += events.values_list("id", "event_type", *of_event)
    known = {
        target_id: _About(EVENT_TYPES[EventType(event_type)].category.value, facts[0] if facts else {})
        for target_id, event_type, *facts in rows
    }
    return {target_id: known.get(target_id, _DELETED) for target_id in ids}
