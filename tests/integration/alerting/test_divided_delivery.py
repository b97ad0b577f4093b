"""Decisions that take long are divided into steps, with messages of other projects in between."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, pairwise
from typing import Any

import pytest
from django.db import transaction

from accesslist.models import Project
from alerting.engine import delivery
from alerting.engine.claims import claim
from alerting.engine.courier import FINISH_LOCKS_SECONDS, HELD_UP_SECONDS, Courier
from alerting.engine.leases import leases_give_back
from alerting.engine.ledger import Ledger
from alerting.engine.muting import Muting
from alerting.engine.rules import Costs, TimeSlice
from alerting.engine.schedule import ForPeople, recipients_replace
from alerting.models import Alert, Incident, Notification
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from opsapi.ids import new_id
from opsapi.sql import execute, fetch_rows
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import (
    WORKER,
    Outside,
    begin,
    deliver_all,
    deliver_meanwhile,
    deliver_round,
    evaluate,
)
from tests.integration.alerting.recipients import GROUP, make_member
from tests.racing import in_other_session, while_it_waits

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
HOSTS = 6


def open_alerts(project: Project, notification: Mapping[str, Any], hosts: int = HOSTS) -> None:
    """Open alerts of hosts that are down."""
    make_config(project, notifications=[notification])
    ingest(project, *(host_report(f"h{number}", reachable=False) for number in range(hosts)), now=START)
    evaluate(START)


def decide_for(looks: int, costs: Costs) -> list[Notification]:
    """Claim and decide once. The time is over after as many looks at the clock. Return what was claimed."""
    claims = claim(worker=WORKER, slots=8, clock=lambda: START)
    time_slice = TimeSlice(partial(next, count()), looks, costs)
    list(delivery.decide(claims, now=START, time_slice=time_slice))
    return claims


def replaced(project: Project) -> int:
    """The number of alerts of a project whose message for people was replaced by messages to addresses."""
    addressed = Notification.objects.filter(group=project, channel="EMAIL")
    return addressed.values("alert_id").distinct().count()


def test_what_is_not_decided_in_time_is_decided_in_the_next_steps(project: Project) -> None:
    for name in ("ada", "bob"):
        make_member(project, name)
    open_alerts(project, GROUP)
    decided = []
    for_people = Notification.objects.filter(channel=None, kind="alert.open")
    while for_people.exists():
        decide_for(0, Costs())
        decided.append(replaced(project))
        assert not for_people.exclude(lease_token=None).exists()
        assert len(decided) < 100
    assert {later - earlier for earlier, later in pairwise([0, *decided])} == {0, 1}
    assert Notification.objects.filter(channel="EMAIL", status="PENDING").count() == 2 * HOSTS


def test_a_message_of_another_project_is_decided_before_the_rest(project: Project) -> None:
    other: Project = ProjectFactory.create()
    for each in (project, other):
        make_member(each, f"member-of-{each.id}")
    open_alerts(project, GROUP)
    costs = Costs()
    decide_for(0, costs)
    open_alerts(other, GROUP, hosts=1)
    assert costs.of(project.id) > 0
    begun = replaced(project)
    decide_for(0, costs)
    assert replaced(other) == 1
    assert replaced(project) == begun < HOSTS


def test_the_addresses_of_one_message_are_written_before_the_next_is_decided(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.delivery.REPLACED_AT_ONCE", 4)
    for number in range(3):
        make_member(project, f"member{number}")
    open_alerts(project, GROUP)
    written = []

    def replace(some: Sequence[ForPeople], *, now: datetime, ledger: Ledger) -> None:
        written.append(sum(len(each.found.addresses) for each in some))
        recipients_replace(some, now=now, ledger=ledger)

    monkeypatch.setattr("alerting.engine.delivery.recipients_replace", replace)
    decide_for(1_000, Costs())
    assert written == [6, 6, 6]


def test_a_message_that_cannot_be_decided_leaves_time_for_other_messages(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_alerts(project, WEBHOOK)
    faulty = Alert.objects.order_by("id")[0].id
    decide_one = delivery._decide_one

    def fail(notification: Notification, *rest: Any) -> None:
        if notification.alert_id == faulty:
            raise ZeroDivisionError
        decide_one(notification, *rest)

    monkeypatch.setattr(delivery, "_decide_one", fail)
    for _ in range(5 * HOSTS):
        decide_for(0, Costs())
    tried = Notification.objects.get(alert_id=faulty, kind="alert.open")
    assert (tried.attempts, tried.perhaps_received) == (1, False)
    others = Notification.objects.exclude(alert_id=faulty)
    assert others.count() == others.exclude(destination="").count() == HOSTS - 1


def test_incidents_of_the_project_that_took_least_time_come_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.courier.DECIDE_SECONDS", -1.0)
    other: Project = ProjectFactory.create()
    for each, number in ((project, 3), (other, 1)):
        for _ in range(number):
            make_notification(each, alert=make_alert(each), incident_id=new_id(), due=START)
    decided: list[str | None] = []

    def decide(
        batch: Sequence[Notification], *, time_slice: TimeSlice, **_: object
    ) -> Iterator[delivery.DeliveryAttempt]:
        decided.append(batch[0].group_id)
        Notification.objects.filter(id=batch[0].id).delete()
        leases_give_back(batch[1:])
        yield from ()

    monkeypatch.setattr("alerting.engine.courier.decide", decide)
    courier = Courier(worker=1, slots=8, clock=lambda: START, wake=lambda: None)
    for _ in range(3):
        courier._claim_and_send()
    assert decided == [project.id, other.id, project.id]


@pytest.mark.django_db(transaction=True)
def test_messages_of_other_projects_do_not_wait_for_locked_alerts(project: Project, outside: Outside) -> None:
    other: Project = ProjectFactory.create()
    for each in (project, other):
        open_alerts(each, WEBHOOK, hosts=1)
    deliver_round(START)  # finds the destinations
    with transaction.atomic():
        list(Alert.objects.filter(group=project).select_for_update())
        assert deliver_meanwhile(START) == (2, 1)
    assert {row.group_id: row.status for row in Notification.objects.filter(kind="alert.open")} == {
        project.id: "PENDING",
        other.id: "DELIVERED",
    }
    assert deliver_all(START) == 1
    assert len(outside.sent) == 2


@pytest.mark.django_db(transaction=True)
def test_outcomes_about_locked_alerts_are_recorded_later(project: Project, outside: Outside) -> None:
    other: Project = ProjectFactory.create()
    for each in (project, other):
        open_alerts(each, WEBHOOK, hosts=1)
    jobs: list[delivery.DeliveryAttempt] = []
    while len(jobs) < 2:
        claims = claim(worker=WORKER, slots=8, clock=lambda: START)
        jobs += delivery.decide(claims, now=START)
    ended = [(job, Outcome(DeliveryStatus.DELIVERED, None, 5)) for job in jobs]
    delivered = Notification.objects.filter(status="DELIVERED")

    def record() -> list[tuple[delivery.DeliveryAttempt, Outcome]]:
        execute("SET lock_timeout = '20s'")
        return delivery.record(ended, now=START, wait=False)

    with transaction.atomic():
        list(Alert.objects.filter(group=project).select_for_update())
        left = in_other_session(record)
        assert [job.notification.group_id for job, _ in left] == [project.id]
        assert [row.group_id for row in delivered.all()] == [other.id]
    assert delivery.record(left, now=START + timedelta(seconds=1), wait=False) == []
    assert delivered.count() == 2


def test_a_message_about_many_alerts_reads_few_of_them_whole_and_writes_each_once_a_second(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    receivers = [{**WEBHOOK, "webhookUrl": f"http://h{number}.example.com/"} for number in range(3)]
    make_config(project, notifications=receivers, grouping="TOPOLOGY", groupWaitSec=15)
    ingest(project, *(host_report(f"h{number}", reachable=False) for number in range(30)), now=START)
    evaluate(START)
    due = START + timedelta(seconds=15)
    read: list[str] = []
    from_db = Alert.from_db.__func__  # type: ignore[attr-defined]

    def note(model: type[Alert], *row: Any) -> Alert:
        alert: Alert = from_db(model, *row)
        read.append(alert.id)
        return alert

    monkeypatch.setattr(Alert, "from_db", classmethod(note))
    deliver_round(due)  # finds the destinations
    places: list[list[tuple[Any, ...]]] = []
    for number in range(3):
        assert deliver_round(due + timedelta(milliseconds=number), limit=1) == (1, 1)
        places.append(fetch_rows("SELECT id, ctid::text FROM alerting_alert ORDER BY id"))
    documents: list[Any] = [message.document["incident"] for _, _, message in outside.sent]
    assert [document["alertCount"] for document in documents] == [30] * 3
    assert len(set(read)) == 1
    assert Alert.objects.filter(last_notified=due).count() == 30
    assert places[0] == places[1] == places[2]
    later = due + timedelta(seconds=1)
    Notification.objects.filter(kind="alert.open", alert_id=read[0]).update(status="PENDING", due=later)
    assert deliver_round(later, limit=1) == (1, 1)
    assert Alert.objects.filter(last_notified=later).count() == 30


def step_of(courier: Courier) -> tuple[int, float]:
    """What a step of the courier counts, and the pause after it. It waits for no lock."""
    execute("SET lock_timeout = '20s'")
    return courier.step(), courier.pause(1.0)


@pytest.mark.django_db(transaction=True)
def test_a_worker_pauses_while_another_transaction_holds_up_all_messages(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_alerts(project, WEBHOOK, hosts=1)
    monkeypatch.setattr(Courier, "_start", lambda *_: None)
    courier = Courier(worker=1, slots=8, clock=lambda: START, wake=lambda: None)
    waiting = Notification.objects.filter(status="PENDING", kind="alert.open", lease_token=None, due=START)
    with transaction.atomic():
        list(Alert.objects.select_for_update())
        assert in_other_session(lambda: step_of(courier)) == (0, HELD_UP_SECONDS)
        assert waiting.count() == 1
    assert step_of(courier) == (1, 1.0)


@pytest.mark.django_db(transaction=True)
def test_messages_of_other_projects_count_while_messages_are_held_up(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: Project = ProjectFactory.create()
    for each in (project, other):
        open_alerts(each, WEBHOOK, hosts=1)
    monkeypatch.setattr(Courier, "_start", lambda *_: None)
    courier = Courier(worker=1, slots=8, clock=lambda: START, wake=lambda: None)
    with transaction.atomic():
        list(Alert.objects.filter(group=project).select_for_update())
        assert in_other_session(lambda: step_of(courier))[0] == 1


def message_of_incident(project: Project) -> Notification:
    """Open an incident of two alerts with a message that was due at START."""
    incident_id = new_id()
    lead, _ = [make_alert(project, incident_id=incident_id) for _ in range(2)]
    Incident.objects.create(
        id=incident_id, group=project, config_id=lead.config_id, lead=lead, created=START, grown=START
    )
    return make_notification(project, alert=lead, due=START)


def held_up_at(now: datetime) -> set[str]:
    """Claim and decide. Return the messages that other transactions hold up."""
    execute("SET lock_timeout = '20s'")
    muting = Muting()
    claims = claim(worker=WORKER, slots=8, clock=lambda: now)
    list(delivery.decide(claims, now=now, muting=muting))
    return muting.held_up


@pytest.mark.django_db(transaction=True)
def test_an_overdue_message_of_an_incident_waits_for_the_locked_alerts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the thousands of alerts of an incident can be locked at every moment."""
    monkeypatch.setattr(delivery, "LOCKS_SECONDS", 60.0)
    message_of_incident(project)

    def lock() -> None:
        list(Alert.objects.order_by("-id").select_for_update()[:1])

    late = START + delivery.OVERDUE + timedelta(seconds=1)
    assert while_it_waits(lambda: held_up_at(late), lock) == set()


@pytest.mark.django_db(transaction=True)
def test_a_message_of_an_incident_waits_for_locked_alerts_only_when_it_is_overdue_and_not_for_long(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "LOCKS_SECONDS", 0.001)
    row = message_of_incident(project)
    with transaction.atomic():
        list(Alert.objects.order_by("-id").select_for_update()[:1])
        for now in (START, START + delivery.OVERDUE + timedelta(seconds=1)):
            assert in_other_session(partial(held_up_at, now)) == {row.id}


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_stops_leaves_outcomes_about_locked_alerts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.courier.FINISH_LOCKS_SECONDS", 0.001)
    monkeypatch.setattr("alerting.engine.courier.FINISH_SECONDS", 0.001)
    other: Project = ProjectFactory.create()
    for each in (project, other):
        open_alerts(each, WEBHOOK, hosts=1)
    courier = Courier(worker=1, slots=8, clock=lambda: START, wake=lambda: None)
    for attempt in begin(START):
        courier._ended.put((attempt, Outcome(DeliveryStatus.DELIVERED, None, 5)))

    def finish() -> None:
        execute("SET lock_timeout = '20s'")
        courier.finish()

    with transaction.atomic():
        list(Alert.objects.filter(group=project).select_for_update())
        in_other_session(finish)
    assert {row.group_id: row.status for row in Notification.objects.filter(kind="alert.open")} == {
        project.id: "PENDING",
        other.id: "DELIVERED",
    }


def test_a_worker_that_stops_tries_again_to_record_outcomes_about_locked_alerts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    courier = Courier(worker=1, slots=8, clock=lambda: START, wake=lambda: None)
    delivered = Outcome(DeliveryStatus.DELIVERED, None, 5)
    ended: Any = (
        delivery.DeliveryAttempt(Notification(id="n1"), {}, delivered),
        delivered,
    )
    courier._unrecorded.append(ended)
    waits: list[float] = []

    def record(outcomes: list[Any], *, now: datetime, wait: float) -> list[Any]:
        """Other transactions lock the alerts until the third attempt."""
        waits.append(wait)
        return outcomes if len(waits) < 3 else []

    monkeypatch.setattr("alerting.engine.courier.record", record)
    courier.finish()
    assert (len(waits), courier._unrecorded) == (3, [])
    assert all(0 < wait <= FINISH_LOCKS_SECONDS for wait in waits)


@pytest.mark.django_db(transaction=True)
def test_outcomes_that_are_held_up_for_long_wait_for_the_locked_alerts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerting.engine.courier.LOCKS_SECONDS", 60.0)
    open_alerts(project, WEBHOOK, hosts=1)
    times = iter(START + delivery.OVERDUE * number for number in count())
    courier = Courier(worker=1, slots=8, clock=lambda: next(times), wake=lambda: None)
    for attempt in begin(START):
        courier._ended.put((attempt, Outcome(DeliveryStatus.DELIVERED, None, 5)))

    def record() -> bool:
        """Whether the outcome is recorded by the second step."""
        courier._record()
        courier._record()
        return not courier._unrecorded

    assert while_it_waits(record, lambda: list(Alert.objects.select_for_update()))
