"""What people see of a maintenance window: its extent, and a preview of its effect."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

import orjson
from django.db.models import Count, Model, QuerySet, TextField
from django.db.models.functions import Cast

from alerting.budgets import Budget, OutOfTimeError, slot_of
from alerting.configs.matchers import MatchSubject
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.windows.calendar import Calendar, window_calendar
from alerting.windows.models import MaintenanceWindow
from alerting.windows.recurrence import Occurrence
from alerting.windows.rules import MuteCounts, MuteExtent, WindowRule
from alerting.windows.subjects import MOST_LABELED_HOSTS, Subjects, TargetFacts
from automation.hosts.store import facts_of_replica_set, hosts_of
from automation.labels import LabelSets, label_texts
from automation.models import Agent, Cluster, Host, ReplicaSet
from automation.quantities import counted_words
from events.types import EVENT_TYPES, Category, EventType
from opsapi.api.errors import ApiError
from opsapi.first_rows import MOST_SHOWN, FirstRows, more_words

_TARGETS: Mapping[Category, type[Model]] = {
    Category.HOST: Host,
    Category.REPLICA_SET: ReplicaSet,
    Category.CLUSTER: Cluster,
    Category.AGENT: Agent,
}


def mute_counts(group_ids: Collection[str]) -> dict[str, MuteCounts]:
    """Return the numbers of objects and open alerts in each category, by project."""
    targets: dict[str, dict[Category, int]] = {id_: {} for id_ in group_ids}
    for category, model in _TARGETS.items():
        rows = model._default_manager.filter(group_id__in=group_ids).order_by()
        for group_id, count in rows.values_list("group_id").annotate(Count("pk")):
            targets[group_id][category] = count
    alerts: dict[str, dict[Category, int]] = {id_: defaultdict(int) for id_ in group_ids}
    opened = Alert.objects.filter(group_id__in=group_ids, status=AlertStatus.OPEN.value).order_by()
    for group_id, event_type, count in opened.values_list("group_id", "event_type").annotate(Count("pk")):
        alerts[group_id][EVENT_TYPES[EventType(event_type)].category] += count
    return {id_: MuteCounts(targets[id_], alerts[id_]) for id_ in group_ids}


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
_NEXT_DATES: Final = 4
"""The occurrences that the console names."""
MOST_NAMED: Final = 100
"""The most hosts and alerts that a preview names; it counts all of them."""


@dataclass(frozen=True, slots=True)
class MutedRows:
    """The ids of the first muted hosts or alerts, and the number of all.

    `compared`: the number that was compared before the time was over, with this result; None if all were.
    """

    ids: list[str]
    count: int
    compared: int | None = None


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The next occurrences of a window, hosts by name, and open alerts, newest first.

    `gaps`: see `alerting.windows.recurrence.clock_gaps`.
    """

    occurrences: list[Occurrence]
    hosts: MutedRows
    alerts: MutedRows
    gaps: Sequence[Occurrence] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all hosts and alerts were compared."""
        return self.hosts.compared is None and self.alerts.compared is None


SECONDS: Final = 5.0
"""The longest preview of a window with matchers."""
_HOST_SECONDS: Final = 3.0
"""The time after which the remaining hosts are left out, so that some is left for alerts."""
_SET_SECONDS: Final = 1.0
"""The time for the replica sets that a page of the console names in addition."""


def window_preview(
    *,
    group_id: str,
    rule: WindowRule,
    now: datetime,
    clock: Callable[[], float] = time.monotonic,
) -> WindowPreview:
    """Return the effect of a window in a project.

    Hosts and alerts are muted during each occurrence, by the rule of delivery. A preview with matchers ends
    with its time, and holds a slot of dry runs. `clock` is monotonic, in seconds.

    Raises:
        ApiError: RATE_LIMITED, when dry runs and other previews leave no room.
    """
    begun = clock()
    with slot_of(group_id) if rule.matchers else nullcontext():
        hosts = _muted_hosts(group_id, rule, Budget(begun + _HOST_SECONDS, clock))
        alerts = _muted_alerts(group_id, rule, Budget(begun + SECONDS, clock))
    return WindowPreview(_next_occurrences(rule, now), hosts, alerts, rule.gaps(now))


def _next_occurrences(rule: WindowRule, now: datetime) -> list[Occurrence]:
    return list(islice(rule.occurrences(now), MOST_OCCURRENCES))


def _muted_hosts(group_id: str, rule: WindowRule, budget: Budget) -> MutedRows:
    if Category.HOST.value not in rule.alert_types:
        return MutedRows([], 0)
    hosts = hosts_of(group_id)
    if not rule.matchers:
        return MutedRows(list(hosts.values_list("id", flat=True)[:MOST_NAMED]), hosts.count())
    return _muted(_subjects_of_hosts(hosts, budget), rule, budget)


def _subjects_of_hosts(hosts: QuerySet[Host], budget: Budget) -> Iterator[tuple[str, MatchSubject]]:
    """Raises OutOfTimeError."""
    with budget.statement():
        # As text, because many hosts have equal labels: each text is decoded once.
        rows = list(
            hosts.values_list(
                "id", "hostname", "port", "type_name", "replica_set_name", Cast("labels", TextField())
            )
        )
    label_sets: dict[str | None, LabelSets] = {}
    for host_id, hostname, port, type_name, replica_set_name, text in rows:
        if text not in label_sets:
            label_sets[text] = (label_texts(orjson.loads(text) if text else None),)
        yield host_id, MatchSubject(hostname, port, type_name, replica_set_name, labels=label_sets[text])


def _muted_alerts(group_id: str, rule: WindowRule, budget: Budget) -> MutedRows:
    types = [name.value for name, spec in EVENT_TYPES.items() if spec.category.value in rule.alert_types]
    alerts = Alert.objects.filter(
        group_id=group_id, status=AlertStatus.OPEN.value, event_type__in=types
    ).order_by("-created", "-id")
    if not rule.matchers:
        return MutedRows(list(alerts.values_list("id", flat=True)[:MOST_NAMED]), alerts.count())
    return _muted(_subjects_of_alerts(group_id, rule, alerts, budget), rule, budget)


def _subjects_of_alerts(
    group_id: str, rule: WindowRule, alerts: QuerySet[Alert], budget: Budget
) -> Iterator[tuple[str, MatchSubject]]:
    """Raises OutOfTimeError."""
    with budget.statement():
        targets = {
            alert_id: TargetFacts(group_id, facts) for alert_id, facts in alerts.values_list("id", "facts")
        }
        subjects = Subjects([rule], targets.values())
    for alert_id, target in targets.items():
        yield alert_id, subjects.of(target)


def _muted(rows: Iterable[tuple[str, MatchSubject]], rule: WindowRule, budget: Budget) -> MutedRows:
    """Compare rows, by their id, until the time is over."""
    muted: list[str] = []
    compared = 0
    try:
        for row_id, subject in rows:
            if rule.matches(subject, budget.check):
                muted.append(row_id)
            compared += 1
    except OutOfTimeError:
        return MutedRows(muted[:MOST_NAMED], len(muted), compared)
    return MutedRows(muted[:MOST_NAMED], len(muted))


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A preview as the console shows it: four weeks, and the first hosts and alerts as rows.

    `loud_sets` are replica sets of muted hosts whose own alerts, such as NO_PRIMARY, the window does not
    mute.
    """

    preview: WindowPreview
    calendar: Calendar
    hosts: Sequence[Host]
    alerts: Sequence[Alert]
    loud_sets: FirstRows[ReplicaSet]
    note: str = ""
    """Why the preview is incomplete."""

    @property
    def next_dates(self) -> Sequence[tuple[str, Occurrence]]:
        """The next occurrences, with their local times in the zone of the calendar."""
        zone = ZoneInfo(self.calendar.zone)
        return [
            (_local_words(occurrence, zone), occurrence)
            for occurrence in self.preview.occurrences[:_NEXT_DATES]
        ]

    @property
    def more_hosts(self) -> str:
        """The text at the end of the hosts."""
        return more_words(self.preview.hosts.count - len(self.hosts))

    @property
    def more_alerts(self) -> str:
        """The text at the end of the alerts."""
        return more_words(self.preview.alerts.count - len(self.alerts))


def _local_words(occurrence: Occurrence, zone: ZoneInfo) -> str:
    """For example: Sun 2026-11-29 02:00 to 04:00."""
    start, end = occurrence.start.astimezone(zone), occurrence.end.astimezone(zone)
    until = f"{end:%H:%M}" if start.date() == end.date() else f"{end:%a %Y-%m-%d %H:%M}"
    return f"{start:%a %Y-%m-%d %H:%M} to {until}"


def shown_window(*, group_id: str, rule: WindowRule, now: datetime, zone: str) -> ShownWindow:
    """Return the effect of a window in a project for the console.

    `zone`: the time zone in which a window that does not recur is shown.

    When dry runs and other previews leave no room, no host and no alert is compared, and the note says so.
    """
    note = ""
    try:
        preview = window_preview(group_id=group_id, rule=rule, now=now)
    except ApiError as refusal:
        none = MutedRows([], 0, 0)
        preview = WindowPreview(_next_occurrences(rule, now), none, none, rule.gaps(now))
        note = f"Hosts and alerts were not compared. {refusal.document()['detail']}"
    hosts = hosts_of(group_id).filter(id__in=preview.hosts.ids[:MOST_SHOWN])
    alerts = Alert.objects.filter(id__in=preview.alerts.ids[:MOST_SHOWN]).order_by("-created", "-id")
    calendar = window_calendar(rule, now, zone)
    budget = Budget(time.monotonic() + _SET_SECONDS, time.monotonic)
    loud_sets, is_cut = _loud_sets(group_id, rule, preview.hosts.ids, budget)
    note = note or ("" if preview.is_complete and not is_cut else _cut_words(preview))
    return ShownWindow(preview, calendar, list(hosts), list(alerts), loud_sets, note)


def _cut_words(preview: WindowPreview) -> str:
    parts = [
        counted_words(rows.compared, noun)
        for rows, noun in ((preview.hosts, "host"), (preview.alerts, "open alert"))
        if rows.compared is not None
    ]
    compared = f"compared {' and '.join(parts)}" if parts else "did not compare all replica sets"
    return f"The preview took too long. It {compared}, so the window can mute more than is shown."


def _loud_sets(
    group_id: str, rule: WindowRule, host_ids: Sequence[str], budget: Budget
) -> tuple[FirstRows[ReplicaSet], bool]:
    """Of the replica sets of the named hosts, the sets whose alerts the window does not mute.

    Also whether the time was over before all were compared.
    """
    of_hosts = Host.objects.filter(id__in=host_ids, replica_set__isnull=False)
    sets = ReplicaSet.objects.filter(id__in=of_hosts.values("replica_set_id")).select_related("cluster")
    rows, is_cut = list(sets.order_by("name", "id")), False
    if rows and Category.REPLICA_SET.value in rule.alert_types:
        targets = {row.id: TargetFacts(group_id, facts_of_replica_set(row).document()) for row in rows}
        subjects = Subjects([rule], targets.values(), most_hosts=MOST_LABELED_HOSTS)
        rows = [row for row in rows if subjects.has_labels_of(targets[row.id])]
        muted = _muted(((row.id, subjects.of(targets[row.id])) for row in rows), rule, budget)
        is_cut = len(rows) < len(targets) or muted.compared is not None
        rows = [row for row in rows[: muted.compared] if row.id not in muted.ids]
    return FirstRows(rows[:MOST_SHOWN], len(rows)), is_cut


@dataclass(frozen=True, slots=True)
class MutedHosts:
    """The number of hosts that a window mutes; None if they were not compared in time.

    `has_loud_sets`: some of them belong to replica sets whose own alerts the window does not mute.
    """

    count: int | None
    has_loud_sets: bool = False


def muted_hosts(
    windows: Iterable[MaintenanceWindow],
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, MutedHosts]:
    """Return the hosts that each window mutes, by the id of the window, in at most so many seconds.

    Windows that mute no alerts of hosts are left out.
    """
    budget, muted = Budget(clock() + seconds, clock), dict[str, MutedHosts]()
    for window in windows:
        if Category.HOST.value not in window.alert_types:
            continue
        try:
            budget.check()
        except OutOfTimeError:
            muted[window.id] = MutedHosts(None)
            continue
        rule = window.rule
        hosts = _muted_hosts(window.group_id, rule, budget)
        loud_sets, _ = _loud_sets(window.group_id, rule, hosts.ids, budget)
        count = hosts.count if hosts.compared is None else None
        muted[window.id] = MutedHosts(count, loud_sets.count > 0)
    return muted
