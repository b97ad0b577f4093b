"""What becomes of a notification that is due, and what follows its delivery."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerting.choices import AlertStatus, DropReason, WaitReason
from alerting.rules.sending import (
    NO_OUTCOME,
    DueNotification,
    Silence,
    Step,
    Verdict,
    follow_up,
    judge,
    repeat_due,
)
from integrations.choices import MessageKind

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
OPEN, CLOSED, CANCELLED = AlertStatus.OPEN, AlertStatus.CLOSED, AlertStatus.CANCELLED
SILENCE = Silence("w1", NOW + timedelta(hours=1))
SILENCED_TEXT = "silenced by maintenance window w1"

SEND = Verdict(Step.SEND)
SILENCED = Verdict(Step.PUT_OFF, SILENCED_TEXT, SILENCE.until, "w1")
UNTOLD = Verdict(Step.DROP, SILENCED_TEXT)
OVER = Verdict(Step.DROP, DropReason.ALERT_OVER.value)
LATER = NOW + timedelta(minutes=30)
HELD_BACK = Verdict(Step.PUT_OFF, WaitReason.ACKNOWLEDGED.value, LATER)
NOT_ACKNOWLEDGED = Verdict(Step.DROP, DropReason.NOT_ACKNOWLEDGED.value)

# kind, alert's status, then what becomes of it: as things are, in a window, acknowledged, both
MATRIX = [
    (MessageKind.OPEN, OPEN, SEND, SILENCED, SEND, SILENCED),
    (MessageKind.OPEN, CLOSED, OVER, OVER, OVER, OVER),
    (MessageKind.OPEN, CANCELLED, OVER, OVER, OVER, OVER),
    (MessageKind.UPDATE, OPEN, SEND, SILENCED, HELD_BACK, SILENCED),
    (MessageKind.UPDATE, CLOSED, OVER, OVER, OVER, OVER),
    (MessageKind.UPDATE, CANCELLED, OVER, OVER, OVER, OVER),
    (MessageKind.ACKNOWLEDGE, OPEN, NOT_ACKNOWLEDGED, NOT_ACKNOWLEDGED, SEND, SILENCED),
    (MessageKind.ACKNOWLEDGE, CLOSED, OVER, OVER, OVER, OVER),
    (MessageKind.CLOSE, CLOSED, SEND, SILENCED, SEND, SILENCED),
    (MessageKind.CANCEL, CANCELLED, SEND, SILENCED, SEND, SILENCED),
    (MessageKind.INFORM, None, SEND, UNTOLD, SEND, UNTOLD),
]
CASES = [
    pytest.param(kind, status, silence, until, wanted, id=f"{kind.name}-{status}-{name}")
    for kind, status, *verdicts in MATRIX
    for (name, silence, until), wanted in zip(
        [
            ("plain", None, None),
            ("silenced", SILENCE, None),
            ("acknowledged", None, LATER),
            ("both", SILENCE, LATER),
        ],
        verdicts,
        strict=True,
    )
]


@pytest.mark.parametrize(("kind", "status", "silence", "until", "wanted"), CASES)
def test_what_becomes_of_it(
    kind: MessageKind,
    status: AlertStatus | None,
    silence: Silence | None,
    until: datetime | None,
    wanted: Verdict,
) -> None:
    due = DueNotification(kind=kind, status=status, silence=silence, acknowledged_until=until)
    assert judge(due, NOW) == wanted


@pytest.mark.parametrize(
    ("kind", "status", "wanted"),
    [
        pytest.param(MessageKind.OPEN, OPEN, SILENCED, id="open"),
        pytest.param(MessageKind.CLOSE, CLOSED, SEND, id="close"),
        pytest.param(MessageKind.CANCEL, CANCELLED, SEND, id="cancel"),
    ],
)
def test_services_with_state_get_their_resolve_in_a_window(
    kind: MessageKind, status: AlertStatus, wanted: Verdict
) -> None:
    due = DueNotification(kind=kind, status=status, silence=SILENCE, keeps_state=True)
    assert judge(due, NOW) == wanted


@pytest.mark.parametrize(
    ("until", "update", "acknowledge"),
    [
        pytest.param(None, SEND, NOT_ACKNOWLEDGED, id="never"),
        pytest.param(NOW - SECOND, SEND, NOT_ACKNOWLEDGED, id="lapsed"),
        pytest.param(NOW, SEND, NOT_ACKNOWLEDGED, id="lapses now"),
        pytest.param(NOW + SECOND, replace(HELD_BACK, until=NOW + SECOND), SEND, id="a second more"),
    ],
)
def test_an_acknowledgement_counts_until_its_time(
    until: datetime | None, update: Verdict, acknowledge: Verdict
) -> None:
    repeat = DueNotification(kind=MessageKind.UPDATE, status=OPEN, acknowledged_until=until)
    assert judge(repeat, NOW) == update
    assert judge(replace(repeat, kind=MessageKind.ACKNOWLEDGE), NOW) == acknowledge


REMOVED = Verdict(Step.DROP, DropReason.NOTIFICATION_REMOVED.value)
OFF = Verdict(Step.DROP, DropReason.CONFIG_OFF.value)


@pytest.mark.parametrize(
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
    kind: MessageKind, status: AlertStatus | None, config_off: Verdict, removed: Verdict
) -> None:
    assert judge(DueNotification(kind=kind, status=status, config_counts=False), NOW) == config_off
    assert judge(DueNotification(kind=kind, status=status, setting_counts=False), NOW) == removed


LEFT = Verdict(Step.DROP, DropReason.NOT_AMONG_THEM.value)


@pytest.mark.parametrize(
    ("kind", "status", "perhaps_sent", "wanted"),
    [
        (MessageKind.OPEN, OPEN, False, LEFT),
        (MessageKind.OPEN, OPEN, True, SEND),
        (MessageKind.UPDATE, OPEN, False, LEFT),
        (MessageKind.UPDATE, OPEN, True, LEFT),
        (MessageKind.INFORM, None, False, LEFT),
        (MessageKind.CLOSE, CLOSED, False, SEND),
        (MessageKind.CANCEL, CANCELLED, False, SEND),
    ],
    ids=lambda value: value.name if isinstance(value, MessageKind) else str(value is True),
)
def test_who_left_is_told_nothing_but_the_end(
    kind: MessageKind, status: AlertStatus | None, perhaps_sent: bool, wanted: Verdict
) -> None:
    due = DueNotification(kind=kind, status=status, perhaps_sent=perhaps_sent, recipient_counts=False)
    assert judge(due, NOW) == wanted


@pytest.mark.parametrize(
    ("due", "wanted"),
    [
        pytest.param(DueNotification(kind=MessageKind.OPEN, status=OPEN), SEND, id="opening"),
        pytest.param(DueNotification(kind=MessageKind.OPEN, status=CLOSED), SEND, id="opening, over"),
        pytest.param(
            DueNotification(kind=MessageKind.OPEN, status=OPEN, setting_counts=False), SEND, id="taken out"
        ),
        pytest.param(
            DueNotification(kind=MessageKind.OPEN, status=CLOSED, silence=SILENCE), SILENCED, id="silenced"
        ),
        pytest.param(DueNotification(kind=MessageKind.UPDATE, status=CLOSED), OVER, id="repeat, over"),
        pytest.param(
            DueNotification(kind=MessageKind.INFORM, status=None, config_counts=False), OFF, id="told once"
        ),
    ],
)
def test_an_opening_that_was_perhaps_sent_is_sent_again(due: DueNotification, wanted: Verdict) -> None:
    assert judge(replace(due, perhaps_sent=True), NOW) == wanted


def test_people_are_looked_up_when_their_notification_would_be_sent() -> None:
    due = DueNotification(kind=MessageKind.OPEN, status=OPEN, for_people=True)
    assert judge(due, NOW) == Verdict(Step.RESOLVE)
    assert judge(replace(due, silence=SILENCE), NOW) == SILENCED
    assert judge(replace(due, status=CLOSED), NOW) == OVER


def test_attempts_without_end_are_given_up_but_not_where_it_waits_anyway() -> None:
    due = DueNotification(kind=MessageKind.UPDATE, status=OPEN, lapsed_for_good=True)
    assert judge(due, NOW) == Verdict(Step.GIVE_UP, NO_OUTCOME)
    assert judge(replace(due, for_people=True), NOW) == Verdict(Step.GIVE_UP, NO_OUTCOME)
    assert judge(replace(due, silence=SILENCE), NOW) == SILENCED


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        (MessageKind.OPEN, OPEN, MessageKind.UPDATE),
        (MessageKind.UPDATE, OPEN, MessageKind.UPDATE),
        (MessageKind.OPEN, CLOSED, MessageKind.CLOSE),
        (MessageKind.UPDATE, CANCELLED, MessageKind.CANCEL),
        (MessageKind.ACKNOWLEDGE, OPEN, None),
        (MessageKind.ACKNOWLEDGE, CLOSED, None),
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
    assert repeat_due(timedelta(minutes=5), NOW) == NOW + timedelta(minutes=5)
    assert repeat_due(None, NOW) is None
