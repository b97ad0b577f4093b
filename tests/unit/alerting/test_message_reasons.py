"""Why a message was, or was not, sent, and which part of a notification kept a user out."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.engine.choices import NotificationStatus
from alerting.engine.rules import DeliveryStep, DeliveryVerdict
from alerting.incidents.choices import AlertStatus
from alerting.insight.message_reasons import (
    REASONS_WITHOUT_MESSAGE,
    NotificationExplanation,
    explain_notification,
    no_notification_reason,
)
from alerting.insight.timeline_entries import TimelineNotification
from alerting.insight.user_reasons import UserFacts, explain_user_notification
from alerting.reasons import NotificationReason, ReasonQuestion
from integrations.choices import MessageKind
from tests.each import each
from tests.unit.alerting.test_notification_entries import HOUR, NOW, SEND, notification

WINDOW = "c" * 24
MUTED_SENTENCE = f"silenced by maintenance window {WINDOW}"
HELD = DeliveryVerdict(DeliveryStep.POSTPONE, NotificationReason.MUTED, NOW + HOUR, WINDOW)
ACKNOWLEDGED = DeliveryVerdict(DeliveryStep.POSTPONE, NotificationReason.ACKNOWLEDGED, NOW + HOUR)


def explained(verdict: DeliveryVerdict | None = None, **changes: Any) -> NotificationExplanation:
    """The explanation of a pending opening, due now."""
    row: TimelineNotification = notification(**changes)
    return explain_notification(row, verdict or SEND, windows={WINDOW: "“new disks”"}, now=NOW)


@pytest.mark.parametrize(
    ("changes", "verdict", "reason", "until"),
    [
        ({}, SEND, NotificationReason.DUE, NOW),
        ({"being_sent": True}, HELD, NotificationReason.SENDING, None),
        ({"due": NOW + HOUR}, SEND, NotificationReason.DELAYED, NOW + HOUR),
        (
            {"due": NOW + HOUR, "kind": MessageKind.UPDATE},
            SEND,
            NotificationReason.REMINDER_LATER,
            NOW + HOUR,
        ),
        ({"attempts": 1, "reason": "away", "due": NOW + HOUR}, SEND, NotificationReason.RETRYING, NOW + HOUR),
        ({}, HELD, NotificationReason.MUTED, NOW + HOUR),
        (
            {"silenced_by": WINDOW, "reason": MUTED_SENTENCE, "due": NOW + HOUR},
            SEND,
            NotificationReason.MUTED,
            NOW + HOUR,
        ),
        ({}, ACKNOWLEDGED, NotificationReason.ACKNOWLEDGED, NOW + HOUR),
        (
            {"reason": NotificationReason.ACKNOWLEDGED.value, "due": NOW + HOUR},
            SEND,
            NotificationReason.ACKNOWLEDGED,
            NOW + HOUR,
        ),
        (
            {},
            DeliveryVerdict(DeliveryStep.DROP, NotificationReason.CONFIG_OFF),
            NotificationReason.CONFIG_OFF,
            None,
        ),
        (
            {},
            DeliveryVerdict(DeliveryStep.DROP, NotificationReason.MUTED, window_id=WINDOW),
            NotificationReason.MUTED,
            None,
        ),
    ],
)
def test_a_pending_message(
    changes: dict[str, Any], verdict: DeliveryVerdict, reason: NotificationReason, until: datetime | None
) -> None:
    found = explained(verdict, **changes)
    assert (found.reason, found.until) == (reason, until)


_OF_LOG = [
    reason
    for reason in NotificationReason
    if ReasonQuestion.MESSAGE in reason.questions and "{" not in reason
]


@each("dropped", _OF_LOG)
def test_every_reason_of_the_log_has_a_name(dropped: NotificationReason) -> None:
    found = explained(status=NotificationStatus.DROPPED, reason=dropped.value)
    assert found.reason.name == dropped.name
    assert dropped.value in found.detail


def test_an_ended_message() -> None:
    status = NotificationStatus
    assert explained(status=status.DELIVERED).reason is NotificationReason.DELIVERED
    failed = explained(status=status.FAILED, reason="the receiver answered 404")
    assert failed.reason is NotificationReason.FAILED
    assert "the receiver answered 404" in failed.detail
    muted = explained(status=status.DROPPED, reason=MUTED_SENTENCE)
    assert (muted.reason, muted.window_id) == (NotificationReason.MUTED, WINDOW)
    assert "“new disks”" in muted.detail
    assert explained(status=status.DROPPED, reason=None).reason is NotificationReason.NOT_RECORDED


@pytest.mark.parametrize(
    ("status", "resolved", "reason"),
    [
        (AlertStatus.TRACKING, None, NotificationReason.NOT_OPEN),
        (AlertStatus.OPEN, None, NotificationReason.ADDED_LATER),
        (AlertStatus.CLOSED, NOW - timedelta(seconds=1), NotificationReason.ENDED_BEFORE_OPENING),
        (AlertStatus.CLOSED, NOW, NotificationReason.NOT_RECORDED),
        (AlertStatus.CANCELLED, NOW - HOUR, NotificationReason.NOT_RECORDED),
    ],
)
def test_no_message(status: AlertStatus, resolved: datetime | None, reason: NotificationReason) -> None:
    assert no_notification_reason(status, opens=NOW, resolved=resolved) is reason
    assert reason in REASONS_WITHOUT_MESSAGE


DELIVERED = NotificationExplanation(reason=NotificationReason.DELIVERED, detail="")
FAILED = NotificationExplanation(reason=NotificationReason.FAILED, detail="")
DELAYED = NotificationExplanation(reason=NotificationReason.DELAYED, detail="")
OUT, LATE = NotificationReason.NOT_IN_TEAM, NotificationReason.ADDED_LATER


@pytest.mark.parametrize(
    ("kept_out", "own", "shared", "has_others", "reason"),
    [
        (OUT, DELIVERED, DELAYED, True, NotificationReason.DELIVERED),
        (OUT, FAILED, DELAYED, True, OUT),
        (None, FAILED, DELAYED, True, NotificationReason.FAILED),
        (None, None, DELAYED, True, NotificationReason.DELAYED),
        (None, None, None, True, NotificationReason.NOT_A_RECIPIENT_THEN),
        (None, None, None, False, LATE),
    ],
)
def test_the_first_reason_about_a_user_is_given(
    kept_out: NotificationReason | None,
    own: NotificationExplanation | None,
    shared: NotificationExplanation | None,
    has_others: bool,
    reason: NotificationReason,
) -> None:
    facts = UserFacts(kept_out=kept_out, own=own, shared=shared, has_others=has_others, no_message=LATE)
    assert explain_user_notification(facts).reason is reason
