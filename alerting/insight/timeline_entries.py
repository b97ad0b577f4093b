"""The timeline of an alert: what happened, its notifications, and what comes next. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby, islice

from alerting.engine.choices import NotificationStatus
from alerting.engine.rules import DeliveryStep, DeliveryVerdict
from alerting.reasons import NotificationReason
from alerting.windows.rules import WindowRule
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.clock import time_words

MOST_OCCURRENCES = 20
"""The most occurrences of a window in a timeline."""


class TimelineEntryKind(StrEnum):
    """The kind of a moment. Moments of the same time are in this order."""

    BEGAN = "began"
    OPENED = "opened"
    MUTED = "window began"
    UNMUTED = "window ended"
    ACKNOWLEDGED = "acknowledged"
    UNACKNOWLEDGED = "acknowledgement taken back"
    LAPSED = "acknowledgement lapsed"
    RESENT = "sent again"
    OTHER = "recorded"
    CLOSED = "closed"
    CANCELLED = "cancelled"
    NOTIFIED = "notified"
    NOT_YET = "not told yet"
    NOT_NOTIFIED = "not told"


_ORDER = {kind: place for place, kind in enumerate(TimelineEntryKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """A past or future moment of the timeline: text, reason, author and link."""

    at: datetime
    kind: TimelineEntryKind
    text: str
    reason: str | None = None
    who: str | None = None
    event_id: str | None = None
    notification_id: str | None = None
    window_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgementChange:
    """A change of the acknowledgement: valid until `until`, or removed if None."""

    at: datetime
    until: datetime | None


def in_order(entries: Iterable[TimelineEntry]) -> tuple[TimelineEntry, ...]:
    """By time, the oldest first."""
    return tuple(sorted(entries, key=lambda entry: (entry.at, _ORDER[entry.kind])))


FIRST_ENTRIES, NEWEST_ENTRIES = 30, 120
"""Maximum number of moments on a page: the first and the newest."""


def cut(entries: Sequence[TimelineEntry]) -> tuple[tuple[TimelineEntry, ...], int]:
    """The moments on a page, and how many are left out after the first FIRST_ENTRIES."""
    left_out = len(entries) - FIRST_ENTRIES - NEWEST_ENTRIES
    if left_out <= 0:
        return tuple(entries), 0
    return (*entries[:FIRST_ENTRIES], *entries[-NEWEST_ENTRIES:]), left_out


def lapses(changes: Sequence[AcknowledgementChange], end: datetime) -> Iterator[TimelineEntry]:
    """Expiries of acknowledgements before `end` that nobody had changed by then.

    The acknowledgements are in chronological order.
    """
    followed_by = [change.at for change in changes[1:]] + [end]
    for change, following in zip(changes, followed_by, strict=False):
        if change.until is not None and change.until < following:
            yield TimelineEntry(
                at=change.until, kind=TimelineEntryKind.LAPSED, text="The acknowledgement expired."
            )


def window_entries(
    windows: Iterable[WindowRule], *, since: datetime, until: datetime
) -> Iterator[TimelineEntry]:
    """When windows muted notifications between `since` and `until`, inclusive.

    Of a window that recurs, the first occurrences.
    """
    for window in windows:
        for begins, ends in islice(window.occurrences(since), MOST_OCCURRENCES):
            if begins > until:
                break
            yield TimelineEntry(
                at=max(begins, since),
                kind=TimelineEntryKind.MUTED,
                text=f"Maintenance window {window.name} started to mute notifications.",
                window_id=window.id,
            )
            if ends <= until:
                yield TimelineEntry(
                    at=ends,
                    kind=TimelineEntryKind.UNMUTED,
                    text=f"Maintenance window {window.name} ended.",
                    window_id=window.id,
                )


def settled_at(
    *, due: datetime, created: datetime, reason: str | None, resolved: datetime | None, now: datetime
) -> datetime:
    """When a notification without attempts was given up, as precisely as the log knows."""
    if reason == NotificationReason.ALERT_OVER and resolved is not None:
        return max(created, resolved)
    return min(max(due, created), now)


THAT: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "that the alert opened",
    MessageKind.UPDATE: "that the alert is still open",
    MessageKind.ACKNOWLEDGE: "that the alert was acknowledged",
    MessageKind.CLOSE: "that the alert closed",
    MessageKind.CANCEL: "that the alert was cancelled",
    MessageKind.INFORM: "of the event",
}
_ENDED: Mapping[DeliveryStatus, TimelineEntryKind] = {
    DeliveryStatus.DELIVERED: TimelineEntryKind.NOTIFIED,
    DeliveryStatus.RETRY: TimelineEntryKind.NOT_YET,
    DeliveryStatus.FAILED: TimelineEntryKind.NOT_NOTIFIED,
}
_MESSAGES: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "Alert opened",
    MessageKind.UPDATE: "Alert still open",
    MessageKind.ACKNOWLEDGE: "Alert acknowledged",
    MessageKind.CLOSE: "Alert closed",
    MessageKind.CANCEL: "Alert cancelled",
    MessageKind.INFORM: "Event",
}
UPDATED_IN_PLACE = "message updated in place"
_NOTIFIED: Mapping[TimelineEntryKind, str] = {
    TimelineEntryKind.NOTIFIED: "was notified",
    TimelineEntryKind.NOT_YET: "was not notified yet",
    TimelineEntryKind.NOT_NOTIFIED: "was not notified",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt: when it ended, and its duration in milliseconds.

    If `latency_ms` is None, the duration is secret because it would reveal why the attempt failed; then `at`
    is its start.
    """

    number: int
    at: datetime
    outcome: DeliveryStatus
    reason: str | None
    latency_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineNotification:
    """One notification of the alert, with its newest attempts, the oldest of them first.

    `recipient` is the recipient in words, `address` as the log has it; None if the reader may not see it.
    `latency_ms` is the last attempt's. `being_sent`: a worker has it. `in_place`: it changed an earlier
    message. `merged_into`: the notification that has sent its message; `sender` names this notification in
    words, empty if it is unknown.
    """

    id: str
    setting_id: str
    type_name: str
    channel: str | None
    kind: MessageKind
    recipient: str
    address: str | None
    status: NotificationStatus
    reason: str | None
    created: datetime
    due: datetime
    latency_ms: int | None
    attempts: int
    being_sent: bool
    tries: tuple[Attempt, ...] = ()
    silenced_by: str | None = None
    in_place: bool = False
    merged_into: str | None = None
    sender: str = ""

    @property
    def that(self) -> str:
        """The message as a clause: `that the alert opened`."""
        return THAT[self.kind]

    @property
    def message(self) -> str:
        """The message as a title: `Alert opened`."""
        return _MESSAGES[self.kind]

    @property
    def delivered(self) -> bool:
        """Whether the receiver accepted it."""
        return self.status is NotificationStatus.DELIVERED

    @property
    def how(self) -> str | None:
        """How it was delivered, if not by a message of its own."""
        return UPDATED_IN_PLACE if self.delivered and self.in_place else None

    @property
    def is_merged(self) -> bool:
        """Whether another notification has sent the same message to the same address."""
        return self.merged_into is not None

    @property
    def sent_by(self) -> str:
        """The notification that has sent the message of a merged one: `the notification “Team: SRE”`."""
        return f"the notification “{self.sender}”" if self.sender else "another notification"

    @property
    def merged_words(self) -> str:
        """What happened to a merged one, in a sentence."""
        return f"{self.recipient} was notified {self.that}, with the message of {self.sent_by}."

    @property
    def failed(self) -> bool:
        """Whether it failed for good, and so may be sent again."""
        return self.status is NotificationStatus.FAILED


def notification_entries(
    notification: TimelineNotification, *, resolved: datetime | None, now: datetime
) -> Iterator[TimelineEntry]:
    """The past of a notification: its attempts, or why it was given up without one."""
    for _, alike in groupby(
        notification.tries, key=lambda attempt: (_kind_of(notification, attempt), attempt.reason)
    ):
        yield _tried(notification, list(alike))
    if _is_given_up(notification):
        at = settled_at(
            due=notification.due,
            created=notification.created,
            reason=notification.reason,
            resolved=resolved,
            now=now,
        )
        if notification.is_merged:
            yield TimelineEntry(
                at=at,
                kind=TimelineEntryKind.OTHER,
                text=notification.merged_words,
                notification_id=notification.id,
            )
            return
        yield TimelineEntry(
            at=at,
            kind=TimelineEntryKind.NOT_NOTIFIED,
            text=f"{notification.recipient} was not notified {notification.that}.",
            reason=notification.reason,
            notification_id=notification.id,
        )


def _is_given_up(notification: TimelineNotification) -> bool:
    """Whether the notification was dropped, or failed without an attempt.

    Reminders of ended alerts that were never tried are left out.
    """
    is_reminder_over = (
        notification.kind is MessageKind.UPDATE and notification.reason == NotificationReason.ALERT_OVER
    )
    if is_reminder_over and not notification.tries:
        return False
    return notification.status is NotificationStatus.DROPPED or (
        notification.failed and not notification.tries
    )


def coming_entry(
    notification: TimelineNotification, verdict: DeliveryVerdict, *, now: datetime
) -> TimelineEntry:
    """The future of a pending notification; `verdict` is the decision at its due time."""
    kind, text, reason = _to_come(notification, verdict, now)
    at = time_to_come(notification, verdict, now=now)
    return TimelineEntry(at=at, kind=kind, text=text, reason=reason, notification_id=notification.id)


def time_to_come(notification: TimelineNotification, verdict: DeliveryVerdict, *, now: datetime) -> datetime:
    """The time at which a pending notification can be sent; `verdict` is the decision at its due time."""
    if verdict.step is DeliveryStep.POSTPONE and verdict.until:
        return verdict.until
    return max(notification.due, now)


def _kind_of(notification: TimelineNotification, attempt: Attempt) -> TimelineEntryKind:
    """The last attempt of a failed notification is its end, whatever its own outcome."""
    if notification.failed and attempt is notification.tries[-1]:
        return TimelineEntryKind.NOT_NOTIFIED
    return _ENDED[attempt.outcome]


def _tried(notification: TimelineNotification, alike: Sequence[Attempt]) -> TimelineEntry:
    """One attempt, or several in a row that ended the same way.

    The last attempt of a failed notification has its reason, which says why it is not retried.
    """
    first, last = alike[0], alike[-1]
    kind = _kind_of(notification, last)
    changed = notification.in_place and kind is TimelineEntryKind.NOTIFIED
    how = f" ({UPDATED_IN_PLACE})" if changed else ""
    is_end = notification.failed and last is notification.tries[-1]
    return TimelineEntry(
        at=first.at,
        kind=kind,
        text=f"{notification.recipient} {_NOTIFIED[kind]} {notification.that}{how}: {_which(alike)}.",
        reason=(notification.reason or first.reason) if is_end else first.reason,
        notification_id=notification.id,
    )


def _which(alike: Sequence[Attempt]) -> str:
    """`attempt 3, 84 ms`; `attempts 1 to 2, 84 ms at most, until 12:00:02Z`."""
    first, last = alike[0], alike[-1]
    attempts = f"attempt {first.number}" if len(alike) == 1 else f"attempts {first.number} to {last.number}"
    latencies = [attempt.latency_ms for attempt in alike if attempt.latency_ms is not None]
    if not latencies:
        return attempts
    longest = duration_words(max(latencies))
    if len(alike) == 1:
        return f"{attempts}, {longest}"
    return f"{attempts}, up to {longest} each, last at {time_words(last.at)}"


def duration_words(milliseconds: int) -> str:
    """`84 ms`, `2.5 s`."""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _to_come(
    notification: TimelineNotification, verdict: DeliveryVerdict, now: datetime
) -> tuple[TimelineEntryKind, str, str | None]:
    future = f"{notification.recipient} will be notified {notification.that}"
    if notification.being_sent:
        return TimelineEntryKind.NOTIFIED, f"{future}: {NotificationReason.SENDING}.", None
    if verdict.step is DeliveryStep.DROP:
        return (
            TimelineEntryKind.NOT_NOTIFIED,
            f"{notification.recipient} will not be notified {notification.that}.",
            verdict.sentence,
        )
    if verdict.step is DeliveryStep.POSTPONE:
        return TimelineEntryKind.NOTIFIED, f"{future}, at this time at the earliest.", verdict.sentence
    if notification.tries and notification.reason:
        return (
            TimelineEntryKind.NOTIFIED,
            f"{future}: attempt {notification.attempts + 1}.",
            notification.reason,
        )
    late = NotificationReason.DUE.value if notification.due <= now else None
    return TimelineEntryKind.NOTIFIED, f"{future}.", late
