"""One notification in the timeline of its alert."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.engine.choices import NotificationStatus
from alerting.engine.rules import DeliveryStep, DeliveryVerdict, not_retried
from alerting.insight.timeline_entries import (
    Attempt,
    TimelineEntryKind,
    TimelineNotification,
    coming_entry,
    duration_words,
    notification_entries,
)
from alerting.reasons import NotificationReason
from integrations.choices import DeliveryStatus, MessageKind

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SEND = DeliveryVerdict(DeliveryStep.SEND)


def notification(**changes: Any) -> TimelineNotification:
    """A pending opening by e-mail, due now."""
    values: dict[str, Any] = {
        "id": "a" * 24,
        "setting_id": "b" * 24,
        "type_name": "EMAIL",
        "channel": "EMAIL",
        "address": "oncall@example.com",
        "kind": MessageKind.OPEN,
        "recipient": "oncall@example.com",
        "status": NotificationStatus.PENDING,
        "reason": None,
        "created": NOW,
        "due": NOW,
        "latency_ms": None,
        "attempts": 0,
        "being_sent": False,
    }
    return TimelineNotification(**(values | changes))


def attempt(number: int, outcome: DeliveryStatus, reason: str | None = None) -> Attempt:
    """One try, a second after the other."""
    at = NOW + timedelta(seconds=number)
    return Attempt(number=number, at=at, outcome=outcome, reason=reason, latency_ms=84)


def test_each_attempt_is_a_moment_with_its_outcome_reason_and_latency() -> None:
    tries = (attempt(1, DeliveryStatus.RETRY, "no answer"), attempt(2, DeliveryStatus.DELIVERED))
    row = notification(status=NotificationStatus.DELIVERED, attempts=2, tries=tries)
    seen = [(m.at, m.kind, m.text, m.reason) for m in notification_entries(row, resolved=None, now=NOW)]
    recipient = "oncall@example.com"
    assert seen == [
        (
            tries[0].at,
            TimelineEntryKind.NOT_YET,
            f"{recipient} was not notified yet that the alert opened: attempt 1, 84 ms.",
            "no answer",
        ),
        (
            tries[1].at,
            TimelineEntryKind.NOTIFIED,
            f"{recipient} was notified that the alert opened: attempt 2, 84 ms.",
            None,
        ),
    ]


def test_attempts_alike_are_one_moment() -> None:
    tries = (
        attempt(1, DeliveryStatus.RETRY, "503"),
        attempt(2, DeliveryStatus.RETRY, "503"),
        attempt(3, DeliveryStatus.RETRY, "no answer"),
        attempt(4, DeliveryStatus.RETRY, "503"),
    )
    row = notification(attempts=4, tries=tries)
    seen = [
        (m.at, m.reason, m.text.partition(": ")[2]) for m in notification_entries(row, resolved=None, now=NOW)
    ]
    assert seen == [
        (tries[0].at, "503", "attempts 1 to 2, up to 84 ms each, last at 2099-11-21 12:00:02Z."),
        (tries[2].at, "no answer", "attempt 3, 84 ms."),
        (tries[3].at, "503", "attempt 4, 84 ms."),
    ]


def test_an_entry_without_a_duration_has_only_its_beginning() -> None:
    quick, slow = (
        notification(attempts=3, tries=tuple(replace(attempt, latency_ms=None) for attempt in tries))
        for tries in (
            [attempt(number, DeliveryStatus.RETRY, "away") for number in (1, 2, 3)],
            [replace(attempt(1, DeliveryStatus.RETRY, "away"), number=number) for number in (1, 2, 3)],
        )
    )
    (entry,), (same,) = (list(notification_entries(row, resolved=None, now=NOW)) for row in (quick, slow))
    assert entry == same
    assert (entry.at, entry.text.partition(": ")[2]) == (NOW + timedelta(seconds=1), "attempts 1 to 3.")
    alone = notification(attempts=1, tries=quick.tries[:1])
    (entry,) = notification_entries(alone, resolved=None, now=NOW)
    assert entry.text.endswith(": attempt 1.")


def test_the_last_attempt_of_what_was_given_up_is_its_end() -> None:
    tries = (attempt(1, DeliveryStatus.RETRY, "503"), attempt(2, DeliveryStatus.RETRY, "503"))
    row = notification(status=NotificationStatus.FAILED, attempts=2, tries=tries)
    kinds = [entry.kind for entry in notification_entries(row, resolved=None, now=NOW)]
    assert kinds == [TimelineEntryKind.NOT_YET, TimelineEntryKind.NOT_NOTIFIED]


def test_the_end_of_what_was_given_up_says_why_it_is_not_retried() -> None:
    reason = not_retried("503", NotificationReason.ALERT_OVER)
    tries = (attempt(1, DeliveryStatus.RETRY, "503"), attempt(2, DeliveryStatus.RETRY, "503"))
    row = notification(status=NotificationStatus.FAILED, attempts=2, tries=tries, reason=reason)
    reasons = [entry.reason for entry in notification_entries(row, resolved=NOW, now=NOW)]
    assert reasons == ["503", reason]


def test_a_reminder_that_was_tried_before_the_alert_ended_says_why_it_is_not_retried() -> None:
    over = NotificationReason.ALERT_OVER.value
    row = notification(
        kind=MessageKind.UPDATE,
        status=NotificationStatus.DROPPED,
        reason=over,
        attempts=1,
        tries=(attempt(1, DeliveryStatus.RETRY, "429"),),
    )
    entries = list(notification_entries(row, resolved=NOW, now=NOW))
    assert [(entry.kind, entry.reason) for entry in entries] == [
        (TimelineEntryKind.NOT_YET, "429"),
        (TimelineEntryKind.NOT_NOTIFIED, over),
    ]


@pytest.mark.parametrize("status", [NotificationStatus.DROPPED, NotificationStatus.FAILED])
def test_what_was_never_tried_says_why(status: NotificationStatus) -> None:
    row = notification(status=status, reason=NotificationReason.NO_USER_WITH_ROLE.value)
    (entry,) = notification_entries(row, resolved=None, now=NOW)
    assert (entry.kind, entry.reason) == (
        TimelineEntryKind.NOT_NOTIFIED,
        NotificationReason.NO_USER_WITH_ROLE.value,
    )


def test_a_repeat_of_an_alert_that_is_over_is_missed_by_nobody() -> None:
    over = {"status": NotificationStatus.DROPPED, "reason": NotificationReason.ALERT_OVER.value}
    assert not list(
        notification_entries(notification(kind=MessageKind.UPDATE, **over), resolved=NOW, now=NOW)
    )
    assert list(notification_entries(notification(**over), resolved=NOW, now=NOW))


def test_what_is_pending_and_untried_has_not_happened() -> None:
    assert list(notification_entries(notification(), resolved=None, now=NOW)) == []


@pytest.mark.parametrize(
    ("changes", "verdict", "kind", "at", "reason"),
    [
        ({"due": NOW + HOUR}, SEND, TimelineEntryKind.NOTIFIED, NOW + HOUR, None),
        ({}, SEND, TimelineEntryKind.NOTIFIED, NOW, NotificationReason.DUE.value),
        ({"due": NOW - HOUR, "being_sent": True}, SEND, TimelineEntryKind.NOTIFIED, NOW, None),
        (
            {},
            DeliveryVerdict(DeliveryStep.POSTPONE, NotificationReason.ACKNOWLEDGED, until=NOW + 2 * HOUR),
            TimelineEntryKind.NOTIFIED,
            NOW + 2 * HOUR,
            NotificationReason.ACKNOWLEDGED.value,
        ),
        (
            {"due": NOW + HOUR},
            DeliveryVerdict(DeliveryStep.DROP, NotificationReason.NOTIFICATION_REMOVED),
            TimelineEntryKind.NOT_NOTIFIED,
            NOW + HOUR,
            NotificationReason.NOTIFICATION_REMOVED.value,
        ),
        (
            {
                "due": NOW + HOUR,
                "reason": "503",
                "attempts": 1,
                "tries": (attempt(1, DeliveryStatus.RETRY, "503"),),
            },
            SEND,
            TimelineEntryKind.NOTIFIED,
            NOW + HOUR,
            "503",
        ),
    ],
    ids=["later", "due", "being sent", "put off", "to be dropped", "a retry"],
)
def test_it_says_what_is_to_come_and_when(
    changes: dict[str, Any],
    verdict: DeliveryVerdict,
    kind: TimelineEntryKind,
    at: datetime,
    reason: str | None,
) -> None:
    entry = coming_entry(notification(**changes), verdict, now=NOW)
    assert (entry.kind, entry.at, entry.reason) == (kind, at, reason)


@pytest.mark.parametrize("kind", list(MessageKind))
def test_every_kind_has_words(kind: MessageKind) -> None:
    assert notification(kind=kind).that


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(0, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (30_000, "30.0 s")]
)
def test_a_duration_is_written_for_people(milliseconds: int, words: str) -> None:
    assert duration_words(milliseconds) == words
