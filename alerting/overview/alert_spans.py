"""Alerts over time, by set or host, for the timeline of alerts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db.models import F, Model, QuerySet

from alerting.incidents.choices import AlertStatus
from alerting.incidents.inbox import length_words
from alerting.incidents.models import Alert
from alerting.incidents.presentation import severity_badge
from alerting.incidents.rule_words import rule_of, with_rules
from alerting.incidents.targets import targets_of
from alerting.overview.host_mutes import HostMutes, host_mutes
from automation.models import Host
from events.wording import target_words
from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import page_url
from opsapi.console.widgets import Cell
from opsapi.first_rows import in_visible_scope

MOST_ALERTS: Final = 300
"""The most open alerts, and the most ended alerts, that are drawn."""
_LEAST_WIDTH: Final = 0.5
"""Percent of the width: shorter alerts can be seen and hit too."""


@dataclass(frozen=True, slots=True)
class SpanBar:
    """An alert or a muted time: its left edge and its width in percent, and its lane from the top."""

    left: float
    width: float
    lane: int
    words: str
    url: str = ""
    tone: str = ""

    @property
    def top(self) -> int:
        return self.lane * LANE + 3


LANE: Final = 22
"""The height of a lane in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanGroup:
    """The alerts about a set or a host, with the times in which windows mute its hosts."""

    label: Cell
    project: str
    bars: Sequence[SpanBar]
    mutes: Sequence[SpanBar]

    @property
    def height(self) -> int:
        return (max(bar.lane for bar in self.bars) + 1) * LANE + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """An alert in the table."""

    target: Cell
    alert: Cell
    began: datetime
    length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSpans:
    """The alerts of a time range; `left_out` says which are missing."""

    groups: Sequence[SpanGroup]
    rows: Sequence[SpanRow]
    left_out: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Places in percent of a time range."""

    since: datetime
    until: datetime

    def bar(self, since: datetime, until: datetime) -> tuple[float, float]:
        """The left edge and the width."""
        left = max(0.0, self._place(since))
        width = max(_LEAST_WIDTH, min(100.0, self._place(until)) - left)
        return round(min(left, 100 - width), 2), round(width, 2)

    def _place(self, moment: datetime) -> float:
        return 100 * ((moment - self.since) / (self.until - self.since))


def alert_spans(
    visible_scope: VisibleScope, *, since: datetime, until: datetime, group_id: str | None = None
) -> AlertSpans:
    """The opened alerts of a time range, the groups with the newest alerts first."""
    alerts = in_visible_scope(Alert.objects.filter(group__deleted=None), visible_scope)
    if group_id:
        alerts = alerts.filter(group_id=group_id)
    rows, is_cut = _alerts(alerts, since)
    targets = targets_of(rows)
    hosts = {target.id: target for target in targets.values() if isinstance(target, Host)}
    mutes = host_mutes(list(hosts.values()), since, until)
    of_group: dict[tuple[str, str], list[Alert]] = defaultdict(list)
    for alert in rows:
        of_group[alert.group_id, _name(alert, targets.get(alert.id))].append(alert)
    scale = _Scale(since, until)
    words = {alert.id: rule_of(alert, visible_scope) for alert in rows}
    left_out = [f"Only the newest {MOST_ALERTS} open and the newest {MOST_ALERTS} ended alerts are shown."]
    if mutes.is_cut:
        left_out.append("Some maintenance windows are not shown.")
    return AlertSpans(
        groups=[
            _group(name, some, words, targets, mutes=mutes, scale=scale)
            for (_, name), some in of_group.items()
        ],
        rows=[_row(alert, words[alert.id], targets.get(alert.id), until) for alert in rows],
        left_out=left_out[0 if is_cut else 1 :],
    )


def _alerts(alerts: QuerySet[Alert], since: datetime) -> tuple[list[Alert], bool]:
    """The newest first, in two statements along indexes."""
    opened = alerts.filter(status=AlertStatus.OPEN.value).order_by("-created", "-id")
    ended = alerts.filter(resolved__gte=since, opens__lte=F("resolved")).order_by("-resolved", "-id")
    some = [list(with_rules(part.select_related("group"))[: MOST_ALERTS + 1]) for part in (opened, ended)]
    rows = [alert for part in some for alert in part[:MOST_ALERTS]]
    newest = sorted(rows, key=lambda alert: (alert.created, alert.id), reverse=True)
    return newest, any(len(part) > MOST_ALERTS for part in some)


def _name(alert: Alert, target: Model | None) -> str:
    """The set of the target; its host or cluster if it has none."""
    of_host = target.replica_set_name if isinstance(target, Host) else None
    return of_host or alert.facts.get("replicaSetName") or target_words(alert.facts)


def _group(
    name: str,
    alerts: Sequence[Alert],
    rules: Mapping[str, str],
    targets: Mapping[str, Model],
    *,
    mutes: HostMutes,
    scale: _Scale,
) -> SpanGroup:
    first: Any = targets.get(alerts[0].id)
    about = first.replica_set or first if isinstance(first, Host) else first
    ids = {target.id for alert in alerts if isinstance(target := targets.get(alert.id), Host)}
    muted = {
        (mute.window.rule.title, scale.bar(mute.since, mute.until))
        for mute in mutes.mutes
        if mute.host_id in ids
    }
    return SpanGroup(
        label=Cell(name, page_url(about) if about else ""),
        project=str(alerts[0].group),
        bars=list(_bars(alerts, rules, scale)),
        mutes=[SpanBar(*place, 0, f"muted by {title}") for title, place in sorted(muted)],
    )


def _bars(alerts: Sequence[Alert], rules: Mapping[str, str], scale: _Scale) -> Iterator[SpanBar]:
    """Each in the first lane that is free at its time."""
    ends: list[float] = []
    for alert in sorted(alerts, key=lambda alert: (alert.created, alert.id)):
        left, width = scale.bar(alert.created, alert.resolved or scale.until)
        lane = next((place for place, end in enumerate(ends) if end <= left), len(ends))
        ends[lane:] = [left + width, *ends[lane + 1 :]]
        words = f"{rules[alert.id]}, {target_words(alert.facts)}: {length_words(alert, scale.until)}"
        tone = "ended" if alert.resolved else severity_badge(alert)[1].value
        yield SpanBar(left, width, lane, words, page_url(alert), tone)


def _row(alert: Alert, words: str, target: Model | None, now: datetime) -> SpanRow:
    return SpanRow(
        target=Cell(target_words(alert.facts), page_url(target) if target else ""),
        alert=Cell(words, page_url(alert)),
        began=alert.created,
        length=length_words(alert, now),
    )


def ticks(since: datetime, until: datetime, zone: str) -> list[tuple[float, str]]:
    """Whole hours of a day, or the days of a longer range: their places in percent and their local words."""
    scale, is_day = _Scale(since, until), until - since <= timedelta(days=1)
    step = timedelta(hours=3) if is_day else timedelta(days=1)
    moment = since.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    places = []
    while moment < until:
        if moment > since:
            words = f"{moment:%H:%M}" if is_day else f"{moment:%d %b}"
            places.append((scale.bar(moment, moment)[0], words))
        moment += step
    return places
