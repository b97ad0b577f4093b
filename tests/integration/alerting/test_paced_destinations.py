"""Messages of a destination that refuses some of them for now."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.models import Destination, Notification
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
BUSY = Outcome(DeliveryStatus.RETRY, "the receiver answered 429", 5, fault=DeliveryFault.DESTINATION)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture
def answering(project: Project, outside: Outside) -> Outside:
    """The receiver, which took a message at the start."""
    make_config(project, notifications=[WEBHOOK])
    evaluate(START)
    _open(project, 0)
    assert deliver_all(START) == 1
    return outside


def test_others_are_sent_while_a_refused_message_waits_for_its_own_next_attempt(
    project: Project, answering: Outside
) -> None:
    answering.outcome = BUSY
    _open(project, 1)
    assert deliver_all(at(1)) == 1
    answering.outcome = TAKEN
    _open(project, 3)
    assert deliver_all(at(3)) == 1
    assert deliver_all(at(4.9)) == 0
    assert deliver_all(at(7.1)) == 1


def test_a_refusal_does_not_double_the_wait_of_a_message_while_the_receiver_takes_others(
    project: Project, answering: Outside
) -> None:
    answering.outcome = BUSY
    _open(project, 1)
    deliver_all(at(1))
    answering.outcome = TAKEN
    _open(project, 3)
    deliver_all(at(3))
    answering.outcome = BUSY
    deliver_all(at(8))
    assert at(8 + 4) <= _refused().due <= at(8 + 6)


def test_refusals_of_a_receiver_that_takes_nothing_double_the_wait_of_a_message(
    project: Project, answering: Outside
) -> None:
    answering.outcome = BUSY
    _open(project, 1)
    deliver_all(at(1))
    deliver_all(at(8))
    assert at(8 + 8) <= _refused().due <= at(8 + 12)


def test_a_pace_that_an_earlier_version_stored_is_followed_and_shortened(
    project: Project, answering: Outside
) -> None:
    """It stores up to a minute, and neither the refused pace nor the time of the step."""
    Destination.objects.update(pace_ms=60_000, next_try=at(2))
    _open(project, 1)
    assert deliver_all(at(1)) == 0
    answering.outcome = BUSY
    assert deliver_all(at(3)) == 1
    destination = Destination.objects.get()
    assert (destination.pace_ms, destination.slowed) == (4_000, at(3))


def _open(project: Project, seconds: float) -> None:
    """A host is down, which opens an alert."""
    ingest(project, host_report(f"db{seconds}.example.com", reachable=False), now=at(seconds))
    evaluate(at(seconds))


def _refused() -> Notification:
    return Notification.objects.get(status="PENDING", first_attempt__isnull=False)
