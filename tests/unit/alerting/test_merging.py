"""Which notifications are the same message to the same destination."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from alerting.engine.rules import SameDestination, merged_into
from integrations.choices import MessageKind
from tests.each import each
from tests.steps import STEPS

NOW = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
OPEN, UPDATE, CLOSE = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE
WAITING = SameDestination(id="w", setting_id="one", kind=OPEN, created=NOW)
SENT = SameDestination(id="s", setting_id="two", kind=OPEN, created=NOW, delivered=NOW)
REMINDER = replace(WAITING, kind=UPDATE, interval=60 * MINUTE)


@each("kind", [OPEN, CLOSE, MessageKind.CANCEL, MessageKind.INFORM], ids=str)
def test_the_same_kind_is_sent_once_however_long_ago(kind: MessageKind) -> None:
    sent = replace(SENT, kind=kind, delivered=NOW - timedelta(days=3))
    assert merged_into(replace(WAITING, kind=kind), [sent], NOW) == sent


@each(
    "other",
    [
        replace(SENT, kind=UPDATE),
        replace(SENT, kind=CLOSE),
        replace(SENT, delivered=None),
        replace(SENT, setting_id="one"),
    ],
    ids=["a reminder", "the end", "not delivered", "of the same setting"],
)
def test_it_is_sent_side_by_side(other: SameDestination) -> None:
    assert merged_into(WAITING, [other], NOW) is None


@each(
    ("kind", "minutes", "expected"),
    [
        (OPEN, 0, True),
        (UPDATE, 29, True),
        (UPDATE, 30, False),
        (UPDATE, 60, False),
        (CLOSE, 0, False),
        (MessageKind.ACKNOWLEDGE, 0, False),
    ],
)
def test_no_reminder_follows_closely_on_a_message_that_the_alert_is_open(
    kind: MessageKind, minutes: int, expected: bool
) -> None:
    sent = replace(SENT, kind=kind, delivered=NOW - minutes * MINUTE)
    assert (merged_into(REMINDER, [sent], NOW) == sent) is expected


@each("step", STEPS, ids=str)
def test_only_a_message_that_seems_recent_holds_back_a_reminder(step: timedelta) -> None:
    sent = replace(SENT, delivered=NOW + step)
    assert merged_into(REMINDER, [sent], NOW) == (sent if abs(step) == MINUTE else None)


def test_a_reminder_without_an_interval_any_more_is_sent() -> None:
    assert merged_into(replace(REMINDER, interval=None), [replace(SENT, kind=UPDATE)], NOW) is None


@each("kind", [MessageKind.ACKNOWLEDGE, UPDATE], ids=str)
def test_each_acknowledgement_and_each_change_is_a_message_of_its_own(kind: MessageKind) -> None:
    waiting = replace(WAITING, kind=kind, is_change=kind is UPDATE)
    sent = replace(SENT, kind=kind, is_change=kind is UPDATE)
    assert merged_into(waiting, [sent], NOW) == sent
    assert merged_into(waiting, [replace(sent, created=NOW - MINUTE)], NOW) is None


def test_it_names_the_newest() -> None:
    earlier = replace(SENT, id="t", delivered=NOW - MINUTE)
    assert merged_into(WAITING, [earlier, SENT, earlier], NOW) == SENT
