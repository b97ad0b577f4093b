"""What is sent first, what a delivery leaves behind, and what a failed one does."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import open_tracked
from alerting.models import Alert, Notification
from alerting.reasons import NotificationReason
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.outbound.errors import UNREACHABLE
from tests.client import ApiClient
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, deliver_one, evaluate

pytestmark = pytest.mark.django_db


def read_alert(reader: ApiClient, project: Project) -> dict[str, Any]:
    """The document of the only alert."""
    document: dict[str, Any] = reader.get(f"/groups/{project.id}/alerts/{Alert.objects.get().id}").json()
    return document


def test_a_closed_alert_says_when_it_was_resolved(
    project: Project, outside: Outside, reader: ApiClient
) -> None:
    make_config(project)
    start = clock.now()
    ingest(project, host_report(reachable=False), now=start)
    evaluate()
    deliver_all()
    assert "resolved" not in read_alert(reader, project)
    ended = start + timedelta(minutes=7)
    ingest(project, host_report(reachable=True), now=ended)
    evaluate()
    deliver_all(ended)
    opened, closed = [message.document for _, _, message in outside.sent]
    assert "resolved" not in opened
    assert closed["resolved"] == wire_time(ended)
    assert read_alert(reader, project)["resolved"] == wire_time(ended)


def test_a_delivery_is_when_the_alert_was_last_notified(
    project: Project, outside: Outside, reader: ApiClient
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    start = clock.now()
    deliver_all(start)
    assert "lastNotified" not in read_alert(reader, project)
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    delivered = start + timedelta(minutes=2)
    deliver_all(delivered)
    assert read_alert(reader, project)["lastNotified"] == wire_time(delivered)


def test_a_receiver_that_asks_to_wait_is_waited_for(project: Project, outside: Outside) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver answered 429", 5, retry_after=60)
    now = clock.now()
    assert deliver_all(now) == 1
    assert Notification.objects.get().due >= now + timedelta(seconds=60)


@pytest.mark.parametrize("status", [DeliveryStatus.RETRY, DeliveryStatus.FAILED])
def test_what_fails_while_its_alert_ends_is_dropped_with_the_reason(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch, status: DeliveryStatus
) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()

    def end_and_fail(*_: Any, **__: Any) -> Outcome:
        ingest(project, host_report(reachable=True))
        evaluate()
        return Outcome(status, "the receiver could not be reached", 5)

    start = clock.now()
    with monkeypatch.context() as patched:
        patched.setattr("alerting.engine.delivery.deliver", end_and_fail)
        assert deliver_one(start)
    assert deliver_all(start + timedelta(hours=2)) == 0
    notification = Notification.objects.get()
    assert (notification.status, notification.reason) == ("DROPPED", NotificationReason.ALERT_OVER.value)
    assert outside.sent == []


def test_what_is_due_longest_is_sent_first(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**EMAIL, "delayMin": 10}, {**WEBHOOK, "delayMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    start = Alert.objects.get().created
    assert open_tracked(now=start + timedelta(minutes=5))
    assert deliver_all(start + timedelta(minutes=10)) == 2
    assert [channel for channel, _, _ in outside.sent] == ["WEBHOOK", "EMAIL"]


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(DeliveryStatus.DELIVERED, None, 1234),
        Outcome(DeliveryStatus.RETRY, "the receiver answered 503", 1234),
        Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 1234),
    ],
    ids=["delivered", "retry", "failed"],
)
def test_how_long_an_attempt_took_is_kept(project: Project, outside: Outside, outcome: Outcome) -> None:
    assert latencies(project, outside, outcome) == (1234, 1234)


def test_how_long_nobody_could_be_reached_is_not_kept(project: Project, outside: Outside) -> None:
    """The duration would distinguish a refused address from a filtered port."""
    outcome = Outcome(DeliveryStatus.RETRY, UNREACHABLE, 1234)
    assert latencies(project, outside, outcome) == (None, None)


def latencies(project: Project, outside: Outside, outcome: Outcome) -> tuple[int | None, int | None]:
    """What is kept, of a notification and of its attempt, of how long that took."""
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    outside.outcome = outcome
    deliver_one()
    notification = Notification.objects.get(kind=MessageKind.OPEN.value)
    return notification.latency_ms, notification.tries.get().latency_ms
