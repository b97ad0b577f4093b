"""The hosts and the open alerts of a project that a rule mutes, compared until the time is over."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from alerting.budgets import Budget, OutOfTimeError
from alerting.configs.matchers import MatchSubject
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.windows.rules import WindowRule
from alerting.windows.subjects import Subjects, TargetFacts
from automation.hosts.store import hosts_of
from automation.labels import LabelSets, label_texts
from automation.models import Host
from events.types import EVENT_TYPES, Category

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


def muted_host_rows(group_id: str, rule: WindowRule, budget: Budget) -> MutedRows:
    if Category.HOST.value not in rule.alert_types:
        return MutedRows([], 0)
    hosts = hosts_of(group_id)
    if not rule.matchers:
        return MutedRows(list(hosts.values_list("id", flat=True)[:MOST_NAMED]), hosts.count())
    return rows_that_match(rule, _subjects_of_hosts(hosts, budget), budget)


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


def muted_alert_rows(group_id: str, rule: WindowRule, budget: Budget) -> MutedRows:
    types = [name.value for name, spec in EVENT_TYPES.items() if spec.category.value in rule.alert_types]
    alerts = Alert.objects.filter(
        group_id=group_id, status=AlertStatus.OPEN.value, event_type__in=types
    ).order_by("-created", "-id")
    if not rule.matchers:
        return MutedRows(list(alerts.values_list("id", flat=True)[:MOST_NAMED]), alerts.count())
    return rows_that_match(rule, _subjects_of_alerts(group_id, rule, alerts, budget), budget)


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


def rows_that_match(rule: WindowRule, rows: Iterable[tuple[str, MatchSubject]], budget: Budget) -> MutedRows:
    """Return the rows whose subjects match, by their id, as far as they were compared in time."""
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
