"""What a notification does when it is due: sent, repeated, tried again, dropped."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete
from alerting.engine.choices import NotificationStatus
from alerting.models import Alert, Notification
from alerting.reasons import AttemptFailure
from automation.reports.rules import EventReport
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, begin, deliver_all, deliver_one, evaluate, statuses

pytestmark = pytest.mark.django_db


def test_the_webhook_gets_the_alert_document_and_its_opened_secret(
    project: Project, outside: Outside
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    ((channel, config, message),) = outside.sent
    assert channel == "WEBHOOK"
    assert config == {"url": WEBHOOK["webhookUrl"], "secret": WEBHOOK["webhookSecret"]}
    alert = Alert.objects.get()
    assert message.document["id"] == alert.id
    assert message.document["status"] == "OPEN"
    assert message.target == "db1:27017"
    assert message.delivery_id == Notification.objects.get(kind=MessageKind.OPEN.value).id


def test_a_one_shot_notification_names_its_host_as_an_alert_does(project: Project, outside: Outside) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK")
    ingest(
        project, events=(EventReport(event_type=EventType.HOST_ROLLBACK, hostname="2001:db8::1", port=27017),)
    )
    evaluate()
    deliver_all()
    assert outside.sent[0][2].target == "[2001:db8::1]:27017"


def test_deleting_a_config_cancels_its_alerts_and_notifies_the_webhook(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, notifications=[WEBHOOK, EMAIL])
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    assert statuses(config) == ["CANCELLED"]
    deliver_all()
    assert outside.kinds == [MessageKind.OPEN, MessageKind.OPEN, MessageKind.CANCEL]
    ingest(project, host_report(reachable=False))
    evaluate()
    assert statuses(config) == ["CANCELLED"]


def test_a_repeat_is_due_after_the_interval_and_not_before(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**WEBHOOK, "intervalMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    now = clock.now()
    deliver_all(now)
    assert deliver_all(now + timedelta(minutes=4)) == 0
    assert deliver_all(now + timedelta(minutes=5, seconds=1)) == 1
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]


def test_a_repeat_of_an_alert_that_is_over_is_dropped_with_the_reason(
    project: Project, outside: Outside
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    ingest(project, host_report(reachable=True))
    evaluate()
    repeat = Notification.objects.get(kind=MessageKind.UPDATE.value)
    assert repeat.status == NotificationStatus.DROPPED.value
    assert repeat.reason == "the alert was over before it was delivered"


def test_a_failed_delivery_comes_again_under_the_same_id_and_others_are_not_repeated(
    project: Project, outside: Outside
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    start = clock.now()
    deliver_all(start)
    assert deliver_all(start + timedelta(seconds=3)) == 0
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    deliver_all(start + timedelta(seconds=7))
    assert len({message.delivery_id for _, _, message in outside.sent}) == 1
    notification = Notification.objects.get(kind=MessageKind.OPEN.value)
    assert (notification.status, notification.attempts, notification.reason) == ("DELIVERED", 2, None)


def test_a_permanent_failure_is_kept_with_its_reason(project: Project, outside: Outside) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5)
    deliver_all()
    notification = Notification.objects.get(kind=MessageKind.OPEN.value)
    assert (notification.status, notification.reason) == ("FAILED", "the receiver answered 404")


def test_a_receiver_that_could_not_be_notified_is_notified_at_the_next_repeat(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[{**WEBHOOK, "intervalMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5)
    start = clock.now()
    deliver_all(start)
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    deliver_all(start + timedelta(minutes=6))
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]


def test_a_message_that_cannot_be_created_is_given_up_with_a_reason(
    project: Project, outside: Outside, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    settings.OPSAPI_ENCRYPTION_KEYS = ["another key"]
    now = clock.now()
    for minutes in range(0, 70, 5):
        deliver_all(now + timedelta(minutes=minutes, seconds=minutes))
    notification = Notification.objects.get(kind=MessageKind.OPEN.value)
    assert notification.status == "FAILED"
    assert notification.reason == AttemptFailure.SECRETS_UNREADABLE.value
    assert WEBHOOK["webhookSecret"] not in caplog.text
    assert not [line for line in caplog.records if line.exc_info]


@pytest.mark.slow
def test_attempts_that_never_come_to_an_end_are_given_up(project: Project, outside: Outside) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    now = clock.now()
    for seconds in range(0, 4000, 31):
        begin(now + timedelta(seconds=seconds))
    deliver_all(now + timedelta(seconds=4100))
    assert outside.sent == []
    assert Notification.objects.get(kind="alert.open").reason == "no attempt was completed"


def test_an_update_perhaps_sent_does_not_follow_the_close(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**WEBHOOK, "intervalMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    start = clock.now()
    deliver_all(start)
    later = start + timedelta(minutes=6)
    assert begin(later)
    ingest(project, host_report(reachable=True))
    evaluate()
    deliver_all(later + timedelta(minutes=1))
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CLOSE]


def test_a_one_shot_notification_is_not_sent_after_its_config_is_deleted(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[{**WEBHOOK, "delayMin": 10}])
    event = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
    ingest(project, host_report(), events=(event,))
    evaluate()
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    deliver_all(clock.now() + timedelta(minutes=11))
    assert outside.sent == []
    assert Notification.objects.get().reason == "the alert configuration was deleted or disabled"


def test_after_a_crash_while_sending_the_receiver_gets_the_message_again_and_then_the_end(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    start = clock.now()

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("alerting.engine.delivery.record", crash)
        with pytest.raises(KeyboardInterrupt):
            deliver_one(start)
    ingest(project, host_report(reachable=True))
    evaluate()
    assert deliver_all(start + timedelta(seconds=29)) == 0
    deliver_all(start + timedelta(seconds=31))
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CLOSE]


def test_a_lapsed_lease_cannot_record(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    start = clock.now()
    slow = outside.deliver

    def overtaken(*given: Any, **options: Any) -> Outcome:
        monkeypatch.setattr("alerting.engine.delivery.deliver", slow)
        deliver_one(start + timedelta(seconds=31))
        return Outcome(DeliveryStatus.FAILED, "too late", 1)

    monkeypatch.setattr("alerting.engine.delivery.deliver", overtaken)
    deliver_one(start)
    assert Notification.objects.get(kind=MessageKind.OPEN.value).status == "DELIVERED"
