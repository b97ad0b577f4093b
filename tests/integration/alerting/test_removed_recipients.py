"""A user who is no longer in a notification is notified only of the end."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from accesslist.models import Project, RoleGrant, User
from alerting.engine.choices import NotificationStatus
from alerting.engine.leases import LEASE
from alerting.engine.resend import notification_resend
from alerting.models import Notification, NotificationSetting
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_create
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting import pipeline
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.recipients import GROUP, make_member, messages_of

pytestmark = pytest.mark.django_db

AWAY = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 550", 5)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
OPEN, CLOSE = MessageKind.OPEN, MessageKind.CLOSE
LATER = timedelta(minutes=5)
ADA, BOB = "ada@example.com", "bob@example.com"


def begin(project: Project, outside: Outside, outcome: Outcome) -> User:
    """An alert that ada and bob are notified of, with that outcome; ada."""
    ada = make_member(project, "ada")
    make_member(project, "bob")
    make_config(project, notifications=[GROUP])
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = outcome
    deliver_all()
    outside.outcome, outside.sent = TAKEN, []
    return ada


def go(ada: User) -> None:
    """Ada's account is deleted."""
    ada.delete()


def lose_role(ada: User) -> None:
    """Ada has no role in the project any more."""
    RoleGrant.objects.filter(user=ada).delete()


def change_address(ada: User) -> None:
    """Ada has another address."""
    User.objects.filter(id=ada.id).update(email_address="new@example.com")


def turn_mail_off(_ada: User) -> None:
    """Notify people only by SMS."""
    NotificationSetting.objects.update(fields={"smsEnabled": True})


LEAVING = pytest.mark.parametrize("leave", [go, lose_role, change_address, turn_mail_off])


def opening(recipient: str) -> Notification:
    """Of the alert, to that address."""
    return Notification.objects.get(kind=OPEN.value, recipient=recipient)


@LEAVING
def test_a_retry_is_not_sent_to_a_person_who_left(
    project: Project, outside: Outside, leave: Callable[[User], None]
) -> None:
    leave(begin(project, outside, AWAY))
    deliver_all(clock.now() + LATER)
    assert ADA not in {address for _, address in messages_of(outside)}
    row = opening(ADA)
    assert (row.status, row.reason) == (NotificationStatus.DROPPED, NotificationReason.NO_LONGER_RECIPIENT)


def test_remaining_recipients_are_notified(project: Project, outside: Outside) -> None:
    ada = begin(project, outside, AWAY)
    User.objects.filter(id=ada.id).update(email_address="ADA@example.com")
    deliver_all(clock.now() + LATER)
    assert messages_of(outside) == [(OPEN, ADA), (OPEN, BOB)]


def test_a_muted_notification_is_not_sent_to_a_person_who_left(project: Project, outside: Outside) -> None:
    ada, now = begin(project, outside, AWAY), clock.now()
    end = now + timedelta(hours=1)
    values = {"alert_types": ["HOST"], "start": now, "end": end}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=now)
    deliver_all(now + LATER)
    assert outside.sent == []
    go(ada)
    deliver_all(now + timedelta(hours=1))
    assert messages_of(outside)[:1] == [(OPEN, BOB)]
    assert ADA not in {address for _, address in messages_of(outside)}


@LEAVING
def test_what_failed_is_not_sent_to_who_left_again(
    project: Project, outside: Outside, leave: Callable[[User], None]
) -> None:
    leave(begin(project, outside, REFUSED))
    with pytest.raises(ApiError) as caught:
        notification_resend(notification=opening(ADA), actor=SYSTEM, now=clock.now())
    assert caught.value.code is ErrorCode.NOTIFICATION_CANNOT_BE_RESENT
    assert caught.value.parameters[-1] == NotificationReason.NO_LONGER_RECIPIENT.value
    assert opening(ADA).status == NotificationStatus.FAILED


def test_a_person_who_left_after_the_opening_gets_the_end(project: Project, outside: Outside) -> None:
    go(begin(project, outside, TAKEN))
    ingest(project, host_report())
    evaluate()
    outside.outcome = AWAY
    deliver_all()
    outside.outcome, outside.sent = TAKEN, []
    deliver_all(clock.now() + LATER)
    assert messages_of(outside) == [(CLOSE, ADA), (CLOSE, BOB)]


def test_a_person_who_left_and_was_perhaps_notified_gets_the_end(project: Project, outside: Outside) -> None:
    ada, now = begin(project, outside, AWAY), clock.now() + LATER
    Notification.objects.exclude(recipient=ADA).update(due=now + timedelta(days=1))
    assert pipeline.begin(now)
    go(ada)
    deliver_all(now + LEASE + timedelta(seconds=1))
    ingest(project, host_report(reachable=True))
    evaluate()
    deliver_all(now + LEASE + timedelta(seconds=2))
    assert messages_of(outside) == [(CLOSE, ADA)]
