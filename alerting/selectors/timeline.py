"""Reads the timeline of an alert, and its notifications, for its page; bounded, however many there were."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from accesslist.models import User
from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.rules.delivery_policy import DeliveryVerdict
from alerting.rules.measurement_window import MeasurementWindow
from alerting.rules.notification_reasons import NotificationExplanation, NotificationReason
from alerting.rules.recipient_reasons import UserExplanation
from alerting.rules.state import Acknowledgement
from alerting.rules.thresholds import MetricThreshold
from alerting.rules.timeline import (
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
from alerting.rules.wording import condition_words
from alerting.selectors.alert_explanation import ExplainedCondition, explained_condition
from alerting.selectors.alerts import alert_acknowledgement
from alerting.selectors.config_views import config_view
from alerting.selectors.measurement_window import first_value, measurement_window
from alerting.selectors.notification_explanations import (
    DeliveryFacts,
    delivery_facts,
    explanations_of,
    verdict_of,
)
from alerting.selectors.timeline_events import EventsOfAlert, began, events_of
from alerting.selectors.timeline_notifications import TimelineNotifications, timeline_notifications
from alerting.selectors.user_explanations import explain_user

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

    `explanations`: why each notification was, or was not, sent, by its ID. `nobody` is the reason why there
    is no notification; None if there is a notification. `not_notified`: settings of the configuration without
    a notification. `entries_left_out`: the number of entries after the first FIRST_ENTRIES. `more_events`,
    `more_notifications`: the number of further rows in the log. `threshold` is the threshold of the
    configuration, if there is one and the reader may see it. `condition`: the condition with the values that
    are recorded. `user`: why the user was, or was not, notified; None without a user.
    """

    config: TimelineConfig
    entries: tuple[TimelineEntry, ...]
    entries_left_out: int
    coming: tuple[TimelineEntry, ...]
    notifications: tuple[TimelineNotification, ...]
    explanations: Mapping[str, NotificationExplanation]
    nobody: str | None
    not_notified: tuple[str, ...]
    more_events: int
    more_notifications: int
    acknowledgement: Acknowledgement | None
    measured: MeasurementWindow | None
    threshold: MetricThreshold | None
    condition: ExplainedCondition
    user: UserExplanation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The rows of a timeline; `view` is None if the configuration is gone or must not be shown."""

    facts: DeliveryFacts
    view: ConfigView | None
    value: tuple[float, datetime] | None
    events: EventsOfAlert
    notifications: TimelineNotifications
    verdicts: Mapping[str, DeliveryVerdict]
    now: datetime

    @property
    def alert(self) -> Alert:
        return self.facts.alert


def alert_timeline(
    alert: Alert, *, sees_config: bool, now: datetime, user: User | None = None
) -> AlertTimeline:
    """The timeline of an alert as the reader may see it, and why a user was, or was not, notified.

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
        explanations=explanations_of(read.notifications.shown, read.verdicts, read.facts, now=now),
        nobody=_nobody(read),
        not_notified=tuple(_not_notified(read)) if sees_config else (),
        more_events=read.events.more,
        more_notifications=read.notifications.more,
        acknowledgement=alert_acknowledgement(alert, now),
        measured=measurement_window(alert, threshold, now=now),
        threshold=threshold,
        condition=explained_condition(read.facts, read.view, value=read.value, sees_config=sees_config),
        user=explain_user(read.facts, user, sees_config=sees_config, now=now) if user else None,
    )


def _read(alert: Alert, *, sees_config: bool, now: datetime) -> _Read:
    facts = delivery_facts(alert)
    notifications = timeline_notifications(alert, with_recipient=sees_config, now=now)
    return _Read(
        facts=facts,
        view=config_view(facts.config) if facts.config and sees_config else None,
        value=first_value(alert),
        events=events_of(alert, now=now),
        notifications=notifications,
        verdicts={row.id: verdict_of(row, facts, now=now) for row, _ in notifications.pending},
        now=now,
    )


def _timeline_config(read: _Read, *, sees_config: bool) -> TimelineConfig:
    alert, config = read.alert, read.facts.config
    if not sees_config:
        return TimelineConfig(id=alert.config_id, is_global=alert.is_global, words=NOT_SHOWN)
    if config is None or read.view is None:
        gone = f"{alert.event_type}, by a deleted alert configuration"
        return TimelineConfig(id=alert.config_id, is_global=alert.is_global, words=gone)
    return TimelineConfig(
        id=config.id,
        is_global=alert.is_global,
        words=condition_words(read.view),
        is_there=config.deleted is None,
        changed_since=read.facts.config_changed,
    )


def _entries(read: _Read) -> Iterator[TimelineEntry]:
    alert = read.alert
    yield began(alert, read.view, read.value)
    yield from read.events.entries
    yield from window_entries(read.facts.windows, since=alert.created, until=alert.resolved or read.now)
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
    for row, notification in read.notifications.pending:
        yield coming_entry(notification, read.verdicts[row.id], now=read.now)


_NOBODY = {
    NotificationReason.NOT_OPEN: "Nobody was notified yet: the alert has not opened.",
    NotificationReason.ADDED_LATER: "Nobody was notified: the configuration had no notifications when the "
    "alert opened.",
}
_NO_LOG = "No notifications: the alert ended before it opened, or its notification log has expired."


def _nobody(read: _Read) -> str | None:
    if read.notifications.shown:
        return None
    return _NOBODY.get(read.facts.no_message_reason, _NO_LOG)


def _not_notified(read: _Read) -> Iterator[str]:
    """Settings that were added after the alert opened: they have no notification."""
    if read.alert.status != AlertStatus.OPEN:
        return
    for setting in read.facts.kept:
        if setting.id not in read.notifications.setting_ids:
            yield setting.type_name
