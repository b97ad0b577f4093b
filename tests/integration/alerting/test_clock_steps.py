"""The clock steps back: a notification that was due at once does not wait until the clock is there again."""

from datetime import timedelta

import pytest

from accesslist.models import Project
from alerting.engine.schedule import notifications_bring_forward
from alerting.engine.worker import Worker
from alerting.models import Notification
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db
STEP = timedelta(hours=1)


def test_a_notification_written_before_the_step_is_sent_now_and_a_delayed_one_keeps_its_time(
    project: Project, outside: Outside
) -> None:
    now = clock.now()
    make_config(project, notifications=[EMAIL, {**WEBHOOK, "delayMin": 30}])
    ingest(project, host_report(reachable=False), now=now + STEP)
    evaluate(now + STEP)
    assert deliver_all() == 0
    Worker("host:1")._beat()
    assert deliver_all() == 1
    assert outside.kinds == [MessageKind.OPEN]
    delayed = Notification.objects.get(channel="WEBHOOK")
    assert delayed.due == delayed.created + timedelta(minutes=30)


def test_a_retry_of_an_attempt_before_the_step_is_created_now(project: Project, outside: Outside) -> None:
    now = clock.now()
    make_config(project, notifications=[EMAIL])
    ingest(project, host_report(reachable=False), now=now + STEP)
    evaluate(now + STEP)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    assert deliver_all(now + STEP) == 1
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    assert deliver_all(now) == 0
    assert notifications_bring_forward(now=now) == 1
    assert deliver_all(now) == 1


def test_a_retry_after_the_step_keeps_its_pause(project: Project, outside: Outside) -> None:
    now = clock.now()
    make_config(project, notifications=[EMAIL])
    ingest(project, host_report(reachable=False), now=now + STEP)
    evaluate(now + STEP)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    assert deliver_all(now + STEP) == 1
    assert notifications_bring_forward(now=now) == 1
    assert deliver_all(now) == 1
    assert Notification.objects.get().due > now
    assert notifications_bring_forward(now=now) == 0
