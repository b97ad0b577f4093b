"""Whether what is due is sent, and what follows."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.choices import AlertStatus, DropReason
from alerting.rules.sending import drop_reason, follow_up, repeat_due
from integrations.choices import MessageKind

OPEN, CLOSED, CANCELLED = AlertStatus.OPEN, AlertStatus.CLOSED, AlertStatus.CANCELLED


@pytest.mark.parametrize(
    ("kind", "status", "perhaps_sent", "config_counts", "expected"),
    [
        (MessageKind.OPEN, OPEN, False, True, None),
        (MessageKind.OPEN, CLOSED, False, True, DropReason.ALERT_OVER),
        (MessageKind.OPEN, CANCELLED, False, True, DropReason.ALERT_OVER),
        (MessageKind.OPEN, CLOSED, True, True, None),
        (MessageKind.UPDATE, CLOSED, False, True, DropReason.ALERT_OVER),
        (MessageKind.UPDATE, CLOSED, True, True, DropReason.ALERT_OVER),
        (MessageKind.ACKNOWLEDGE, CLOSED, False, True, DropReason.ALERT_OVER),
        (MessageKind.CLOSE, CLOSED, False, True, None),
        (MessageKind.CANCEL, CANCELLED, False, True, None),
        (MessageKind.INFORM, None, False, True, None),
        (MessageKind.INFORM, None, False, False, DropReason.CONFIG_OFF),
        (MessageKind.INFORM, None, True, False, DropReason.CONFIG_OFF),
        (MessageKind.CANCEL, CANCELLED, False, False, None),
    ],
)
def test_it_is_sent_or_dropped_with_a_reason(
    kind: MessageKind,
    status: AlertStatus | None,
    perhaps_sent: bool,
    config_counts: bool,
    expected: DropReason | None,
) -> None:
    assert drop_reason(kind, status, perhaps_sent=perhaps_sent, config_counts=config_counts) is expected


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        (MessageKind.OPEN, OPEN, MessageKind.UPDATE),
        (MessageKind.UPDATE, OPEN, MessageKind.UPDATE),
        (MessageKind.OPEN, CLOSED, MessageKind.CLOSE),
        (MessageKind.UPDATE, CANCELLED, MessageKind.CANCEL),
        (MessageKind.CLOSE, CLOSED, None),
        (MessageKind.CANCEL, CANCELLED, None),
        (MessageKind.INFORM, None, None),
    ],
)
def test_what_follows_a_delivery(
    kind: MessageKind, status: AlertStatus | None, expected: MessageKind | None
) -> None:
    assert follow_up(kind, status) is expected


def test_repeats_keep_a_constant_gap_after_the_delivery() -> None:
    delivered = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
    assert repeat_due(timedelta(minutes=5), delivered) == delivered + timedelta(minutes=5)
    assert repeat_due(None, delivered) is None
