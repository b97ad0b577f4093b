"""Receivers that fail are tried less often and delay nobody else (decisions 7)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from accesslist.models import Project
from alerting.answering import Answering
from alerting.models import FailingReceiver, Notification
from alerting.pipeline import deliver_due
from alerting.services.claiming import notification_claim
from alerting.services.receivers import REMEMBERED, receiver_failed, receivers_forget
from alerting.worker import Worker
from integrations.choices import ChannelType, DeliveryStatus
from integrations.delivery import Outcome
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.people import GROUP
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
PROBE = timedelta(seconds=10)
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5, unavailable=True)
BUSY = Outcome(DeliveryStatus.RETRY, "the receiver answered 429", 5)
REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 5)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
DEAD = "WEBHOOK http://127.0.0.1:9"
TWELVE = [{**WEBHOOK, "webhookUrl": f"http://127.0.0.1:9/{number}"} for number in range(12)]


def due(project: Project, *notifications: Any, now: datetime = START) -> None:
    """Notifications, due now."""
    make_config(project, notifications=notifications)
    evaluate(now)
    ingest(project, host_report(reachable=False), now=now)
    evaluate(now)


def fail(times: int, key: str = DEAD) -> None:
    """The receiver has failed so often, by now."""
    for _ in range(times):
        receiver_failed(key=key, now=START)


def test_after_five_failures_in_a_row_it_is_probed_every_ten_seconds(
    project: Project, outside: Outside
) -> None:
    due(project, *TWELVE)
    outside.outcome = AWAY
    assert deliver_all(START) == 5
    assert FailingReceiver.objects.get(key=DEAD).failures == 5
    assert deliver_all(START + PROBE - SECOND) == 0
    assert deliver_all(START + PROBE) == 1
    assert deliver_all(START + 2 * PROBE - SECOND) == 0
    assert deliver_all(START + 2 * PROBE) == 1
    assert Notification.objects.filter(status="PENDING").count() == 12


def test_the_first_answer_lets_all_of_it_through(project: Project, outside: Outside) -> None:
    due(project, *TWELVE)
    fail(7)
    assert deliver_all(START) == 0
    assert deliver_all(START + PROBE) == 12
    assert not FailingReceiver.objects.exists()


@pytest.mark.parametrize("answer", [TAKEN, REFUSED, BUSY], ids=["taken", "refused", "busy"])
def test_any_answer_begins_the_count_anew(project: Project, outside: Outside, answer: Outcome) -> None:
    fail(4)
    due(project, WEBHOOK)
    outside.outcome = answer
    deliver_all(START)
    fail(1)
    assert FailingReceiver.objects.get(key=DEAD).failures == 1


def test_what_it_puts_off_for_one_of_its_customers_slows_down_nobody_else(
    project: Project, outside: Outside
) -> None:
    due(project, *[{**EMAIL, "emailAddress": f"full{number}@example.com"} for number in range(12)])
    due(ProjectFactory.create(), EMAIL, now=START + SECOND)
    outside.outcome = BUSY
    assert deliver_all(START + SECOND) == 13
    assert not FailingReceiver.objects.exists()


def test_others_are_told_meanwhile(project: Project, outside: Outside) -> None:
    due(project, *TWELVE, now=START)
    fail(5)
    due(project, EMAIL, {**WEBHOOK, "webhookUrl": "http://127.0.0.2:9/"}, now=START + SECOND)
    assert deliver_all(START + SECOND) == 2
    assert {channel for channel, _, _ in outside.sent} == {ChannelType.EMAIL, ChannelType.WEBHOOK}


@pytest.mark.parametrize(
    ("waited", "first"),
    [(59 * SECOND, "EMAIL"), (60 * SECOND, DEAD)],
    ids=["others go first", "for a minute"],
)
def test_one_that_fails_lets_others_go_first(project: Project, waited: timedelta, first: str) -> None:
    """Each of its messages may hold a sender as long as a channel waits."""
    due(project, WEBHOOK)
    fail(1)
    due(project, EMAIL, now=START + SECOND)
    claims = [notification_claim(now=START + waited) for _ in range(2)]
    receivers = [claim.notification.receiver if claim else None for claim in claims]
    assert receivers[0] == first
    assert set(receivers) == {DEAD, "EMAIL"}


def test_one_that_fails_gets_one_message_at_a_time(project: Project) -> None:
    due(project, *TWELVE)
    fail(1)
    assert notification_claim(now=START) is not None
    assert notification_claim(now=START) is None


def test_one_not_heard_of_gets_one_message_at_a_time(project: Project) -> None:
    due(project, *TWELVE)
    assert notification_claim(now=START) is not None
    assert notification_claim(now=START) is None
    assert notification_claim(now=START, known_to_answer=[DEAD]) is not None


def test_one_that_answers_leaves_a_sender_free(project: Project, settings: Settings) -> None:
    settings.OPSAPI_SENDERS = 4
    due(project, *TWELVE, EMAIL)
    claims = [notification_claim(now=START, known_to_answer=[DEAD]) for _ in range(5)]
    channels = [claim.notification.channel if claim else None for claim in claims]
    assert sorted(channels, key=str) == ["EMAIL", None, "WEBHOOK", "WEBHOOK", "WEBHOOK"]


def test_the_last_sender_tells_projects_first_that_do_not_keep_the_others_at_work(
    project: Project, settings: Settings
) -> None:
    settings.OPSAPI_SENDERS = 3
    due(project, *[{**WEBHOOK, "webhookUrl": f"http://127.0.0.{number}:9/"} for number in range(1, 6)])
    other = ProjectFactory.create()
    due(other, EMAIL, now=START + SECOND)
    asked = [True, False, True, True, False]
    known = ["EMAIL", *(f"WEBHOOK http://127.0.0.{number}:9" for number in range(1, 6))]
    claims = [
        notification_claim(now=START + SECOND, known_to_answer=known, only_answering=last) for last in asked
    ]
    groups = [claim.notification.group_id if claim else None for claim in claims]
    assert groups == [project.id, project.id, other.id, project.id, project.id]


def test_a_lapsed_lease_keeps_nobody_waiting(project: Project, settings: Settings) -> None:
    settings.OPSAPI_SENDERS = 2
    due(project, *TWELVE)
    assert notification_claim(now=START) is not None
    assert notification_claim(now=START + 30 * SECOND) is None
    assert notification_claim(now=START + 31 * SECOND) is not None


def test_one_sender_is_kept_for_those_that_answer(project: Project, outside: Outside) -> None:
    """However many others hang, whether they failed before or were never heard of."""
    due(project, *TWELVE, EMAIL, {**WEBHOOK, "webhookUrl": "http://127.0.0.2:9/"})
    fail(1)
    answering = Answering()
    for key in (DEAD, "EMAIL"):
        answering.note(key, answered=True)
    while deliver_due(clock=lambda: START, answering=answering, only_answering=True):
        pass
    assert [channel for channel, _, _ in outside.sent] == [ChannelType.EMAIL]


def test_the_kept_sender_looks_people_up(project: Project, outside: Outside) -> None:
    due(project, GROUP)
    assert deliver_due(clock=lambda: START, answering=Answering(), only_answering=True)
    assert Notification.objects.get(kind="alert.open").status != "PENDING"


def test_the_kept_sender_tells_nobody_it_does_not_know(project: Project) -> None:
    due(project, WEBHOOK)
    Notification.objects.update(receiver="")
    assert notification_claim(now=START, only_answering=True) is None
    assert notification_claim(now=START) is not None


@pytest.mark.parametrize(
    ("outcome", "known"),
    [(TAKEN, {DEAD}), (REFUSED, {DEAD}), (BUSY, {DEAD}), (AWAY, frozenset())],
    ids=["taken", "refused", "busy", "away"],
)
def test_what_it_answered_is_remembered(
    project: Project, outside: Outside, outcome: Outcome, known: set[str]
) -> None:
    due(project, WEBHOOK)
    outside.outcome = outcome
    answering = Answering()
    deliver_due(clock=lambda: START, answering=answering)
    assert answering.keys() == known


def test_what_was_not_tried_is_no_failure_of_the_receiver(
    project: Project, outside: Outside, settings: Settings
) -> None:
    due(project, WEBHOOK)
    settings.OPSAPI_ENCRYPTION_KEYS = ["another key"]
    deliver_all(START)
    assert Notification.objects.get().status == "PENDING"
    assert not FailingReceiver.objects.exists()


def test_one_nobody_tried_for_a_day_is_forgotten() -> None:
    fail(5)
    assert not receivers_forget(now=START + REMEMBERED)
    assert receivers_forget(now=START + REMEMBERED + SECOND)
    assert not FailingReceiver.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_one_probes(project: Project, outside: Outside) -> None:
    due(project, *TWELVE)
    fail(5)
    with ThreadPoolExecutor(max_workers=4) as pool:
        claims = list(pool.map(lambda _: _claim_in_thread(), range(4)))
    assert sum(claims) == 1


@pytest.mark.django_db(transaction=True)
def test_of_senders_that_wake_together_one_tries_who_was_not_heard_of(
    project: Project, settings: Settings
) -> None:
    settings.OPSAPI_SENDERS = 4
    others = [{**WEBHOOK, "webhookUrl": f"http://127.0.0.{number}:9/"} for number in (2, 3)]
    due(project, *TWELVE, *others)
    with ThreadPoolExecutor(max_workers=4) as pool:
        claims = list(pool.map(lambda _: _claim_in_thread(), range(8)))
    assert sum(claims) == 3
    held = Notification.objects.filter(lease_until__gt=START + PROBE).values_list("receiver", flat=True)
    assert sorted(held) == [DEAD, "WEBHOOK http://127.0.0.2:9", "WEBHOOK http://127.0.0.3:9"]


def test_one_that_could_not_be_tried_stays_known_by_who_it_is(
    project: Project, outside: Outside, settings: Settings
) -> None:
    due(project, WEBHOOK)
    settings.OPSAPI_ENCRYPTION_KEYS = ["another key"]
    deliver_all(START)
    assert Notification.objects.get().receiver == DEAD


def _claim_in_thread() -> bool:
    try:
        return notification_claim(now=START + PROBE) is not None
    finally:
        connection.close()


@pytest.mark.parametrize(("senders", "kept"), [(1, [False]), (2, [False, True]), (4, [False] * 3 + [True])])
def test_a_worker_keeps_its_last_sender_for_those_that_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, senders: int, kept: list[bool]
) -> None:
    settings.OPSAPI_SENDERS = senders
    worker = Worker("host:1")
    seen: list[Any] = []
    monkeypatch.setattr(worker, "_repeat", seen.append)
    monkeypatch.setattr(worker, "_listen", lambda: None)
    monkeypatch.setattr(worker, "_every", lambda seconds, step: None)
    worker.run(stop_within=lambda _: True)
    options = [getattr(step, "keywords", {}) for step in seen]
    assert sorted(one["only_answering"] for one in options if one) == kept
