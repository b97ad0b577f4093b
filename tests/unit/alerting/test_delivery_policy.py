"""What becomes of a notification that is due, and what follows its delivery."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.engine.rules import (
    LONGEST_REASON,
    DeliveryStep,
    DeliveryVerdict,
    DueNotification,
    Mute,
    decide_delivery,
    not_retried,
    not_retried_words,
    repeat_due,
)
from alerting.incidents.choices import AlertStatus
from alerting.reasons import NotificationReason
from integrations.choices import MessageKind
from tests.each import each

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
OPEN, CLOSED, CANCELLED = AlertStatus.OPEN, AlertStatus.CLOSED, AlertStatus.CANCELLED
WINDOW_MUTES = Mute("w1", NOW + timedelta(hours=1))

SEND = DeliveryVerdict(DeliveryStep.SEND)
MUTED = DeliveryVerdict(DeliveryStep.POSTPONE, NotificationReason.MUTED, WINDOW_MUTES.until, "w1")
DROPPED_AS_MUTED = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.MUTED, window_id="w1")
OVER = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.ALERT_OVER)
LATER = NOW + timedelta(minutes=30)
HELD_BACK = DeliveryVerdict(DeliveryStep.POSTPONE, NotificationReason.ACKNOWLEDGED, LATER)
NOT_ACKNOWLEDGED = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.NOT_ACKNOWLEDGED)

# kind, alert's status, then what becomes of it: as things are, in a window, acknowledged, both
MATRIX = [
    (MessageKind.OPEN, OPEN, SEND, MUTED, SEND, MUTED),
    (MessageKind.OPEN, CLOSED, OVER, OVER, OVER, OVER),
    (MessageKind.OPEN, CANCELLED, OVER, OVER, OVER, OVER),
    (MessageKind.UPDATE, OPEN, SEND, MUTED, HELD_BACK, MUTED),
    (MessageKind.UPDATE, CLOSED, OVER, OVER, OVER, OVER),
    (MessageKind.UPDATE, CANCELLED, OVER, OVER, OVER, OVER),
    (MessageKind.ACKNOWLEDGE, OPEN, NOT_ACKNOWLEDGED, NOT_ACKNOWLEDGED, SEND, MUTED),
    (MessageKind.ACKNOWLEDGE, CLOSED, OVER, OVER, OVER, OVER),
    (MessageKind.CLOSE, CLOSED, SEND, MUTED, SEND, MUTED),
    (MessageKind.CANCEL, CANCELLED, SEND, MUTED, SEND, MUTED),
    (MessageKind.INFORM, None, SEND, DROPPED_AS_MUTED, SEND, DROPPED_AS_MUTED),
]
CASES = [
    pytest.param(kind, status, mute, until, wanted, id=f"{kind.name}-{status}-{name}")
    for kind, status, *verdicts in MATRIX
    for (name, mute, until), wanted in zip(
        [
            ("plain", None, None),
            ("muted", WINDOW_MUTES, None),
            ("acknowledged", None, LATER),
            ("both", WINDOW_MUTES, LATER),
        ],
        verdicts,
        strict=True,
    )
]


@each(("kind", "status", "mute", "until", "wanted"), CASES)
def test_what_becomes_of_it(
    kind: MessageKind,
    status: AlertStatus | None,
    mute: Mute | None,
    until: datetime | None,
    wanted: DeliveryVerdict,
) -> None:
    due = DueNotification(kind=kind, status=status, mute=mute, acknowledged_until=until)
    assert decide_delivery(due, NOW) == wanted


@each(
    ("kind", "status", "wanted"),
    [
        pytest.param(MessageKind.OPEN, OPEN, MUTED, id="open"),
        pytest.param(MessageKind.CLOSE, CLOSED, SEND, id="close"),
        pytest.param(MessageKind.CANCEL, CANCELLED, SEND, id="cancel"),
    ],
)
def test_services_with_state_get_their_resolve_in_a_window(
    kind: MessageKind, status: AlertStatus, wanted: DeliveryVerdict
) -> None:
    due = DueNotification(kind=kind, status=status, mute=WINDOW_MUTES, keeps_state=True)
    assert decide_delivery(due, NOW) == wanted


@each(
    ("until", "update", "acknowledge"),
    [
        pytest.param(None, SEND, NOT_ACKNOWLEDGED, id="never"),
        pytest.param(NOW - SECOND, SEND, NOT_ACKNOWLEDGED, id="lapsed"),
        pytest.param(NOW, SEND, NOT_ACKNOWLEDGED, id="lapses now"),
        pytest.param(NOW + SECOND, replace(HELD_BACK, until=NOW + SECOND), SEND, id="a second more"),
    ],
)
def test_an_acknowledgement_counts_until_its_time(
    until: datetime | None, update: DeliveryVerdict, acknowledge: DeliveryVerdict
) -> None:
    repeat = DueNotification(kind=MessageKind.UPDATE, status=OPEN, acknowledged_until=until)
    assert decide_delivery(repeat, NOW) == update
    assert decide_delivery(replace(repeat, kind=MessageKind.ACKNOWLEDGE), NOW) == acknowledge


REMOVED = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.NOTIFICATION_REMOVED)
OFF = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.CONFIG_OFF)


@each(
    ("kind", "status", "config_off", "removed"),
    [
        (MessageKind.OPEN, OPEN, SEND, REMOVED),
        (MessageKind.UPDATE, OPEN, SEND, REMOVED),
        (MessageKind.CLOSE, CLOSED, SEND, SEND),
        (MessageKind.CANCEL, CANCELLED, SEND, SEND),
        (MessageKind.INFORM, None, OFF, REMOVED),
    ],
    ids=lambda value: value.name if isinstance(value, MessageKind) else "",
)
def test_what_a_configuration_does_not_ask_for_any_more_is_dropped_but_ends(
    kind: MessageKind, status: AlertStatus | None, config_off: DeliveryVerdict, removed: DeliveryVerdict
) -> None:
    assert (
        decide_delivery(DueNotification(kind=kind, status=status, config_is_enabled=False), NOW) == config_off
    )
    assert decide_delivery(DueNotification(kind=kind, status=status, setting_exists=False), NOW) == removed


LOW = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.BELOW_MIN_SEVERITY)


@each(
    ("changes", "wanted"),
    [
        ({"kind": MessageKind.OPEN, "status": OPEN}, LOW),
        ({"kind": MessageKind.UPDATE, "status": OPEN}, LOW),
        ({"kind": MessageKind.INFORM, "status": None}, LOW),
        ({"kind": MessageKind.ACKNOWLEDGE, "status": OPEN, "acknowledged_until": NOW + SECOND}, SEND),
        ({"kind": MessageKind.CLOSE, "status": CLOSED}, SEND),
        ({"kind": MessageKind.CANCEL, "status": CANCELLED}, SEND),
        ({"kind": MessageKind.OPEN, "status": OPEN, "addressed": False}, LOW),
        ({"kind": MessageKind.OPEN, "status": OPEN, "mute": WINDOW_MUTES}, LOW),
        ({"kind": MessageKind.OPEN, "status": OPEN, "merged_into": "n1"}, LOW),
        ({"kind": MessageKind.OPEN, "status": OPEN, "setting_exists": False}, REMOVED),
        (
            {"kind": MessageKind.OPEN, "status": OPEN, "perhaps_received": True},
            DeliveryVerdict(DeliveryStep.GIVE_UP, NotificationReason.BELOW_MIN_SEVERITY),
        ),
    ],
)
def test_a_message_below_the_minimum_severity_is_dropped_but_ends_and_acknowledgements(
    changes: dict[str, Any], wanted: DeliveryVerdict
) -> None:
    assert decide_delivery(DueNotification(is_below_minimum=True, **changes), NOW) == wanted


PERHAPS = DeliveryVerdict(DeliveryStep.GIVE_UP, NotificationReason.NO_LONGER_RECIPIENT)
PERHAPS_OVER = DeliveryVerdict(DeliveryStep.GIVE_UP, NotificationReason.ALERT_OVER)
PERHAPS_REMOVED = DeliveryVerdict(DeliveryStep.GIVE_UP, NotificationReason.NOTIFICATION_REMOVED)
PERHAPS_OFF = DeliveryVerdict(DeliveryStep.GIVE_UP, NotificationReason.CONFIG_OFF)
LEFT = DeliveryVerdict(DeliveryStep.DROP, NotificationReason.NO_LONGER_RECIPIENT)


@each(
    ("kind", "status", "perhaps_received", "wanted"),
    [
        (MessageKind.OPEN, OPEN, False, LEFT),
        (MessageKind.OPEN, OPEN, True, PERHAPS),
        (MessageKind.UPDATE, OPEN, False, LEFT),
        (MessageKind.UPDATE, OPEN, True, PERHAPS),
        (MessageKind.INFORM, None, False, LEFT),
        (MessageKind.CLOSE, CLOSED, False, SEND),
        (MessageKind.CANCEL, CANCELLED, False, SEND),
    ],
    ids=lambda value: value.name if isinstance(value, MessageKind) else str(value is True),
)
def test_a_person_who_left_gets_only_the_end(
    kind: MessageKind, status: AlertStatus | None, perhaps_received: bool, wanted: DeliveryVerdict
) -> None:
    due = DueNotification(
        kind=kind, status=status, perhaps_received=perhaps_received, is_still_recipient=False
    )
    assert decide_delivery(due, NOW) == wanted


@each(
    ("due", "wanted"),
    [
        pytest.param(DueNotification(kind=MessageKind.OPEN, status=OPEN), SEND, id="opening"),
        pytest.param(DueNotification(kind=MessageKind.OPEN, status=CLOSED), PERHAPS_OVER, id="opening, over"),
        pytest.param(
            DueNotification(kind=MessageKind.OPEN, status=OPEN, setting_exists=False),
            PERHAPS_REMOVED,
            id="taken out",
        ),
        pytest.param(
            DueNotification(kind=MessageKind.OPEN, status=CLOSED, mute=WINDOW_MUTES),
            PERHAPS_OVER,
            id="muted",
        ),
        pytest.param(
            DueNotification(kind=MessageKind.UPDATE, status=CLOSED), PERHAPS_OVER, id="reminder, over"
        ),
        pytest.param(
            DueNotification(kind=MessageKind.ACKNOWLEDGE, status=CLOSED),
            PERHAPS_OVER,
            id="acknowledgement, over",
        ),
        pytest.param(
            DueNotification(kind=MessageKind.INFORM, status=None, config_is_enabled=False),
            PERHAPS_OFF,
            id="one-shot",
        ),
    ],
)
def test_what_was_perhaps_received_is_never_dropped_as_if_nothing_had_left(
    due: DueNotification, wanted: DeliveryVerdict
) -> None:
    assert decide_delivery(replace(due, perhaps_received=True), NOW) == wanted


@each("kind", [MessageKind.CLOSE, MessageKind.CANCEL])
@each(("perhaps_notified", "wanted"), [(True, SEND), (False, DeliveryVerdict(DeliveryStep.REMOVE))])
def test_an_end_goes_only_to_a_receiver_that_was_notified(
    kind: MessageKind, perhaps_notified: bool, wanted: DeliveryVerdict
) -> None:
    status = CLOSED if kind is MessageKind.CLOSE else CANCELLED
    assert (
        decide_delivery(DueNotification(kind=kind, status=status, perhaps_notified=perhaps_notified), NOW)
        == wanted
    )


def test_people_are_looked_up_when_their_notification_would_be_sent() -> None:
    due = DueNotification(kind=MessageKind.OPEN, status=OPEN, addressed=False)
    assert decide_delivery(due, NOW) == DeliveryVerdict(DeliveryStep.ADDRESS)
    assert decide_delivery(replace(due, mute=WINDOW_MUTES), NOW) == MUTED
    assert decide_delivery(replace(due, status=CLOSED), NOW) == OVER


def test_attempts_without_end_are_given_up_but_not_where_it_waits_anyway() -> None:
    due = DueNotification(kind=MessageKind.UPDATE, status=OPEN, lapsed_too_often=True)
    assert decide_delivery(due, NOW) == DeliveryVerdict(DeliveryStep.GIVE_UP)
    assert decide_delivery(replace(due, mute=WINDOW_MUTES), NOW) == MUTED


def test_the_log_gets_the_reason_as_a_sentence_with_the_id_of_the_window() -> None:
    assert MUTED.sentence == DROPPED_AS_MUTED.sentence == "silenced by maintenance window w1"
    assert (OVER.sentence, SEND.sentence) == (NotificationReason.ALERT_OVER.value, None)


def test_repeats_keep_a_constant_gap_after_the_delivery() -> None:
    assert repeat_due(timedelta(minutes=5), NOW) == NOW + timedelta(minutes=5)
    assert repeat_due(None, NOW) is None


@each(
    ("changes", "wanted"),
    [
        ({}, DeliveryStep.MERGE),
        ({"status": CLOSED}, DeliveryStep.MERGE),
        ({"kind": MessageKind.ACKNOWLEDGE}, DeliveryStep.MERGE),
        ({"mute": WINDOW_MUTES}, DeliveryStep.MERGE),
        ({"worth_sending": False}, DeliveryStep.MERGE),
        ({"setting_exists": False}, DeliveryStep.DROP),
        ({"is_still_recipient": False}, DeliveryStep.DROP),
        ({"perhaps_received": True}, DeliveryStep.SEND),
    ],
)
def test_a_message_that_another_notification_has_sent_is_merged_also_if_the_alert_is_over(
    changes: dict[str, Any], wanted: DeliveryStep
) -> None:
    due = replace(DueNotification(kind=MessageKind.OPEN, status=OPEN, merged_into="n1"), **changes)
    assert decide_delivery(due, NOW).step is wanted


def test_a_message_that_is_given_up_says_why_it_is_not_retried() -> None:
    due = DueNotification(kind=MessageKind.OPEN, status=CLOSED, perhaps_received=True)
    verdict = decide_delivery(due, NOW)
    assert (verdict.step, verdict.reason) == (DeliveryStep.GIVE_UP, NotificationReason.ALERT_OVER)
    reason = not_retried("the receiver answered 503", verdict.reason)
    assert reason.startswith("the receiver answered 503")
    assert reason.endswith(not_retried_words(NotificationReason.ALERT_OVER))
    assert len(not_retried("x" * LONGEST_REASON, verdict.reason)) == LONGEST_REASON
    assert not_retried("the receiver answered 503", None) == "the receiver answered 503"
