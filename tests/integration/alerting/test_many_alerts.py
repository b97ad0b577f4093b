"""Much that happens at once: many alerts cost as many statements as one, and no transaction is long."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete, alert_config_update
from alerting.engine import delivery, evaluation
from alerting.engine.claim_rules import AT_ONE_DESTINATION
from alerting.engine.claims import claim
from alerting.engine.evaluation import evaluate_signals
from alerting.engine.ledger import Notified
from alerting.engine.postgresql import POSTGRESQL
from alerting.incidents import changes, grouping
from alerting.incidents.changes import alerts_cancel
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, AlertConfig, Incident, Notification
from automation.hosts.signals import STATES_AT_ONCE
from events.models import Event, Signal
from integrations.choices import MessageKind
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import SLOTS, WORKER, Outside, deliver_all, evaluate, statuses

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
pytestmark = pytest.mark.django_db


def said(project: Project, names: list[str], *, reachable: bool, now: datetime) -> int:
    """The statements that evaluating a report of these hosts takes."""
    ingest(project, *(host_report(name, reachable=reachable) for name in names), now=now)
    Signal.objects.exclude(kind="hosts").delete()
    with CaptureQueriesContext(connection) as queries:
        evaluate(now)
    return len(queries)


@pytest.mark.slow
def test_many_begin_and_end_with_as_many_statements_as_one(project: Project, outside: Outside) -> None:
    config = make_config(project, notifications=[WEBHOOK, {**EMAIL, "delayMin": 5}])
    evaluate(START)
    said(project, ["another"], reachable=True, now=START)  # reads the configurations and keeps them
    many = [f"h{number}" for number in range(20)]
    begun = [
        said(project, names, reachable=False, now=START + place * MINUTE)
        for place, names in enumerate((["one"], many))
    ]
    assert statuses(config) == ["OPEN"] * 21
    assert Notification.objects.count() == 42
    deliver_all(START + MINUTE)
    ended = [
        said(project, names, reachable=True, now=START + (3 + place) * MINUTE)
        for place, names in enumerate((["one"], many))
    ]
    assert statuses(config) == ["CLOSED"] * 21
    assert (begun[0], ended[0]) == (begun[1], ended[1])
    deliver_all(START + 4 * MINUTE)
    assert outside.kinds == [MessageKind.OPEN] * 21 + [MessageKind.CLOSE] * 21
    for event_type in ("HOST_DOWN", "HOST_UP"):
        recorded = Event.objects.filter(event_type=event_type, alert_id__isnull=False)
        assert {(event.alert_id, event.details["hostname"]) for event in recorded} == {
            (alert.id, alert.facts["hostname"]) for alert in Alert.objects.all()
        }
        assert recorded.count() == 21


OPENING = 27
"""The statements of a delivery that schedules the next reminder, with its claim and three transactions."""
END = 24


def delivered_at_once(now: datetime) -> tuple[int, int]:
    """The messages of one claim, and the statements that delivery takes from the claim to their outcomes."""
    with CaptureQueriesContext(connection) as queries:
        claimed = claim(worker=WORKER, slots=SLOTS, clock=lambda: now)
        begun = list(delivery.decide(claimed, now=now))
        ended = [(attempt, delivery.send(attempt, now=now)) for attempt in begun]
        assert delivery.record(ended, now=now, wait=0) == []
    return len(ended), len(queries)


def test_many_are_delivered_with_as_many_statements_as_one(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[WEBHOOK])
    said(project, ["another"], reachable=False, now=START)
    deliver_all(START)  # The destination is known.
    many = [f"h{number}" for number in range(AT_ONE_DESTINATION)]
    taken = []
    for place, (names, reachable) in enumerate(product((["one"], many), (False, True))):
        now = START + timedelta(seconds=1 + place)
        said(project, names, reachable=reachable, now=now)
        taken.append(delivered_at_once(now))
    assert taken == [(1, OPENING), (1, END), (len(many), OPENING), (len(many), END)]


def test_more_than_a_statement_takes_begin_and_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alerting.incidents.changes.WRITTEN_AT_ONCE", 2)
    config = make_config(project)
    evaluate(START)
    names = [f"h{number}" for number in range(5)]
    said(project, names, reachable=False, now=START)
    assert statuses(config) == ["OPEN"] * 5
    said(project, names, reachable=True, now=START + MINUTE)
    assert statuses(config) == ["CLOSED"] * 5


@pytest.mark.slow
def test_a_large_report_is_evaluated_in_several_transactions(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(project)
    evaluate(START)
    monkeypatch.setattr("alerting.engine.evaluation.EVALUATION_SECONDS", STATES_AT_ONCE)
    ingest(project, *(host_report(f"h{place}", reachable=False) for place in range(STATES_AT_ONCE + 1)))
    Signal.objects.exclude(kind="hosts").delete()
    ticks = partial(next, count())
    assert evaluate_signals(now=START, clock=ticks)
    assert 0 < len(statuses(config)) <= STATES_AT_ONCE
    while evaluate_signals(now=START, clock=ticks):
        pass
    assert statuses(config) == ["OPEN"] * (STATES_AT_ONCE + 1)


def cancelled(config_id: str) -> int:
    """The statements that cancelling the alerts of this configuration takes."""
    with CaptureQueriesContext(connection) as queries:
        alerts_cancel(alerts=Alert.objects.filter(config_id=config_id), actor=SYSTEM, now=START)
    return len(queries)


def test_many_of_many_projects_are_cancelled_with_as_many_statements_as_one() -> None:
    def raised(projects: int) -> str:
        """Two open alerts whose openings were notified, and one that is not open yet, in each project."""
        config_id, by_webhook = new_id(), {"type_name": "WEBHOOK", "channel": "WEBHOOK"}
        for project in ProjectFactory.create_batch(projects):
            for _ in range(2):
                alert = make_alert(project, config_id=config_id)
                make_notification(project, alert=alert, status="DELIVERED", **by_webhook)
            make_alert(project, config_id=config_id, status=AlertStatus.TRACKING.value)
        return config_id

    few, many = raised(1), raised(7)
    assert cancelled(few) == cancelled(many)
    assert set(Alert.objects.values_list("status", "resolved")) == {("CANCELLED", START)}
    was_open = Alert.objects.filter(notifications__kind=MessageKind.OPEN.value)
    recorded = Event.objects.filter(event_type="ALERT_CANCELLED_AUDIT")
    for rows in (recorded, Notification.objects.filter(kind=MessageKind.CANCEL.value)):
        assert sorted(rows.values_list("group_id", "alert_id")) == sorted(
            was_open.values_list("group_id", "id")
        )
        assert rows.count() == 2 * 8
    assert not Signal.objects.exists()


@pytest.fixture
def most_at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of alerts and incidents whose messages are written together; at most two."""
    monkeypatch.setattr(changes, "CANCELLED_AT_ONCE", 2)
    monkeypatch.setattr(grouping, "UNGROUPED_AT_ONCE", 2)
    numbers = []
    notified, waiting = POSTGRESQL.notified, POSTGRESQL.messages_wait

    def count_notified(alerts: Sequence[str], **given: bool) -> Iterable[Notified]:
        numbers.append(len(alerts))
        return notified(alerts, **given)

    def count_waiting(incidents: Sequence[Incident]) -> list[Notification]:
        numbers.append(len(incidents))
        return waiting(incidents)

    monkeypatch.setattr(POSTGRESQL, "notified", count_notified)
    monkeypatch.setattr(POSTGRESQL, "messages_wait", count_waiting)
    return numbers


def opened(project: Project, grouping: str) -> AlertConfig:
    """A configuration with five open alerts that have nothing in common, whose openings were notified."""
    config = make_config(project, notifications=[WEBHOOK], grouping=grouping)
    evaluate(START)
    for number in range(5):
        said(project, [f"h{number}"], reachable=False, now=START + number * MINUTE)
    Notification.objects.update(status="DELIVERED", delivered=START + 5 * MINUTE)
    return config


@each("grouping_of_config", ["NONE", "TOPOLOGY"])
def test_many_are_cancelled_in_parts(
    project: Project, most_at_once: list[int], grouping_of_config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = opened(project, grouping_of_config)
    most_at_once.clear()
    alert_config_delete(config=config, actor=SYSTEM, now=START + 9 * MINUTE)
    assert (most_at_once, statuses(config)) == ([2], ["CANCELLED"] * 5)
    monkeypatch.setattr(evaluation, "INCIDENTS_AT_ONCE", 2)
    evaluate(START + 9 * MINUTE)
    assert most_at_once == [2, 2, 1]
    assert Notification.objects.filter(kind=MessageKind.CANCEL.value).count() == 5
    assert not Incident.objects.filter(ended=None).exists()


def test_the_alerts_of_an_incident_are_cancelled_together(project: Project, most_at_once: list[int]) -> None:
    config = make_config(project, notifications=[WEBHOOK], grouping="TOPOLOGY")
    evaluate(START)
    said(project, ["other"], reachable=False, now=START)
    members = [host_report(f"m{number}", reachable=False, replica_set_name="rs0") for number in range(3)]
    ingest(project, *members, now=START + MINUTE)
    evaluate(START + MINUTE)
    Notification.objects.update(status="DELIVERED", delivered=START + 5 * MINUTE)
    most_at_once.clear()
    alert_config_delete(config=config, actor=SYSTEM, now=START + 9 * MINUTE)
    evaluate(START + 9 * MINUTE)
    assert sum(most_at_once) == 2  # Each incident is notified once.
    assert statuses(config) == ["CANCELLED"] * 4
    assert not Notification.objects.filter(kind=MessageKind.UPDATE).exists()
    assert Notification.objects.filter(kind=MessageKind.CANCEL.value).count() == 2


def test_grouping_is_turned_off_in_parts(project: Project, most_at_once: list[int]) -> None:
    config = opened(project, "TOPOLOGY")
    most_at_once.clear()
    now = START + 9 * MINUTE
    alert_config_update(config=config, read=lambda _: {"grouping": "NONE"}, actor=SYSTEM, now=now)
    assert most_at_once == [2, 2, 1]
    assert Notification.objects.filter(part="UNGROUPED").count() == 5
