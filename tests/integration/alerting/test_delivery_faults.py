"""Delivery and evaluation when keys, look-ups or the database fail: the fault concerns nothing else."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import InternalError, OperationalError

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.engine import delivery, leases
from alerting.engine import evaluation as evaluation_module
from alerting.engine.claims import claim
from alerting.engine.courier import NO_THREAD, Courier
from alerting.engine.leases import LEASE
from alerting.engine.postgresql import PostgresqlLedger
from alerting.engine.turns import SIGNALS_AT_ONCE
from alerting.incidents.changes import alert_acknowledge
from alerting.models import Alert, Destination, Notification, NotificationAttempt
from alerting.windows.changes import window_create
from automation.reports.rules import EventReport
from events.models import Event, Signal
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.api.principal import SYSTEM
from opsapi.outbound.errors import UNREACHABLE
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, begin, deliver_all, evaluate
from tests.integration.alerting.recipients import GROUP

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
A, B = "http://127.0.0.1:9/a", "http://127.0.0.1:9/b"
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
_HELD = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()
   AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = %s
"""


def webhook(url: str, **changes: Any) -> dict[str, Any]:
    """A notification by webhook."""
    return {**WEBHOOK, "webhookUrl": url, **changes}


def hosts_down(project: Project, *names: str, now: datetime = START) -> None:
    """Alerts open for these hosts."""
    ingest(project, *(host_report(name, reachable=False) for name in names), now=now)
    evaluate(now)


def fail_for(notification: Notification, error: Exception) -> Callable[..., Any]:
    """`delivery._decide_one`, which fails for one notification."""
    decide_one = delivery._decide_one

    def decide(decided: Notification, *facts: Any) -> Any:
        if decided.id == notification.id:
            raise error
        return decide_one(decided, *facts)

    return decide


def test_a_destination_whose_configuration_was_encrypted_with_a_lost_key_is_stored_again(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[webhook(A)])
    hosts_down(project, "db1")
    deliver_all(START)
    Destination.objects.update(config="unreadable")
    hosts_down(project, "db2", now=START + SECOND)
    deliver_all(START + SECOND)
    assert outside.said == [(A, "OPEN"), (A, "OPEN")]
    assert Destination.objects.get().config != "unreadable"


def test_an_acknowledgement_that_was_muted_goes_where_the_opening_went(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, notifications=[webhook(A)])
    hosts_down(project, "db1")
    deliver_all(START)
    values = {"start": START, "end": START + HOUR, "alert_types": ["HOST"]}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=START)
    alert_acknowledge(
        alert_id=Alert.objects.get().id,
        group_id=project.id,
        until=START + 9 * HOUR,
        comment=None,
        actor=SYSTEM,
        now=START + MINUTE,
    )
    deliver_all(START + 2 * MINUTE)
    values = {"notifications": [{**webhook(B), "id": config.settings.get().id}]}
    alert_config_update(config=config, read=lambda _: values, actor=SYSTEM, now=START + 3 * MINUTE)
    deliver_all(START + HOUR)
    assert outside.said == [(A, "OPEN"), (A, "ACKNOWLEDGE")]


def test_messages_decided_before_the_database_fails_are_sent(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(project, notifications=[webhook(A), webhook(B)])
    hosts_down(project, "db1")
    claimed = claim(worker=1, slots=8, clock=lambda: START)
    list(delivery.decide(claimed, now=START))
    claimed = claim(worker=1, slots=8, clock=lambda: START)
    assert len(claimed) == 2
    calls = iter([ValueError("the first error has each notification decided alone"), None])
    decide_one = delivery._decide_one

    def fail(decided: Notification, *facts: Any) -> Any:
        if error := next(calls, OperationalError("the database is away")):
            raise error
        return decide_one(decided, *facts)

    monkeypatch.setattr(delivery, "_decide_one", fail)
    attempts = delivery.decide(claimed, now=START)
    assert next(attempts).notification.id == claimed[0].id
    with pytest.raises(OperationalError):
        next(attempts)


@pytest.mark.django_db(transaction=True)
def test_attempts_whose_transaction_fails_begin_again_as_if_for_the_first_time(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(project, notifications=[webhook(A), webhook(B)])
    hosts_down(project, "db1")
    list(delivery.decide(claim(worker=1, slots=8, clock=lambda: START), now=START))
    claimed = claim(worker=1, slots=8, clock=lambda: START)
    of_no_notification = NotificationAttempt(
        notification_id="0" * 24, number=1, ended=START, status=DeliveryStatus.RETRY.value
    )
    refused_rows = iter([of_no_notification])

    def insert_refused_row(*_: Any) -> None:
        """PostgreSQL checks this foreign key at the commit, after the attempts have begun."""
        for row in refused_rows:
            row.save()

    monkeypatch.setattr(PostgresqlLedger, "pictures_keep", staticmethod(insert_refused_row))
    attempts = list(delivery.decide(claimed, now=START))
    assert [attempt.number for attempt in attempts] == [1, 1]
    away = Outcome(DeliveryStatus.RETRY, UNREACHABLE, 5, fault=DeliveryFault.HOST)
    delivery.record([(attempt, away) for attempt in attempts], now=START)
    rows = Notification.objects.values_list("attempts", "status", "perhaps_received")
    assert list(rows) == [(1, "PENDING", False)] * 2


def test_a_message_whose_event_was_deleted_is_not_sent(project: Project, outside: Outside) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[webhook(A)])
    rollback = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
    ingest(project, host_report("db1"), events=(rollback,), now=START)
    evaluate(START)
    Event.objects.all().delete()
    deliver_all(START)
    row = Notification.objects.get()
    assert outside.sent == []
    assert (row.status, row.attempts, row.perhaps_received) == ("PENDING", 1, False)
    assert "event" in str(row.reason)


def test_a_machine_that_cannot_start_threads_counts_no_failure_of_the_destination(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(project, notifications=[webhook(A)])
    hosts_down(project, "db1")
    courier = Courier(worker=1, slots=8, clock=lambda: START, wake=lambda: None)

    def refuse(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", refuse)
        assert courier.step() == 1
    courier.step()
    row = Notification.objects.get()
    assert (row.status, row.reason, row.attempts) == ("PENDING", NO_THREAD, 1)
    assert row.due > START
    assert Destination.objects.get().failures == 0


def test_an_outcome_that_cannot_be_recorded_holds_no_other_back(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make_config(project, notifications=[webhook(A), webhook(B)])
    hosts_down(project, "db1")
    attempts = begin(START)
    first, second = attempts
    result_of = delivery._result_of

    def fail(attempt: delivery.DeliveryAttempt, *facts: Any) -> Any:
        if attempt is first:
            raise ValueError("an outcome that no code expects")
        return result_of(attempt, *facts)

    monkeypatch.setattr(delivery, "_result_of", fail)
    delivery.record([(attempt, TAKEN) for attempt in attempts], now=START)
    assert dict(Notification.objects.filter(kind="alert.open").values_list("id", "status")) == {
        first.notification.id: "PENDING",
        second.notification.id: "DELIVERED",
    }
    assert first.notification.id in caplog.text


def test_outcomes_are_kept_and_logged_once_after_a_database_that_was_read_only(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="opsapi.delivery")
    make_config(project, notifications=[webhook(A), webhook(B)])
    hosts_down(project, "db1")
    ended = [(attempt, TAKEN) for attempt in begin(START)]

    def refuse(**_: Any) -> None:
        """In the savepoint of the transaction, which the error undoes."""
        execute("SET LOCAL transaction_read_only = on")
        Destination.objects.update(failures=1)

    with monkeypatch.context() as patch:
        patch.setattr(delivery, "destinations_record", refuse)
        with pytest.raises(InternalError, match="read-only"):
            delivery.record(ended, now=START)
    assert "delivered" not in caplog.text
    delivery.record(ended, now=START)
    assert caplog.text.count("alert.open WEBHOOK delivered") == 2
    openings = Notification.objects.filter(kind="alert.open")
    assert list(openings.values_list("status", flat=True)) == ["DELIVERED", "DELIVERED"]


def test_a_destination_is_not_tried_if_the_lease_was_lost(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[webhook(A)])
    hosts_down(project, "db1")
    list(delivery.decide(claim(worker=1, slots=8, clock=lambda: START), now=START))  # addresses it
    claimed = claim(worker=1, slots=8, clock=lambda: START)
    Notification.objects.filter(id__in=[row.id for row in claimed]).update(lease_token=None)
    assert len(claimed) == 1
    assert not list(delivery.decide(claimed, now=START))
    assert Destination.objects.get().tried is None


def test_a_lease_begins_when_the_claim_has_the_lock(project: Project, outside: Outside) -> None:
    """A worker that waited long for the lock has the whole lease to send."""
    make_config(project, notifications=[webhook(A)])
    hosts_down(project, "db1")
    read: list[int] = []

    def clock() -> datetime:
        read.extend(count for (count,) in fetch_rows(_HELD, [leases._CLAIM_LOCK]))
        return START

    [notification] = claim(worker=1, slots=4, clock=clock)
    assert notification.lease_until == START + LEASE
    assert read == [1]


def test_reminders_for_people_go_on_after_their_addresses_could_not_be_looked_up(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_config(project, notifications=[{**GROUP, "intervalMin": 90}])
    hosts_down(project, "db1")
    notification = Notification.objects.get()
    with monkeypatch.context() as patched:
        patched.setattr(delivery, "_decide_one", fail_for(notification, LookupError("no directory")))
        for minutes in range(0, 75, 5):
            deliver_all(START + timedelta(minutes=minutes))
    notification.refresh_from_db()
    assert notification.status == "FAILED"
    reminder = Notification.objects.get(status="PENDING")
    assert (reminder.kind, reminder.channel) == ("alert.update", None)


@each(
    ("step", "error"),
    [
        ("_evaluate_batch", OperationalError("canceling statement due to statement timeout")),
        ("_work_of", AttributeError("a payload that no code expects")),
    ],
)
def test_a_project_whose_evaluation_fails_again_and_again_delays_only_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    other: Project = ProjectFactory.create()
    for evaluated in (project, other):
        make_config(evaluated)
    evaluate(START)
    ingest(project, host_report("db1", reachable=False), now=START)
    ingest(other, host_report("db1", reachable=False), now=START)
    real = getattr(evaluation_module, step)

    def fail(*given: Any) -> Any:
        signal = given[0] if isinstance(given[0], Signal) else given[0].signals[0]
        if signal.group_id == project.id:
            raise error
        return real(*given)

    failures = 0
    with monkeypatch.context() as patch:
        patch.setattr(evaluation_module, step, fail)
        for number in (1, 2):
            try:
                evaluation_module.evaluate_signals(now=START + number * SECOND)
            except type(error):
                failures += 1
    assert failures == 1
    assert list(Alert.objects.values_list("group_id", flat=True)) == [other.id]


@pytest.mark.slow
def test_a_project_that_was_evaluated_is_the_last_after_the_clock_has_stepped_back(project: Project) -> None:
    other: Project = ProjectFactory.create()
    for evaluated in (project, other):
        make_config(evaluated)
    evaluate(START)
    earlier = START - HOUR
    for number in range(3 * SIGNALS_AT_ONCE):
        ingest(project, host_report("db1", reachable=bool(number % 2)), now=earlier)
    evaluation_module.evaluate_signals(now=earlier)
    ingest(other, host_report("db1", reachable=False), now=earlier)
    evaluation_module.evaluate_signals(now=earlier)
    assert Alert.objects.filter(group_id=other.id).exists()


def test_a_message_that_stays_at_its_destination_keeps_its_id(project: Project, outside: Outside) -> None:
    """Only the stored configuration is written again."""
    make_config(project, notifications=[webhook(A)])
    hosts_down(project, "db1")
    outside.outcome = Outcome(
        DeliveryStatus.RETRY, "sent, no answer", 5, fault=DeliveryFault.DESTINATION, perhaps_received=True
    )
    deliver_all(START)
    Destination.objects.update(config="unreadable")
    outside.outcome = TAKEN
    deliver_all(START + 10 * MINUTE)
    assert [(row.status, row.attempts) for row in Notification.objects.filter(kind="alert.open")] == [
        ("DELIVERED", 2)
    ]
