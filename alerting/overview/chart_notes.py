"""Alerting on the charts of hosts: the thresholds that watch them, and the times with an alert or muted."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from django.db.models import F, Q

from alerting.configs.matchers import matches
from alerting.configs.models import AlertConfig
from alerting.configs.store import config_view, covering
from alerting.configs.wording import condition_words
from alerting.engine.observations import Condition, Observation
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import TARGET_NAME, Alert
from alerting.overview.host_mutes import HostMute, host_mutes
from automation.hosts.store import host_state
from automation.models import Host
from events.types import EventType
from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import page_url
from opsapi.console.charts import ChartNotes, ChartQuestion, Level, Shade
from opsapi.fields import Among

_MOST_CONFIGS: Final = 200
_MOST_ALERTS: Final = 300


def alerting_notes(visible_scope: VisibleScope, question: ChartQuestion) -> ChartNotes:
    """Return the thresholds of enabled configurations that match a shown host, and the opened alerts."""
    hosts: list[Host] = list(question.rows)
    if not hosts:
        return ChartNotes()
    levels, all_levels = _levels(visible_scope, hosts, question)
    spans, all_spans = _spans(hosts, question)
    mutes = host_mutes(hosts, question.since, question.until)
    left_out = []
    if not all_levels:
        left_out.append(f"Only the thresholds of {_MOST_CONFIGS} alert configurations are drawn.")
    if not all_spans:
        left_out.append(f"Only the newest {_MOST_ALERTS} alerts are drawn.")
    if mutes.is_cut:
        left_out.append("Some maintenance windows are not drawn.")
    return ChartNotes(levels=levels, spans=[*_muted(hosts, mutes.mutes), *spans], left_out=left_out)


def _muted(hosts: list[Host], mutes: Sequence[HostMute]) -> Iterator[Shade]:
    """The times of windows; once, if a window mutes all hosts."""
    together: dict[tuple[str, datetime], list[HostMute]] = defaultdict(list)
    for mute in mutes:
        together[mute.window.id, mute.since].append(mute)
    for same in together.values():
        for mute in same[:1] if len(same) == len(hosts) else same:
            row = "" if len(same) == len(hosts) else mute.host_id
            label = f"muted by {mute.window.rule.title}"
            yield Shade(mute.since, mute.until, label, page_url(mute.window), row=row, is_mute=True)


def _levels(
    visible_scope: VisibleScope, hosts: list[Host], question: ChartQuestion
) -> tuple[dict[str, list[Level]], bool]:
    configs = AlertConfig.objects.filter(
        covering(hosts[0].group_id),
        event_type=EventType.OUTSIDE_METRIC_THRESHOLD.value,
        metric_threshold__metricName__in=question.metrics,
        enabled=True,
        deleted=None,
    ).order_by("created", "id")[: _MOST_CONFIGS + 1]
    subjects = [
        Observation(EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED, host_state(host)).subject
        for host in hosts
    ]
    levels: dict[str, list[Level]] = defaultdict(list)
    for config in configs[:_MOST_CONFIGS]:
        view = config_view(config)
        threshold = view.metric_threshold
        if threshold is None or not any(matches(view.matchers, subject) for subject in subjects):
            continue
        words = view.name or condition_words(view, with_matchers=False)
        is_shown = visible_scope.everything or not view.is_global
        level = Level(threshold.limit, words, config.created, page_url(config) if is_shown else "")
        levels[threshold.metric.value].append(level)
    return levels, len(configs) <= _MOST_CONFIGS


def _spans(hosts: list[Host], question: ChartQuestion) -> tuple[list[Shade], bool]:
    """The opened alerts about the hosts, and about replica sets of theirs that cover all hosts."""
    sets = {host.replica_set_name for host in hosts}
    names = {host.hostname.lower() for host in hosts} | {name.lower() for name in sets if name}
    opened = Q(status=AlertStatus.OPEN.value) | Q(resolved__gte=F("opens"))
    rows = (
        Alert.objects.filter(
            opened,
            Q(resolved=None) | Q(resolved__gte=question.since),
            group_id=hosts[0].group_id,
            created__lte=question.until,
        )
        .alias(target_name=TARGET_NAME)
        .filter(Among("target_name", names))
        .order_by("-created", "-id")[: _MOST_ALERTS + 1]
    )
    ids = {host.id for host in hosts}
    alerts = list(rows)
    spans = [
        Shade(
            alert.created,
            alert.resolved,
            alert.words,
            page_url(alert),
            metric=alert.metric_name or "",
            row=alert.facts.get("hostId") or "",
        )
        for alert in alerts[:_MOST_ALERTS]
        if (
            alert.facts["hostId"] in ids if alert.facts.get("hostId") else alert.facts.get("hostname") is None
        )
    ]
    return spans, len(alerts) <= _MOST_ALERTS
