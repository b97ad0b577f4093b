"""The effect of a maintenance window before it is saved: occurrences, and muted hosts and alerts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from alerting.choices import AlertStatus
from alerting.models import Alert
from alerting.rules.matchers import MatchSubject
from alerting.rules.recurrence import Occurrence
from alerting.rules.window_calendar import Calendar, window_calendar
from alerting.rules.windows import WindowRule, window_rule
from alerting.selectors.windows import subjects_of
from automation.models import Host
from automation.selectors.hosts import hosts_of
from events.types import EVENT_TYPES, Category
from opsapi.first_rows import MOST_SHOWN, more_words

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

    occurrences: list[Occurrence]
    hosts: Muted
    alerts: Muted


def window_preview(*, group_id: str, values: Mapping[str, Any], now: datetime) -> WindowPreview:
    """Return the effect of a window in a project; `values` are of a valid document, by column.

    Hosts and alerts are muted during each occurrence, by the rule of delivery.
    """
    rule = _rule(values)
    categories = values["alert_types"]
    return WindowPreview(
        occurrences=list(islice(rule.occurrences(now), MOST_OCCURRENCES)),
        hosts=_muted_hosts(group_id, rule) if Category.HOST.value in categories else Muted([], 0),
        alerts=_muted_alerts(group_id, rule, categories),
    )


def _rule(values: Mapping[str, Any]) -> WindowRule:
    return window_rule(
        id="",
        start=values["start"],
        end=values["end"],
        recurrence=values.get("recurrence"),
        matchers=values.get("matchers"),
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
    return ShownWindow(preview, window_calendar(_rule(values), now), list(hosts), list(alerts))
