"""Sending what waits for a destination now: what the next attempt is, and what follows it."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.destinations.rules import PROBED_AFTER
from alerting.engine.resend import destination_send_now
from alerting.models import Destination, Notification
from events.models import Event
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
A, B = "http://127.0.0.1:9/a", "http://127.0.0.1:9/b"
BUSY = Outcome(
    DeliveryStatus.RETRY, "the receiver answered 429", 5, retry_after=1800, fault=DeliveryFault.DESTINATION
)
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5, fault=DeliveryFault.HOST)


def failing(project: Project, outside: Outside, outcome: Outcome, *urls: str) -> datetime:
    """Webhooks for which three alerts wait each, tried until they are only probed; answers when that is."""
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url} for url in urls])
    for number in range(3):
        ingest(project, host_report(f"db{number}.example.com", reachable=False), now=START)
    evaluate(START)
    outside.outcome = outcome
    now = START
    for _ in range(PROBED_AFTER * len(urls)):
        deliver_all(now)
        now += 20 * SECOND
    deliver_all(now)
    outside.sent.clear()
    return now + SECOND


def send_now(url: str, now: datetime) -> None:
    """As somebody in the console."""
    destination = Destination.objects.get(recipient__endswith=url[-1:])
    destination_send_now(destination_id=destination.id, actor=SYSTEM, now=now)


def test_one_goes_at_once_and_the_rest_when_it_was_taken(project: Project, outside: Outside) -> None:
    now = failing(project, outside, BUSY, A)
    assert deliver_all(now) == 0
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    send_now(A, now)
    assert deliver_all(now) == 3
    assert {row.status for row in Notification.objects.filter(kind="alert.open")} == {"DELIVERED"}


def test_what_fails_still_waits_again(project: Project, outside: Outside) -> None:
    now = failing(project, outside, BUSY, A)
    send_now(A, now)
    assert deliver_all(now) == 1
    assert deliver_all(now + SECOND) == 0


@pytest.mark.slow
@pytest.mark.parametrize("url", [A, B])
def test_of_a_host_that_is_away_the_chosen_destination_is_tried(
    project: Project, outside: Outside, url: str
) -> None:
    now = failing(project, outside, AWAY, A, B)
    assert deliver_all(now) == 0
    send_now(url, now)
    assert deliver_all(now) == 1
    assert [where for where, _ in outside.said] == [url]


def test_one_that_was_forgotten_meanwhile_is_refused_and_leaves_no_event(project: Project) -> None:
    with pytest.raises(ApiError):
        destination_send_now(destination_id=new_id(), actor=SYSTEM, now=START)
    assert not Event.objects.filter(event_type="NOTIFICATION_RESENT_AUDIT").exists()
