"""What people see of a maintenance window: its extent, and a preview of its effect."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

import orjson
from django.db.models import Count, Model, TextField
from django.db.models.functions import Cast

from alerting.choices import AlertStatus
from alerting.models import Alert, MaintenanceWindow
from alerting.rules.matchers import MatchSubject
from alerting.rules.recurrence import Occurrence
from alerting.rules.window_calendar import Calendar, window_calendar
from alerting.rules.windows import MuteCounts, MuteExtent, WindowRule, window_rule
from alerting.selectors.subjects import TargetFacts, subjects_of
from automation.labels import LabelSets, label_texts
from automation.models import Agent, Cluster, Host, ReplicaSet
from automation.selectors.hosts import facts_of_replica_set, hosts_of
from events.types import EVENT_TYPES, Category, EventType
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
MOST_NAMED: Final = 100
"""The most hosts and alerts that a preview names; it counts all of them."""


@dataclass(frozen=True, slots=True)
class MutedRows:
    """The ids of the first muted hosts or alerts, and the number of all."""

    ids: list[str]
    count: int


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The next occurrences of a window, hosts by name, and open alerts, newest first."""

    rule: WindowRule
    occurrences: list[Occurrence]
    hosts: MutedRows
    alerts: MutedRows


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
        hosts=_muted_hosts(group_id, rule) if Category.HOST.value in categories else MutedRows([], 0),
        alerts=_muted_alerts(group_id, rule, categories),
    )


def _muted_hosts(group_id: str, rule: WindowRule) -> MutedRows:
    hosts = hosts_of(group_id)
    if not rule.matchers:
        return MutedRows(list(hosts.values_list("id", flat=True)[:MOST_NAMED]), hosts.count())
    # As text, because many hosts have equal labels: each text is decoded once.
    rows = hosts.values_list(
        "id", "hostname", "port", "type_name", "replica_set_name", Cast("labels", TextField())
    )
    label_sets: dict[str | None, LabelSets] = {}
    found = []
    for host_id, hostname, port, type_name, replica_set_name, text in rows:
        if text not in label_sets:
            label_sets[text] = (label_texts(orjson.loads(text) if text else None),)
        subject = MatchSubject(hostname, port, type_name, replica_set_name, labels=label_sets[text])
        if rule.mutes(subject):
            found.append(host_id)
    return MutedRows(found[:MOST_NAMED], len(found))


def _muted_alerts(group_id: str, rule: WindowRule, categories: Collection[str]) -> MutedRows:
    types = [name.value for name, spec in EVENT_TYPES.items() if spec.category.value in categories]
    alerts = Alert.objects.filter(
        group_id=group_id, status=AlertStatus.OPEN.value, event_type__in=types
    ).order_by("-created", "-id")
    if not rule.matchers:
        return MutedRows(list(alerts.values_list("id", flat=True)[:MOST_NAMED]), alerts.count())
    targets = {
        alert_id: TargetFacts(group_id, facts) for alert_id, facts in alerts.values_list("id", "facts")
    }
    subjects = subjects_of([rule], targets)
    found = [alert_id for alert_id, subject in subjects.items() if rule.mutes(subject)]
    return MutedRows(found[:MOST_NAMED], len(found))


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
    calendar = window_calendar(preview.rule, now)
    loud_sets = _loud_sets(group_id, preview, values["alert_types"])
    return ShownWindow(preview, calendar, list(hosts), list(alerts), loud_sets)


def _loud_sets(group_id: str, preview: WindowPreview, categories: Collection[str]) -> FirstRows[ReplicaSet]:
    """Of the replica sets of the named hosts, the sets whose alerts the window does not mute."""
    of_hosts = Host.objects.filter(id__in=preview.hosts.ids, replica_set__isnull=False)
    sets = ReplicaSet.objects.filter(id__in=of_hosts.values("replica_set_id")).select_related("cluster")
    rows = list(sets.order_by("name", "id"))
    if rows and Category.REPLICA_SET.value in categories:
        targets = {row.id: TargetFacts(group_id, facts_of_replica_set(row).document()) for row in rows}
        subjects = subjects_of([preview.rule], targets)
        rows = [row for row in rows if not preview.rule.mutes(subjects[row.id])]
    return FirstRows(rows[:MOST_SHOWN], len(rows))
