"""The page of an alert."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode

from alerting.configs.address_links import address_links
from alerting.configs.models import AlertConfig
from alerting.configs.rules import MetricThreshold
from alerting.configs.wording import value_words
from alerting.engine.console import RESEND, notification_badge
from alerting.engine.models import Notification
from alerting.engine.rules import muted_by
from alerting.incidents.choices import ACTIVE
from alerting.incidents.inbox import length_words
from alerting.incidents.models import Alert
from alerting.incidents.presentation import alert_badge, severity_badge
from alerting.incidents.rule_words import rule_words
from alerting.incidents.store import incident_summary
from alerting.incidents.tabs import AlertTab
from alerting.incidents.targets import targets_of
from alerting.insight.message_reasons import NotificationExplanation
from alerting.insight.questions import UserQuestion
from alerting.insight.timeline import AlertTimeline, alert_timeline
from alerting.insight.timeline_entries import (
    FIRST_ENTRIES,
    TimelineEntry,
    TimelineEntryKind,
    TimelineNotification,
    duration_words,
)
from alerting.windows.models import MaintenanceWindow
from alerting.windows.store import muting_windows
from automation.hosts.heartbeats import heartbeats
from automation.hosts.states import agent_state, host_state, measured_words
from automation.metrics import Metric
from automation.models import Agent, Host, ReplicaSet
from events.models import Event
from events.wording import target_words
from opsapi.api.principal import Operator
from opsapi.clock import age_words, ago_words, time_words, wire_time
from opsapi.console.admin_urls import action_url, list_url, name_of, page_url, page_url_of
from opsapi.console.display import Context, cut, urls_seen
from opsapi.console.widgets import Tone, number_of
from opsapi.first_rows import MOST_COUNTED, more_words
from opsapi.roles import Scope

ENTRY_BADGES: Mapping[TimelineEntryKind, tuple[str, Tone]] = {
    TimelineEntryKind.BEGAN: ("sensors", Tone.WARNING),
    TimelineEntryKind.OPENED: ("notifications_active", Tone.BAD),
    TimelineEntryKind.MUTED: ("build_circle", Tone.INFO),
    TimelineEntryKind.UNMUTED: ("build_circle", Tone.PLAIN),
    TimelineEntryKind.ACKNOWLEDGED: ("front_hand", Tone.INFO),
    TimelineEntryKind.UNACKNOWLEDGED: ("undo", Tone.PLAIN),
    TimelineEntryKind.LAPSED: ("hourglass_bottom", Tone.PLAIN),
    TimelineEntryKind.RESENT: ("replay", Tone.INFO),
    TimelineEntryKind.OTHER: ("history_edu", Tone.PLAIN),
    TimelineEntryKind.CLOSED: ("check_circle", Tone.GOOD),
    TimelineEntryKind.CANCELLED: ("cancel", Tone.PLAIN),
    TimelineEntryKind.NOTIFIED: ("mark_email_read", Tone.GOOD),
    TimelineEntryKind.NOT_YET: ("schedule_send", Tone.WARNING),
    TimelineEntryKind.NOT_NOTIFIED: ("unsubscribe", Tone.BAD),
}
"""An icon of the theme and a tone."""

MOST_NOTIFICATIONS_SHOWN = 40
"""Number of notifications on the page, the newest."""


def page_of(alert: Alert, operator: Operator, *, question: UserQuestion, now: datetime) -> Context:
    """The page of an alert for an operator, as the template needs it; `question` names a user to explain.

    Operators who cannot read global configurations see neither such a configuration nor its recipients.
    """
    sees_config = not alert.is_global or operator.visible_scope().everything
    timeline = alert_timeline(alert, sees_config=sees_config, now=now, user=question.chosen())
    notifications, left_out = cut(timeline.explanation.notifications, MOST_NOTIFICATIONS_SHOWN)
    users = _users(timeline, operator)
    acknowledged_by = timeline.acknowledgement.username if timeline.acknowledgement else None
    target = targets_of([alert]).get(alert.id)
    usual = Metric(alert.metric_name or Metric.CONNECTIONS)
    metric = timeline.measured.metric if timeline.measured else usual
    config = timeline.explanation.facts.config if sees_config else None
    return {
        **_heading(alert, target, now),
        "words": rule_words(alert, config),
        "length": length_words(alert, now),
        "heartbeat": heartbeats([target], now)[target.id] if isinstance(target, Host) else None,
        "charts": _charts(alert, target, metric, now),
        "timeline": timeline,
        "question": question,
        "metric": Metric(alert.metric_name).spec.words if alert.metric_name else "",
        "value": _value(alert, timeline.threshold),
        "config_url": page_url_of(AlertConfig, timeline.config.id) if timeline.config.is_there else None,
        "entries": [
            {
                **_entry(entry, sees_config=sees_config),
                "who_url": users.get(entry.who or "", ""),
                "gap": more_words(timeline.entries_left_out) if place == FIRST_ENTRIES else "",
            }
            for place, entry in enumerate(timeline.entries)
        ],
        "acknowledged_by_url": users.get(acknowledged_by or "", ""),
        "coming": [_to_come(entry, sees_config=sees_config) for entry in timeline.coming],
        "notifications": list(
            _notifications(alert, notifications, operator, sees_config=sees_config, now=now)
        ),
        "more_events": more_words(timeline.more_events),
        "more_notifications": more_words(timeline.explanation.more + left_out),
        "notifications_url": list_url(Notification, q=alert.id),
        "events_url": list_url(Event, q=alert.id),
        "incident": _incident(alert, now),
        "earlier": earlier_alerts(alert),
        "about_target_url": list_url(Alert, state=AlertTab.ALL, q=f'"{target_words(alert.facts)}"'),
        "trial_url": f"{action_url(AlertConfig, timeline.config.id, 'change')}#config-trial"
        if timeline.threshold and timeline.config.is_there
        else "",
    }


def _heading(alert: Alert, target: Model | None, now: datetime) -> Context:
    """What the alert is about, its state and age, and what is known of its target now."""
    muted = muting_windows([alert], now=now)
    window = muted.get(alert.id)
    state, tone = alert_badge(alert, now, is_muted=muted.is_muted(alert.id))
    return {
        "severity": severity_badge(alert),
        "target": target_words(alert.facts),
        "target_url": page_url(target) if target else "",
        "state": state,
        "tone": tone,
        "window": str(window) if window else "",
        "window_url": page_url(window) if window else "",
        "known": list(known_now(target, now)) if alert.status in ACTIVE else [],
        "age": _age(alert, now),
    }


def known_now(target: Model | None, now: datetime) -> Iterator[tuple[str, str]]:
    """The state of the target of an active alert, as last reported, and by which agent."""
    if isinstance(target, Host):
        agent = Agent.objects.filter(id=target.reported_by_id).first()
        yield "Reported by", str(agent) if agent else "no agent"
        yield "State now", host_state(target, now)[0]
        yield "Measured", measured_words(target, now)
        yield "Last report", _moment(target.last_report, now)
    elif isinstance(target, Agent):
        yield "State now", agent_state(target, now)[0]
        yield "Last report", _moment(target.last_report, now)
    elif isinstance(target, ReplicaSet):
        counts = (
            ("primaries", target.primaries),
            ("healthy", target.healthy),
            ("unhealthy", target.unhealthy),
            ("unknown", target.unknown),
        )
        yield "Members now", ", ".join(f"{words}: {count}" for words, count in counts)


def _moment(at: datetime | None, now: datetime) -> str:
    return f"{time_words(at)}, {ago_words(at, now)}" if at else "never"


def _age(alert: Alert, now: datetime) -> str:
    """`3 h ago`; for an ended alert also its duration."""
    began = ago_words(alert.created, now)
    if alert.status in ACTIVE or alert.resolved is None:
        return began
    return f"{began}, lasted {age_words(alert.resolved - alert.created)}"


def _value(alert: Alert, threshold: MetricThreshold | None) -> str | None:
    if alert.metric_name is None or alert.current_value is None:
        return None
    return value_words(Metric(alert.metric_name), alert.current_value, threshold)


def _users(timeline: AlertTimeline, operator: Operator) -> dict[str, str]:
    """Pages of the users on the timeline, by name, as far as the operator can see them."""
    names = {entry.who for entry in timeline.entries}
    if timeline.acknowledgement:
        names.add(timeline.acknowledgement.username)
    return urls_seen(admin.site, operator.visible_scope(), "accesslist.user", "username", names)


def _entry(entry: TimelineEntry, *, sees_config: bool) -> Context:
    """A moment of the timeline; `url` leads to details."""
    icon, tone = ENTRY_BADGES[entry.kind]
    url = None
    if entry.event_id:
        url = page_url_of(Event, entry.event_id)
    elif entry.window_id:
        url = page_url_of(MaintenanceWindow, entry.window_id)
    elif entry.notification_id and sees_config:
        url = page_url_of(Notification, entry.notification_id)
    return {"entry": entry, "icon": icon, "tone": tone, "url": url}


def _to_come(entry: TimelineEntry, *, sees_config: bool) -> Context:
    """A notification that is not sent yet must not look sent."""
    context = _entry(entry, sees_config=sees_config)
    is_notification = entry.kind is TimelineEntryKind.NOTIFIED
    return context | ({"icon": "schedule_send", "tone": Tone.INFO} if is_notification else {})


def _notifications(
    alert: Alert,
    notifications: Sequence[tuple[TimelineNotification, NotificationExplanation]],
    operator: Operator,
    *,
    sees_config: bool,
    now: datetime,
) -> Iterator[Context]:
    """Notifications of global configurations have no page for operators who cannot read them."""
    scope = Scope(group_id=alert.group_id)
    can_resend = sees_config and RESEND.is_allowed(operator, None, scope)
    windows = MaintenanceWindow.objects.filter(
        id__in={muted_by(notification.silenced_by, notification.reason) for notification, _ in notifications}
    )
    held_by = {window.id: window for window in windows}
    for notification, why in notifications:
        state, tone = notification_badge(notification, now)
        resend, into = action_url(Notification, notification.id, "resend"), notification.merged_into
        yield {
            "notification": notification,
            "why": why,
            "address_links": address_links(why.reason),
            "state": state,
            "tone": tone,
            "window": held_by.get(muted_by(notification.silenced_by, notification.reason) or ""),
            "latency": "" if notification.latency_ms is None else duration_words(notification.latency_ms),
            "url": page_url_of(Notification, notification.id) if sees_config else "",
            "sender_url": page_url_of(Notification, into) if sees_config and into else "",
            "resend_url": resend if can_resend and notification.failed else None,
        }


def _incident(alert: Alert, now: datetime) -> Context | None:
    """The incident of the alert and its other alerts; None if its messages are not grouped."""
    summary = incident_summary(alert)
    if summary is None:
        return None
    muted = muting_windows(summary.alerts.rows, now=now)
    rows = [
        {
            "target": target_words(member.facts),
            "url": page_url(member) if member.id != alert.id else "",
            "badge": alert_badge(member, now, is_muted=muted.is_muted(member.id)),
        }
        for member in summary.alerts.rows
    ]
    return {"summary": summary, "alerts": rows, "more": summary.alerts.left_out_words}


_BEFORE: Final = timedelta(hours=2)
"""The time before an alert that its plot shows."""
_AFTER: Final = timedelta(minutes=30)
_LAGS: Final = (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, Metric.PG_REPLICATION_LAG_TIME)


def _charts(alert: Alert, target: Model | None, metric: Metric, now: datetime) -> Context | None:
    """The plot around an alert, with the other members of the replica set; None if nothing can be drawn."""
    if isinstance(target, Host):
        drawn: Model = target.replica_set or target
        metrics, main = [metric], target.id
    elif isinstance(target, ReplicaSet):
        drawn, metrics, main = target, list(_LAGS), ""
    else:
        return None
    until = min(now, alert.resolved + _AFTER) if alert.resolved else now
    query = {
        "only": "1",
        "m": [name.value for name in metrics],
        "since": wire_time(alert.created - _BEFORE),
        "until": wire_time(until),
    }
    return {
        "url": reverse(f"admin:{name_of(type(drawn))}_charts", args=[drawn.pk]),
        "query": urlencode(query, doseq=True),
        "title": metrics[0].spec.words,
        "is_growing": alert.resolved is None,
        "main": main,
        "has_others": drawn is not target,
    }


_EARLIER: Final = timedelta(days=28)


@dataclass(frozen=True, slots=True)
class EarlierAlerts:
    """The alerts of the same configuration about the same target in the 28 days before an alert."""

    count: int
    median: timedelta | None
    newest: datetime | None

    @property
    def words(self) -> str:
        """Their number and how long they lasted, in a sentence."""
        if not self.count:
            return "No alert like this in the 28 days before."
        number = number_of(self.count)
        lasted = f", median length {age_words(self.median)}" if self.median is not None else ""
        return f"{number} like this in the 28 days before{lasted}."


def earlier_alerts(alert: Alert) -> EarlierAlerts:
    """Read the alerts like this one, at most MOST_COUNTED + 1, the newest first."""
    rows = Alert.objects.filter(
        config_id=alert.config_id,
        group_id=alert.group_id,
        target_key=alert.target_key,
        created__gte=alert.created - _EARLIER,
        created__lt=alert.created,
    ).order_by("-created", "-id")
    times = list(rows.values_list("created", "resolved")[: MOST_COUNTED + 1])
    lengths = [(resolved - created).total_seconds() for created, resolved in times if resolved]
    return EarlierAlerts(
        count=len(times),
        median=timedelta(seconds=median(lengths)) if lengths else None,
        newest=times[0][0] if times else None,
    )
