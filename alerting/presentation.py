"""Presentation of alerting in the console: words, tones and icons."""

from collections.abc import Mapping
from datetime import datetime

from alerting.choices import AlertStatus, DestinationState, NotificationStatus
from alerting.insight.timeline_entries import TimelineEntryKind, TimelineNotification
from alerting.models import Alert, Destination, MaintenanceWindow, Notification
from alerting.rules.state import AlertState, NotificationState, alert_state, notification_state
from alerting.rules.windows import MuteExtent, WindowState
from alerting.selectors.alerts import alert_acknowledgement
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.clock import age_words
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.widgets import Cell, Tone

ALERT_TONES: Mapping[AlertState, Tone] = {
    AlertState.PENDING: Tone.WARNING,
    AlertState.OPEN: Tone.BAD,
    AlertState.ACKNOWLEDGED: Tone.INFO,
    AlertState.MUTED: Tone.PLAIN,
    AlertState.PERHAPS_MUTED: Tone.BAD,
    AlertState.CLOSED: Tone.GOOD,
    AlertState.CANCELLED: Tone.PLAIN,
}
NOTIFICATION_TONES: Mapping[NotificationState, Tone] = {
    NotificationState.DELIVERED: Tone.GOOD,
    NotificationState.FAILED: Tone.BAD,
    NotificationState.DROPPED: Tone.WARNING,
    NotificationState.MERGED: Tone.PLAIN,
    NotificationState.WAITING: Tone.INFO,
    NotificationState.SCHEDULED: Tone.PLAIN,
}
ATTEMPT_TONES: Mapping[str, Tone] = {
    DeliveryStatus.DELIVERED: Tone.GOOD,
    DeliveryStatus.RETRY: Tone.WARNING,
    DeliveryStatus.FAILED: Tone.BAD,
}
WINDOW_WORDS: Mapping[WindowState, str] = {
    WindowState.PENDING: "scheduled",
    WindowState.ACTIVE: "active",
    WindowState.EXPIRED: "ended",
}
_WINDOW_TONES: Mapping[WindowState, Tone] = {
    WindowState.PENDING: Tone.INFO,
    WindowState.ACTIVE: Tone.WARNING,
    WindowState.EXPIRED: Tone.PLAIN,
}
WINDOW_LABELS = {word: _WINDOW_TONES[state] for state, word in WINDOW_WORDS.items()}
"""By word, as the columns of the theme need it."""
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


def alert_badge(alert: Alert, now: datetime, *, is_muted: bool | None) -> tuple[AlertState, Tone]:
    """The state of an alert and its tone, for every page; `is_muted` is None if it is not known."""
    is_acknowledged = alert_acknowledgement(alert, now) is not None
    state = alert_state(AlertStatus(alert.status), is_acknowledged=is_acknowledged, is_muted=is_muted)
    return state, ALERT_TONES[state]


DESTINATION_WORDS: Mapping[str, str] = {
    destination_state.value: destination_state.value.replace("_", " ")
    for destination_state in DestinationState
}
_DESTINATION_TONES: Mapping[str, Tone] = {
    DestinationState.FAILING: Tone.BAD,
    DestinationState.SLOWED: Tone.WARNING,
    DestinationState.HEALTHY: Tone.GOOD,
    DestinationState.UNTRIED: Tone.PLAIN,
}
DESTINATION_LABELS = {word: _DESTINATION_TONES[state] for state, word in DESTINATION_WORDS.items()}
"""By word, as the columns of the theme need it."""


def notifications_waiting_url(destination: Destination) -> str:
    """The list of notifications that wait for a destination."""
    return list_url(Notification, waiting_for=destination.pk)


def notification_badge(
    notification: Notification | TimelineNotification, now: datetime
) -> tuple[NotificationState, Tone]:
    state = notification_state(
        NotificationStatus(notification.status),
        kind=MessageKind(notification.kind),
        due=notification.due,
        attempts=notification.attempts,
        is_held=notification.reason is not None,
        is_merged=notification.merged_into is not None,
        now=now,
    )
    return state, NOTIFICATION_TONES[state]


def window_badge(window: MaintenanceWindow, now: datetime) -> tuple[str, Tone]:
    """The state of a maintenance window, in a word."""
    state = window.rule.state(now)
    return WINDOW_WORDS[state], _WINDOW_TONES[state]


def muted_words(extent: MuteExtent) -> str:
    """What a saved window mutes, in a sentence."""
    counted = "" if extent.is_narrow else f": {extent.open_words} now"
    return f"This window mutes {extent.sentence}{counted}."


def alert_cells(alert: Alert, now: datetime, *, is_muted: bool | None) -> tuple[Cell, Cell, Cell]:
    """Name, state and age for lists of active alerts."""
    word, tone = alert_badge(alert, now, is_muted=is_muted)
    return (
        Cell(alert.words, page_url(alert)),
        Cell(word, tone=tone),
        Cell(age_words(now - alert.created)),
    )
