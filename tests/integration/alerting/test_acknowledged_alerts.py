"""What an acknowledgement holds back, who is notified of it, and what follows when it ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from accesslist.models import Project
from alerting.incidents.changes import alert_acknowledge
from alerting.models import Alert, Notification
from alerting.reasons import NotificationReason
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.api.principal import SYSTEM
from opsapi.clock import wire_time
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, deliver_meanwhile, evaluate
from tests.integration.alerting.recipients import GROUP, make_member

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
LAPSE = START + HOUR
OPEN, UPDATE, CLOSE = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE
ACKNOWLEDGE = MessageKind.ACKNOWLEDGE
PAGER = {"typeName": "PAGER_SERVICE", "serviceKey": "0123456789abcdef0123456789abcdef", "delayMin": 0}
OFTEN = {**EMAIL, "intervalMin": 5}


def open_alert(project: Project, *notifications: Any) -> None:
    """An alert that is open since START and notified, of a configuration with these notifications."""
    make_config(project, notifications=notifications)
    evaluate(START)
    ingest(project, host_report(reachable=False), now=START)
    evaluate(START)
    deliver_all(START)


def acknowledge(project: Project, until: datetime, *, now: datetime) -> None:
    """Acknowledge the only alert until then."""
    alert_id = Alert.objects.get().id
    alert_acknowledge(
        alert_id=alert_id, group_id=project.id, until=until, comment=None, actor=SYSTEM, now=now
    )


def close_alert(project: Project, *, now: datetime) -> None:
    """The condition has ended."""
    ingest(project, host_report(reachable=True), now=now)
    evaluate(now)


def deliver_often(start: datetime, end: datetime, *, every: timedelta = MINUTE) -> None:
    """Deliver what is due again and again, to the end and not at it."""
    while start < end:
        deliver_all(start)
        start += every


@pytest.mark.parametrize("notification", [OFTEN, {**GROUP, "intervalMin": 5}], ids=["mail", "people"])
def test_nothing_is_repeated_until_it_lapses_and_then_with_the_constant_gap(
    project: Project, outside: Outside, notification: dict[str, Any]
) -> None:
    make_member(project, "ada")
    open_alert(project, notification)
    acknowledge(project, LAPSE, now=START + MINUTE)
    deliver_often(START + MINUTE, LAPSE, every=4 * MINUTE)
    assert outside.kinds == [OPEN]
    (row,) = Notification.objects.filter(status="PENDING")
    assert (row.due, row.reason, row.attempts) == (LAPSE, NotificationReason.ACKNOWLEDGED.value, 0)
    deliver_often(LAPSE, LAPSE + 6 * MINUTE)
    assert outside.kinds == [OPEN, UPDATE, UPDATE]


def test_a_repeat_due_after_the_lapse_comes_at_its_time(project: Project, outside: Outside) -> None:
    open_alert(project, OFTEN)
    acknowledge(project, START + 3 * MINUTE, now=START + MINUTE)
    deliver_often(START + MINUTE, START + 5 * MINUTE)
    assert outside.kinds == [OPEN]
    deliver_all(START + 5 * MINUTE)
    assert outside.kinds == [OPEN, UPDATE]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("taken_back", "repeated"),
    [
        pytest.param(START + 2 * MINUTE, START + 5 * MINUTE, id="before its time: then"),
        pytest.param(START + 20 * MINUTE, START + 20 * MINUTE, id="after it: at once"),
    ],
)
def test_taken_back_it_lets_the_repeat_come(
    project: Project, outside: Outside, taken_back: datetime, repeated: datetime
) -> None:
    open_alert(project, OFTEN)
    acknowledge(project, LAPSE, now=START + MINUTE)
    deliver_often(START + MINUTE, taken_back)
    acknowledge(project, taken_back, now=taken_back)
    deliver_often(taken_back, repeated)
    assert outside.kinds == [OPEN]
    deliver_all(repeated)
    assert outside.kinds == [OPEN, UPDATE]


@pytest.mark.slow
@pytest.mark.parametrize("until", [LAPSE - 30 * MINUTE, LAPSE + HOUR], ids=["shorter", "longer"])
def test_another_time_counts_for_what_was_put_off(
    project: Project, outside: Outside, until: datetime
) -> None:
    open_alert(project, OFTEN)
    acknowledge(project, LAPSE, now=START + MINUTE)
    deliver_often(START + MINUTE, START + 10 * MINUTE)
    acknowledge(project, until, now=START + 10 * MINUTE)
    deliver_often(START + 10 * MINUTE, until, every=4 * MINUTE)
    assert outside.kinds == [OPEN]
    deliver_all(until)
    assert outside.kinds == [OPEN, UPDATE]


def test_the_end_is_notified_all_the_same(project: Project, outside: Outside) -> None:
    open_alert(project, EMAIL)
    acknowledge(project, LAPSE, now=START + MINUTE)
    close_alert(project, now=START + 2 * MINUTE)
    deliver_all(START + 2 * MINUTE)
    assert outside.kinds == [OPEN, CLOSE]


def test_an_opening_that_is_due_later_is_notified_all_the_same(project: Project, outside: Outside) -> None:
    open_alert(project, {**EMAIL, "delayMin": 10}, {**EMAIL, "emailAddress": "second@example.com"})
    acknowledge(project, LAPSE, now=START + MINUTE)
    deliver_all(START + 10 * MINUTE)
    assert outside.kinds == [OPEN, OPEN]


def test_services_with_state_and_webhooks_are_notified_of_it(project: Project, outside: Outside) -> None:
    open_alert(project, EMAIL, WEBHOOK, PAGER)
    outside.sent = []
    acknowledge(project, LAPSE, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.kinds == [ACKNOWLEDGE, ACKNOWLEDGE]
    assert {channel for channel, _, _ in outside.sent} == {"WEBHOOK", "PAGER_SERVICE"}
    documents = [message.document for _, _, message in outside.sent]
    assert {document["acknowledgedUntil"] for document in documents} == {wire_time(LAPSE)}


def test_a_message_of_the_acknowledgement_starts_no_reminders(project: Project, outside: Outside) -> None:
    open_alert(project, PAGER)
    acknowledge(project, LAPSE, now=START + MINUTE)
    assert deliver_all(LAPSE - SECOND) == 1
    assert not Notification.objects.filter(status="PENDING").exists()


def test_a_recipient_without_the_opening_gets_no_acknowledgement(project: Project, outside: Outside) -> None:
    open_alert(project, {**WEBHOOK, "delayMin": 10}, EMAIL)
    acknowledge(project, LAPSE, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.kinds == [OPEN]


def acknowledge_in_vain(project: Project, outside: Outside) -> None:
    """The webhook is away when it is to be notified of the acknowledgement."""
    open_alert(project, WEBHOOK)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    acknowledge(project, START + 10 * MINUTE, now=START + MINUTE)
    deliver_all(START + MINUTE)
    outside.outcome, outside.sent = Outcome(DeliveryStatus.DELIVERED, None, 5), []


def test_word_of_one_that_lapsed_or_was_taken_back_is_dropped(project: Project, outside: Outside) -> None:
    acknowledge_in_vain(project, outside)
    acknowledge(project, START + 2 * MINUTE, now=START + 2 * MINUTE)
    deliver_all(START + 3 * MINUTE)
    assert outside.sent == []
    row = Notification.objects.get(kind=ACKNOWLEDGE.value)
    assert (row.status, row.reason) == ("DROPPED", NotificationReason.NOT_ACKNOWLEDGED.value)


def test_word_on_its_way_is_of_the_last_acknowledgement(project: Project, outside: Outside) -> None:
    acknowledge_in_vain(project, outside)
    acknowledge(project, LAPSE, now=START + 2 * MINUTE)
    deliver_all(START + 3 * MINUTE)
    ((_, _, message),) = outside.sent
    assert message.document["acknowledgedUntil"] == wire_time(LAPSE)


def test_the_document_of_a_lapsed_one_does_not_mention_it(project: Project, outside: Outside) -> None:
    open_alert(project, WEBHOOK)
    acknowledge(project, START + 2 * MINUTE, now=START + MINUTE)
    deliver_all(START + MINUTE)
    close_alert(project, now=START + 3 * MINUTE)
    deliver_all(START + 3 * MINUTE)
    _, acknowledged, closed = [message.document for _, _, message in outside.sent]
    assert "acknowledgedUntil" in acknowledged
    assert "acknowledgedUntil" not in closed


@pytest.mark.django_db(transaction=True)
def test_one_taken_back_this_moment_holds_nothing_back(project: Project, outside: Outside) -> None:
    open_alert(project, OFTEN)
    acknowledge(project, LAPSE, now=START + MINUTE)
    later = START + 5 * MINUTE
    with transaction.atomic():
        acknowledge(project, later, now=later)
        assert deliver_meanwhile(later) == (1, 0)
    deliver_all(later)
    assert outside.kinds == [OPEN, UPDATE]
