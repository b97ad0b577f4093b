"""Sending a failed notification again: the same delivery, due now, and recorded."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.changes import (
    alert_config_delete,
    alert_config_set_enabled,
    deleted_config_secrets_purge,
)
from alerting.engine.choices import NotificationStatus
from alerting.engine.resend import notification_resend
from alerting.models import Alert, AlertConfig, Destination, Notification, NotificationSetting
from alerting.reasons import NotificationReason
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import AGENT, host_report, ingest
from tests.factories.integrations import make_integration
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db

REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 7)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 7)
ROLLBACK = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)


def of(kind: MessageKind, **filters: Any) -> Notification:
    """The one of that kind."""
    return Notification.objects.get(kind=kind.value, **filters)


def failed(project: Project, outside: Outside) -> Notification:
    """An opening that its receiver refused."""
    make_config(project, notifications=[{**WEBHOOK, "intervalMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = REFUSED
    deliver_all()
    outside.outcome = TAKEN
    return of(MessageKind.OPEN)


def resend(notification: Notification) -> None:
    """As an operator does."""
    notification_resend(notification=notification, actor=AGENT, now=clock.now())


def test_it_is_due_at_once_and_sent_under_the_same_delivery_id(project: Project, outside: Outside) -> None:
    notification = failed(project, outside)
    resend(notification)
    notification.refresh_from_db()
    assert (notification.status, notification.reason) == ("PENDING", None)
    assert notification.due <= clock.now()
    deliver_all()
    assert [message.delivery_id for _, _, message in outside.sent] == [notification.id] * 2
    notification.refresh_from_db()
    assert (notification.status, notification.attempts) == ("DELIVERED", 2)
    assert list(notification.tries.values_list("number", "status")) == [(1, "failed"), (2, "delivered")]


def test_it_records_who_did_it_and_with_which_alert(project: Project, outside: Outside) -> None:
    notification = failed(project, outside)
    resend(notification)
    event = Event.objects.get(event_type=EventType.NOTIFICATION_RESENT_AUDIT.value)
    assert event.alert_id == notification.alert_id
    assert event.group_id == project.id
    assert event.details["publicKey"] == AGENT.name
    (diff,) = event.diffs
    assert (diff["id"], diff["status"]) == (notification.id, "MODIFIED")
    changed = {param["param"]: (param["old"], param["new"]) for param in diff["params"]}
    assert changed == {"status": ("FAILED", "PENDING")}


def test_a_receiver_that_is_still_away_has_another_hour(project: Project, outside: Outside) -> None:
    notification = failed(project, outside)
    later = clock.now() + timedelta(days=1)
    Alert.objects.update(acknowledged_until=None)
    notification_resend(notification=notification, actor=SYSTEM, now=later)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver answered 503", 7)
    deliver_all(later)
    notification.refresh_from_db()
    assert notification.status == NotificationStatus.PENDING
    assert notification.first_attempt == later


def test_the_end_is_sent_to_recipients_that_got_the_opening(project: Project, outside: Outside) -> None:
    resend(failed(project, outside))
    deliver_all()
    ingest(project, host_report())
    evaluate()
    deliver_all()
    assert outside.kinds == [MessageKind.OPEN, MessageKind.OPEN, MessageKind.CLOSE]


def test_repeats_go_on_as_one_row_of_them(project: Project, outside: Outside) -> None:
    """The one that was to follow the failure gives way to the one that follows what is sent now."""
    resend(failed(project, outside))
    repeat = of(MessageKind.UPDATE)
    assert (repeat.status, repeat.reason) == (NotificationStatus.DROPPED, NotificationReason.SENT_AGAIN)
    deliver_all()
    assert of(MessageKind.UPDATE, status=NotificationStatus.PENDING.value)


def test_a_one_shot_notification_can_be_sent_again(project: Project, outside: Outside) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK")
    ingest(project, host_report(), events=(ROLLBACK,))
    evaluate()
    outside.outcome = REFUSED
    deliver_all()
    resend(of(MessageKind.INFORM))
    outside.outcome = TAKEN
    deliver_all()
    assert of(MessageKind.INFORM).status == NotificationStatus.DELIVERED


def refusal(notification: Notification) -> tuple[ErrorCode, str]:
    """The code and the reason; nothing may have changed."""
    before = Notification.objects.filter(id=notification.id).values().get()
    with pytest.raises(ApiError) as caught:
        resend(notification)
    assert Notification.objects.filter(id=notification.id).values().get() == before
    assert not Event.objects.filter(event_type=EventType.NOTIFICATION_RESENT_AUDIT.value).exists()
    return caught.value.code, caught.value.parameters[-1]


@pytest.mark.parametrize(
    "status", [status for status in NotificationStatus if status is not NotificationStatus.FAILED]
)
def test_it_refuses_what_did_not_fail(project: Project, outside: Outside, status: NotificationStatus) -> None:
    notification = failed(project, outside)
    Notification.objects.filter(id=notification.id).update(status=status.value)
    assert refusal(notification) == (ErrorCode.NOTIFICATION_CANNOT_BE_RESENT, f"it is {status.value}")


def test_it_refuses_what_would_be_dropped_at_once(project: Project, outside: Outside) -> None:
    notification = failed(project, outside)
    ingest(project, host_report())
    evaluate()
    code, reason = refusal(notification)
    assert code is ErrorCode.NOTIFICATION_CANNOT_BE_RESENT
    assert reason == "the alert was over before it was delivered"


def test_it_refuses_a_notification_that_has_no_recipient_left(project: Project, outside: Outside) -> None:
    config = make_config(project, eventTypeName="HOST_ROLLBACK")
    ingest(project, host_report(), events=(ROLLBACK,))
    evaluate()
    outside.outcome = REFUSED
    deliver_all()
    alert_config_set_enabled(config=config, enabled=False, actor=SYSTEM, now=clock.now())
    _, reason = refusal(of(MessageKind.INFORM))
    assert reason == "the alert configuration was deleted or disabled"


def test_it_refuses_while_the_repeat_after_it_is_being_sent(project: Project, outside: Outside) -> None:
    notification = failed(project, outside)
    repeat = of(MessageKind.UPDATE)
    Notification.objects.filter(id=repeat.id).update(lease_token="0" * 32, lease_until=clock.now())
    _, reason = refusal(notification)
    assert reason == "a reminder for the same alert is being sent"


def cancelled(project: Project, outside: Outside) -> Notification:
    """Word of a cancelling that its receiver refused."""
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    outside.outcome = REFUSED
    alert_config_delete(config=AlertConfig.objects.get(), actor=SYSTEM, now=clock.now())
    deliver_all()
    outside.outcome = TAKEN
    return of(MessageKind.CANCEL)


def test_the_end_is_sent_again_while_there_is_something_to_send_it_with(
    project: Project, outside: Outside
) -> None:
    resend(cancelled(project, outside))
    deliver_all()
    assert outside.sent[-1][1] == {"url": WEBHOOK["webhookUrl"], "secret": WEBHOOK["webhookSecret"]}


def test_it_refuses_what_there_are_no_credentials_for_any_more(project: Project, outside: Outside) -> None:
    """Not what is shown of them, nor the integration's, whose URL it never was."""
    notification = cancelled(project, outside)
    make_integration(project, "WEBHOOK")
    assert deleted_config_secrets_purge(now=clock.now() + timedelta(seconds=1))
    Destination.objects.update(config=None)
    assert refusal(notification) == (
        ErrorCode.NOTIFICATION_CANNOT_BE_RESENT,
        "its credentials were deleted with the alert configuration",
    )


def test_the_end_goes_to_the_destination_of_the_beginning_whatever_became_of_its_configuration(
    project: Project, outside: Outside
) -> None:
    notification = cancelled(project, outside)
    NotificationSetting.with_removed.all().delete()
    resend(notification)
    outside.outcome = TAKEN
    deliver_all()
    notification.refresh_from_db()
    assert notification.status == NotificationStatus.DELIVERED


def test_what_is_sent_again_goes_where_its_configuration_leads_also_after_a_long_time(
    project: Project, outside: Outside
) -> None:
    notification = failed(project, outside)
    Destination.objects.all().delete()
    resend(notification)
    deliver_all()
    notification.refresh_from_db()
    assert notification.status == NotificationStatus.DELIVERED


def test_the_end_goes_to_an_address_that_nothing_names_any_more(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[EMAIL])
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    ingest(project, host_report())
    evaluate()
    outside.outcome = REFUSED
    deliver_all()
    NotificationSetting.with_removed.all().delete()
    outside.outcome = TAKEN
    resend(of(MessageKind.CLOSE))
    deliver_all()
    assert outside.sent[-1][1] == {"emailAddress": EMAIL["emailAddress"]}


def test_one_that_is_gone_is_not_found(project: Project, outside: Outside) -> None:
    notification = failed(project, outside)
    Notification.objects.filter(id=notification.id).delete()
    with pytest.raises(ApiError) as caught:
        resend(notification)
    assert caught.value.code is ErrorCode.NOTIFICATION_NOT_FOUND
