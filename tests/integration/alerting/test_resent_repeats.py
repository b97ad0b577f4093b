"""However often a notification is sent again, each receiver has one row of reminders of a running alert."""

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.engine.choices import NotificationStatus
from alerting.engine.delivery import decide, record, send
from alerting.engine.leases import LEASE
from alerting.engine.resend import notification_resend
from alerting.engine.schedule import notifications_drop
from alerting.incidents.changes import alert_acknowledge
from alerting.models import Alert, AlertConfig, Notification
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.recipients import GROUP, make_member

pytestmark = pytest.mark.django_db

REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 7)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 7)
GAP = timedelta(minutes=6)
UPDATE = MessageKind.UPDATE


def to_come() -> int:
    """How many repeats wait."""
    return Notification.objects.filter(kind=UPDATE.value, status=NotificationStatus.PENDING.value).count()


def begin(project: Project, outside: Outside, notification: Mapping[str, Any], outcome: Outcome) -> None:
    """An open alert whose first message had this outcome."""
    make_config(project, notifications=[{**notification, "intervalMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = outcome
    deliver_all()


def failed(kind: MessageKind) -> Notification:
    """The one of that kind that failed."""
    return Notification.objects.get(kind=kind.value, status=NotificationStatus.FAILED.value)


def resend(notification: Notification) -> None:
    """As an operator does."""
    notification_resend(notification=notification, actor=SYSTEM, now=clock.now())


@pytest.mark.parametrize("notification", [WEBHOOK, EMAIL], ids=["service", "address"])
def test_an_opening_and_its_repeat_sent_again_are_followed_by_one(
    project: Project, outside: Outside, notification: Mapping[str, Any]
) -> None:
    begin(project, outside, notification, REFUSED)
    deliver_all(clock.now() + GAP)
    outside.outcome = TAKEN
    opening, repeat = failed(MessageKind.OPEN), failed(UPDATE)
    resend(opening)
    resend(repeat)
    Notification.objects.filter(id=opening.id).update(due=clock.now() + GAP / 2)
    deliver_all()
    assert to_come() == 0
    deliver_all(clock.now() + GAP / 2)
    assert Notification.objects.filter(status=NotificationStatus.DELIVERED.value).count() == 2
    assert to_come() == 1


@pytest.mark.parametrize(
    ("notification", "changed"),
    [
        pytest.param(WEBHOOK, {"webhookUrl": "https://new.example.com/abcdefgh"}, id="service"),
        pytest.param(EMAIL, {"emailAddress": "new@example.com"}, id="address"),
    ],
)
def test_what_is_sent_again_after_its_receiver_was_corrected_is_followed_by_one(
    project: Project, outside: Outside, notification: Mapping[str, Any], changed: dict[str, Any]
) -> None:
    begin(project, outside, notification, REFUSED)
    config = AlertConfig.objects.get()
    plain = {name: value for name, value in notification.items() if name != "webhookSecret"}
    corrected = {**plain, "id": config.settings.get().id, "intervalMin": 5, **changed}
    alert_config_update(
        config=config, read=lambda _: {"notifications": [corrected]}, actor=SYSTEM, now=clock.now()
    )
    deliver_all(clock.now() + GAP)
    outside.outcome = TAKEN
    resend(Notification.objects.get(kind=MessageKind.OPEN.value))
    assert to_come() == 0
    deliver_all()
    assert to_come() == 1


def test_a_repeat_that_is_taken_up_meanwhile_is_followed_by_one(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(project, outside, WEBHOOK, REFUSED)
    outside.outcome = TAKEN

    def late(**given: Any) -> None:
        """A sender comes first."""
        held = {
            "lease_token": uuid.uuid4(),
            "lease_until": clock.now() + LEASE,
            "destination": opening.destination,
        }
        Notification.objects.filter(kind=UPDATE.value).update(**held)
        notifications_drop(**given)

    monkeypatch.setattr("alerting.engine.resend.notifications_drop", late)
    opening = failed(MessageKind.OPEN)
    resend(opening)
    assert deliver_all() == 0
    repeat = Notification.objects.get(kind=UPDATE.value)
    [attempt] = decide([repeat], now=clock.now())
    record([(attempt, send(attempt, now=clock.now()))], now=clock.now())
    assert deliver_all() == 1
    assert outside.kinds[-2:] == [UPDATE, MessageKind.OPEN]
    assert to_come() == 1


def test_word_of_an_acknowledgement_sent_again_leaves_the_repeat_to_come(
    project: Project, outside: Outside
) -> None:
    begin(project, outside, WEBHOOK, TAKEN)
    alert, now = Alert.objects.get(), clock.now()
    until = now + timedelta(hours=1)
    alert_acknowledge(
        alert_id=alert.id, group_id=project.id, until=until, comment=None, actor=SYSTEM, now=now
    )
    outside.outcome = REFUSED
    deliver_all(now)
    outside.outcome = TAKEN
    resend(failed(MessageKind.ACKNOWLEDGE))
    deliver_all()
    assert outside.kinds[-1] == MessageKind.ACKNOWLEDGE
    assert to_come() == 1
    deliver_all(until + GAP)
    assert outside.kinds[-1] == UPDATE


def test_word_of_an_acknowledgement_is_sent_again_while_a_repeat_is_being_sent(
    project: Project, outside: Outside
) -> None:
    begin(project, outside, WEBHOOK, TAKEN)
    alert, now = Alert.objects.get(), clock.now()
    until = now + timedelta(hours=1)
    alert_acknowledge(
        alert_id=alert.id, group_id=project.id, until=until, comment=None, actor=SYSTEM, now=now
    )
    outside.outcome = REFUSED
    deliver_all(now)
    held = {"lease_token": uuid.uuid4(), "lease_until": now + GAP}
    Notification.objects.filter(kind=UPDATE.value).update(**held)
    resend(failed(MessageKind.ACKNOWLEDGE))
    assert Notification.objects.get(kind=MessageKind.ACKNOWLEDGE.value).status == NotificationStatus.PENDING


def test_resending_to_one_person_keeps_one_row_of_reminders(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    make_member(project, "bob")
    begin(project, outside, GROUP, REFUSED)
    outside.outcome = TAKEN
    resend(Notification.objects.get(kind=MessageKind.OPEN.value, recipient="ada@example.com"))
    deliver_all()
    assert to_come() == 1
    deliver_all(clock.now() + GAP)
    assert outside.kinds[-2:] == [UPDATE, UPDATE]
    assert to_come() == 1


def test_what_others_of_the_people_wait_for_stays(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    make_member(project, "bob")
    begin(project, outside, GROUP, REFUSED)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    deliver_all(clock.now() + GAP)
    resend(Notification.objects.get(kind=MessageKind.OPEN.value, recipient="ada@example.com"))
    repeats = Notification.objects.filter(kind=UPDATE.value, channel__isnull=False)
    assert set(repeats.values_list("recipient", "status")) == {
        ("ada@example.com", "DROPPED"),
        ("bob@example.com", "PENDING"),
    }
