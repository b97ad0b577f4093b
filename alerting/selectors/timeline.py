"""Reads the timeline of an alert, and its notifications, for its page; bounded, however many there were."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet

from alerting.choices import ACTIVE, AlertStatus, IncidentPart, NotificationStatus
from alerting.models import Alert, AlertConfig, Notification, NotificationAttempt, NotificationSetting
from alerting.notification_types import recipient_words
from alerting.rules.delivery_policy import Mute, decide_delivery
from alerting.rules.matchers import MatchSubject
from alerting.rules.measurement_window import MeasurementWindow
from alerting.rules.state import Acknowledgement
from alerting.rules.thresholds import MetricThreshold
from alerting.rules.timeline import (
    Attempt,
    TimelineEntry,
    TimelineEntryKind,
    TimelineNotification,
    coming_entry,
    cut,
    in_order,
    notification_entries,
    window_entries,
)
from alerting.rules.transition import ConfigView
from alerting.rules.windows import WindowRule, active_windows, muting
from alerting.rules.wording import condition_words
from alerting.selectors.alerts import alert_acknowledgement
from alerting.selectors.config_views import config_view
from alerting.selectors.due_notifications import due_of
from alerting.selectors.incidents import represented
from alerting.selectors.measurement_window import measurement_window
from alerting.selectors.notification_log import Origin, about_alert, origins_of
from alerting.selectors.timeline_events import FIRST, NEWEST, EventsOfAlert, began, events_of
from alerting.selectors.windows import rules_since_start
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from opsapi.fields import JsonRows
from opsapi.first_rows import ends_of

PENDING = 50
"""The most pending notifications that are shown in addition to the first and the newest of all."""
MOST_ATTEMPTS = 20
"""The most attempts shown of each notification, the newest."""


@dataclass(frozen=True, slots=True)
class TimelineNotifications:
    """The notifications to show, newest first.

    `pending` come with their rows; `more` others are in the log. `setting_ids` are the settings of all
    notifications of the alert.
    """

    shown: tuple[TimelineNotification, ...]
    pending: tuple[tuple[Notification, TimelineNotification], ...]
    setting_ids: frozenset[str]
    more: int


def timeline_notifications(alert: Alert, *, with_recipient: bool, now: datetime) -> TimelineNotifications:
    """The notifications of an alert, with recipients if the reader may see the configuration."""
    about = Q(alert_id=alert.id)
    if alert.incident_id:
        # The messages of the incident are shown instead of the lines that refer to them.
        about = about_alert(alert.id) & ~Q(part__isnull=False, part=IncidentPart.FOLDED.value)
    of_alert = Notification.objects.filter(about)
    ends, between = ends_of(_with_tries(of_alert), first=FIRST, newest=NEWEST)
    pending = of_alert.filter(status=NotificationStatus.PENDING.value)
    chosen = {row.id: row for row in (*ends, *_with_tries(pending).order_by("due", "id")[:PENDING])}
    ordered = sorted(chosen.values(), key=lambda row: (row.created, row.id), reverse=True)
    origins = origins_of(ordered) if with_recipient else {}
    notifications = [(row, _notification(row, origins.get(row.id), now)) for row in ordered]
    return TimelineNotifications(
        shown=tuple(notification for _, notification in notifications),
        pending=tuple(
            (row, notification)
            for row, notification in notifications
            if row.status == NotificationStatus.PENDING
        ),
        setting_ids=frozenset(of_alert.values_list("setting_id", flat=True).distinct()),
        more=max(0, between - (len(chosen) - len(ends))),
    )


def _with_tries(rows: QuerySet[Notification]) -> QuerySet[Notification]:
    attempts = NotificationAttempt.objects.filter(notification_id=OuterRef("id")).order_by("-number")
    shown = attempts.values("number", "ended", "status", "reason", "latency_ms")[:MOST_ATTEMPTS]
    return rows.annotate(tries_json=JsonRows(shown))


def _notification(row: Any, origin: Origin | None, now: datetime) -> TimelineNotification:
    """`row` is a notification with its `tries_json`; without `origin` the recipient is not shown."""
    return TimelineNotification(
        id=row.id,
        setting_id=row.setting_id,
        kind=MessageKind(row.kind),
        recipient=recipient_words(
            type_name=row.type_name,
            channel=ChannelType(row.channel) if row.channel else None,
            recipient=row.recipient if origin else None,
            place=origin.place if origin else "",
        ),
        status=NotificationStatus(row.status),
        reason=row.reason,
        created=row.created,
        due=row.due,
        latency_ms=row.latency_ms,
        attempts=row.attempts,
        being_sent=row.lease_until is not None and row.lease_until > now,
        tries=tuple(_attempt(attempt) for attempt in reversed(row.tries_json)),
        silenced_by=row.silenced_by,
    )


def _attempt(shown: dict[str, Any]) -> Attempt:
    return Attempt(
        number=shown["number"],
        at=datetime.fromisoformat(shown["ended"]),
        outcome=DeliveryStatus(shown["status"]),
        reason=shown["reason"],
        latency_ms=shown["latency_ms"],
    )


MOST_WINDOWS = 50
NOT_SHOWN = "a global alert configuration; you need a global role to see it"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineConfig:
    """The configuration of the alert: its condition in words, if the reader may see it.

    `changed_since`: it may have changed since the alert.
    """

    id: str
    is_global: bool
    words: str
    is_there: bool = False
    changed_since: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTimeline:
    """Past and future entries by time, and notifications, newest first.

    `nobody` is the reason why there is no notification; None if there is a notification. `not_notified`:
    settings of the configuration without a notification. `entries_left_out`: the number of entries after the
    first FIRST_ENTRIES. `more_events`, `more_notifications`: the number of further rows in the log.
    `threshold` is the threshold of the configuration, if there is one and the reader may see it.
    """

    config: TimelineConfig
    entries: tuple[TimelineEntry, ...]
    entries_left_out: int
    coming: tuple[TimelineEntry, ...]
    notifications: tuple[TimelineNotification, ...]
    nobody: str | None
    not_notified: tuple[str, ...]
    more_events: int
    more_notifications: int
    acknowledgement: Acknowledgement | None
    measured: MeasurementWindow | None
    threshold: MetricThreshold | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The rows of a timeline; `view` is None if the configuration is gone or must not be shown."""

    alert: Alert
    config: AlertConfig | None
    view: ConfigView | None
    settings: Sequence[NotificationSetting]
    events: EventsOfAlert
    notifications: TimelineNotifications
    windows: Sequence[WindowRule]
    subject: MatchSubject
    now: datetime


def alert_timeline(alert: Alert, *, sees_config: bool, now: datetime) -> AlertTimeline:
    """The timeline of an alert as the reader may see it.

    `sees_config`: whether the reader may read the alert's configuration, and so its recipients.
    """
    read = _read(alert, sees_config=sees_config, now=now)
    threshold = read.view.metric_threshold if read.view else None
    entries, left_out = cut(in_order(_entries(read)))
    return AlertTimeline(
        config=_timeline_config(read, sees_config=sees_config),
        entries=entries,
        entries_left_out=left_out,
        coming=in_order([*_coming(read), *_pending_notifications(read)]),
        notifications=read.notifications.shown,
        nobody=_nobody(read),
        not_notified=tuple(_not_notified(read)) if sees_config else (),
        more_events=read.events.more,
        more_notifications=read.notifications.more,
        acknowledgement=alert_acknowledgement(alert, now),
        measured=measurement_window(alert, threshold, now=now),
        threshold=threshold,
    )


def _read(alert: Alert, *, sees_config: bool, now: datetime) -> _Read:
    config = AlertConfig.objects.filter(id=alert.config_id).first()
    windows, subject = rules_since_start(alert, most=MOST_WINDOWS)
    return _Read(
        alert=alert,
        config=config,
        view=config_view(config) if config and sees_config else None,
        settings=list(NotificationSetting.with_removed.filter(config_id=alert.config_id)),
        events=events_of(alert, now=now),
        notifications=timeline_notifications(alert, with_recipient=sees_config, now=now),
        windows=[window for window in windows if window.mutes(subject)],
        subject=subject,
        now=now,
    )


def _timeline_config(read: _Read, *, sees_config: bool) -> TimelineConfig:
    alert, config = read.alert, read.config
    if not sees_config:
        return TimelineConfig(id=alert.config_id, is_global=alert.is_global, words=NOT_SHOWN)
    if config is None or read.view is None:
        gone = f"{alert.event_type}, by a deleted alert configuration"
        return TimelineConfig(id=alert.config_id, is_global=alert.is_global, words=gone)
    return TimelineConfig(
        id=config.id,
        is_global=alert.is_global,
        words=_words(read.view),
        is_there=config.deleted is None,
        # A change of the condition ends the alerts of the configuration at the same moment.
        changed_since=alert.resolved is not None and config.updated >= alert.resolved,
    )


def _words(view: ConfigView) -> str:
    return condition_words(
        view.event_type,
        matchers=view.matchers,
        metric_threshold=view.metric_threshold,
        threshold=view.threshold,
    )


def _entries(read: _Read) -> Iterator[TimelineEntry]:
    alert = read.alert
    yield began(alert, read.view)
    yield from read.events.entries
    yield from window_entries(read.windows, since=alert.created, until=alert.resolved or read.now)
    for notification in read.notifications.shown:
        yield from notification_entries(notification, resolved=alert.resolved, now=read.now)


def _coming(read: _Read) -> Iterator[TimelineEntry]:
    """The next changes of the alert itself, as far as they are known."""
    alert, now = read.alert, read.now
    if alert.status == AlertStatus.TRACKING:
        text = "The alert opens, unless the condition ends first. Until then nobody is notified."
        yield TimelineEntry(at=max(alert.opens, now), kind=TimelineEntryKind.OPENED, text=text)
    acknowledgement = alert_acknowledgement(alert, now)
    if acknowledgement and alert.status in ACTIVE:
        text = "The acknowledgement expires and reminders start again."
        yield TimelineEntry(at=acknowledgement.until, kind=TimelineEntryKind.LAPSED, text=text)


def _pending_notifications(read: _Read) -> Iterator[TimelineEntry]:
    """Pending notifications, decided by the rule that decides when they are due."""
    kept = {setting.id for setting in read.settings if not setting.removed}
    alert = represented(read.alert) if read.notifications.pending else read.alert
    for row, notification in read.notifications.pending:
        if row.part == IncidentPart.CHANGE:
            continue  # it is sent only if the change still matters then
        at = max(row.due, read.now)
        due = replace(
            due_of(row, alert),
            config_counts=read.config is not None and read.config.enabled,
            setting_counts=row.setting_id in kept,
            # An incident is muted only if all its open alerts are.
            mute=None if row.incident_id else _mute(read, at),
        )
        entry = coming_entry(notification, decide_delivery(due, at), now=read.now)
        if entry:
            yield entry


def _mute(read: _Read, at: datetime) -> Mute | None:
    active = muting(active_windows(read.windows, at), read.subject)
    return Mute(active.window.id, active.until) if active else None


def _nobody(read: _Read) -> str | None:
    alert = read.alert
    if read.notifications.shown:
        return None
    if alert.status == AlertStatus.TRACKING:
        return "Nobody was notified yet: the alert has not opened."
    if alert.status == AlertStatus.OPEN:
        return "Nobody was notified: the configuration had no notifications when the alert opened."
    return "No notifications: the alert ended before it opened, or its notification log has expired."


def _not_notified(read: _Read) -> Iterator[str]:
    """Settings that were added after the alert opened: they have no notification."""
    if read.alert.status != AlertStatus.OPEN:
        return
    for setting in read.settings:
        if not setting.removed and setting.id not in read.notifications.setting_ids:
            yield setting.type_name
