"""Reads the timeline of an alert, and its notifications, for its page; bounded, however many there were."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from accesslist.models import User
from alerting.configs.rules import MetricThreshold
from alerting.configs.wording import config_words
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.rules import Acknowledgement
from alerting.incidents.store import alert_acknowledgement
from alerting.insight.alert_explanations import AlertExplanation, explain_alert
from alerting.insight.measurement_spans import MeasurementWindow
from alerting.insight.measurement_window import measurement_window
from alerting.insight.timeline_entries import (
    TimelineEntry,
    TimelineEntryKind,
    coming_entry,
    cut,
    in_order,
    notification_entries,
    window_entries,
)
from alerting.insight.timeline_events import EventsOfAlert, events_of

NOT_SHOWN = "a global alert configuration; you need a global role to see it"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineConfig:
    """The configuration of the alert: its name, condition and texts, if the reader may see it.

    `changed_since`: it may have changed since the alert.
    """

    id: str
    words: str
    is_there: bool = False
    changed_since: bool = False
    description: str = ""
    runbook_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTimeline:
    """The explanation of an alert, and past and future entries by time.

    `why_no_notifications` is a sentence, or None if the alert has notifications. `not_notified`: the types of
    settings that were added after the alert opened: they have no notification. `entries_left_out`:
    the number of entries after the first FIRST_ENTRIES. `more_events`: the number of further events in the
    log. `threshold` is the threshold of the configuration, if there is one and the reader may see it.
    """

    explanation: AlertExplanation
    config: TimelineConfig
    entries: tuple[TimelineEntry, ...]
    entries_left_out: int
    coming: tuple[TimelineEntry, ...]
    why_no_notifications: str | None
    not_notified: tuple[str, ...]
    more_events: int
    acknowledgement: Acknowledgement | None
    measured: MeasurementWindow | None
    threshold: MetricThreshold | None


def alert_timeline(
    alert: Alert, *, sees_config: bool, now: datetime, user: User | None = None
) -> AlertTimeline:
    """The timeline of an alert as the reader may see it, and why a user was, or was not, notified.

    `sees_config`: whether the reader may read the alert's configuration, and so its recipients.
    """
    explanation = explain_alert(alert, sees_config=sees_config, now=now, user=user)
    events, acknowledgement = events_of(alert, now=now), alert_acknowledgement(alert, now)
    added = explanation.settings_without_message if alert.status == AlertStatus.OPEN else ()
    threshold = explanation.view.metric_threshold if explanation.view else None
    entries, left_out = cut(in_order(_entries(explanation, events, now)))
    return AlertTimeline(
        explanation=explanation,
        config=_timeline_config(explanation, sees_config=sees_config),
        entries=entries,
        entries_left_out=left_out,
        coming=in_order(_coming(explanation, acknowledgement, now)),
        why_no_notifications=_why_no_notifications(explanation),
        not_notified=tuple(setting.type_name for setting in added),
        more_events=events.more,
        acknowledgement=acknowledgement,
        measured=measurement_window(alert, threshold, now=now),
        threshold=threshold,
    )


def _timeline_config(explanation: AlertExplanation, *, sees_config: bool) -> TimelineConfig:
    facts = explanation.facts
    alert, config = facts.alert, facts.config
    if not sees_config:
        return TimelineConfig(id=alert.config_id, words=NOT_SHOWN)
    if config is None or explanation.view is None:
        gone = f"{alert.words}, by a deleted alert configuration"
        return TimelineConfig(id=alert.config_id, words=gone)
    return TimelineConfig(
        id=config.id,
        words=config_words(explanation.view),
        is_there=config.deleted is None,
        changed_since=facts.config_changed,
        description=config.description,
        runbook_url=config.runbook_url,
    )


def _entries(explanation: AlertExplanation, events: EventsOfAlert, now: datetime) -> Iterator[TimelineEntry]:
    alert = explanation.facts.alert
    yield explanation.signal
    yield from events.entries
    yield from window_entries(explanation.facts.windows, since=alert.created, until=alert.resolved or now)
    for notification, _ in explanation.notifications:
        yield from notification_entries(notification, resolved=alert.resolved, now=now)


def _coming(
    explanation: AlertExplanation, acknowledgement: Acknowledgement | None, now: datetime
) -> Iterator[TimelineEntry]:
    """The next changes of the alert itself, as far as they are known, and pending notifications.

    Pending notifications are decided by the rule that decides when they are due.
    """
    alert = explanation.facts.alert
    if alert.status == AlertStatus.TRACKING:
        text = "The alert opens, unless the condition ends first. Until then nobody is notified."
        yield TimelineEntry(at=max(alert.opens, now), kind=TimelineEntryKind.OPENED, text=text)
    if acknowledgement and alert.status in ACTIVE:
        text = "The acknowledgement expires and reminders start again."
        yield TimelineEntry(at=acknowledgement.until, kind=TimelineEntryKind.LAPSED, text=text)
    for notification, verdict in explanation.pending:
        yield coming_entry(notification, verdict, now=now)


def _why_no_notifications(explanation: AlertExplanation) -> str | None:
    if explanation.notifications:
        return None
    return f"No notifications: {explanation.facts.no_message_reason.of_alert}."
