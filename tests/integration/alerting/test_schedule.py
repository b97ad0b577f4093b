"""What is scheduled for when, and in which order; what a configuration's end and its readers see."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete, alert_config_set_enabled
from alerting.configs.locks import project_lock
from alerting.engine.evaluation import evaluate_signals, open_tracked
from alerting.models import Alert, AlertConfig, Notification
from automation.reports.rules import EventReport
from events.models import Event, Signal
from events.outbox.changes import WAKE_CHANNEL
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.eventually import eventually
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import AGENT, host_report, ingest
from tests.integration.alerting.pipeline import begin, evaluate, statuses
from tests.racing import while_it_waits

pytestmark = pytest.mark.django_db

ROLLBACK = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)

delete = partial(alert_config_delete, actor=SYSTEM)
disable = partial(alert_config_set_enabled, enabled=False, actor=SYSTEM)


def test_a_one_shot_notification_is_due_when_its_delay_has_passed_since_it_happened(project: Project) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[{**WEBHOOK, "delayMin": 5}])
    happened = clock.now() - timedelta(hours=1)
    ingest(project, events=(ROLLBACK,), now=happened)
    evaluate()
    assert not begin(happened + timedelta(minutes=4, seconds=59))
    assert begin(happened + timedelta(minutes=5))


@pytest.mark.slow
@each(
    ("reports", "expected"),
    [
        pytest.param(25, ["CLOSED"] * 12 + ["OPEN"], id="down at last"),
        pytest.param(26, ["CLOSED"] * 13, id="up at last"),
    ],
)
def test_the_last_of_many_signals_counts(project: Project, reports: int, expected: list[str]) -> None:
    config = make_config(project)
    ingest(project, host_report())
    evaluate()
    for number in range(reports):
        ingest(project, host_report(reachable=number % 2 == 1))
    first, *others = Signal.objects.order_by("id")
    assert len(others) == reports - 1
    # Written again the first is read last where nothing orders them, and by its time it is the last.
    Signal.objects.filter(id=first.pk).update(created=clock.now())
    _without_indexes()
    evaluate()
    assert sorted(statuses(config)) == expected


def test_what_held_before_a_config_was_created_counts_its_delay_from_the_evaluation(project: Project) -> None:
    ingest(project, host_report(reachable=False))
    evaluate()
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    evaluated = clock.now() + timedelta(hours=1)
    assert evaluate_signals(now=evaluated)
    assert Alert.objects.get().created == evaluated
    assert not open_tracked(now=evaluated + timedelta(minutes=4, seconds=59))
    assert open_tracked(now=evaluated + timedelta(minutes=5))
    assert statuses(config) == ["OPEN"]


@each(
    ("setting", "recipient"),
    [
        pytest.param(WEBHOOK, "http://127.0.0.1:9/******efgh", id="webhook"),
        pytest.param(EMAIL, "oncall@example.com", id="e-mail"),
    ],
)
def test_the_log_names_the_recipient_and_no_secret(
    project: Project, setting: dict[str, object], recipient: str
) -> None:
    make_config(project, notifications=[setting])
    make_config(project, notifications=[setting], eventTypeName="HOST_ROLLBACK")
    ingest(project, host_report(reachable=False), events=(ROLLBACK,))
    evaluate()
    assert list(Notification.objects.values_list("recipient", flat=True)) == [recipient, recipient]


def test_cancelling_an_open_alert_is_recorded_with_its_id_and_who_did_it(
    project: Project, reader: ApiClient
) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    alert_config_delete(config=config, actor=AGENT, now=clock.now())
    event = Event.objects.get(event_type="ALERT_CANCELLED_AUDIT")
    document = reader.get(f"/groups/{project.id}/events/{event.id}").json()
    assert document["alertId"] == Alert.objects.get().id
    assert document["alertConfigId"] == config.id
    assert document["publicKey"] == AGENT.name


def test_cancelling_a_tracked_alert_is_recorded_nowhere(project: Project) -> None:
    config = make_config(project, notifications=[{**WEBHOOK, "delayMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    alert_config_delete(config=config, actor=AGENT, now=clock.now())
    assert statuses(config) == ["CANCELLED"]
    assert not Event.objects.filter(event_type="ALERT_CANCELLED_AUDIT").exists()


@each("enabled", [True, False])
def test_email_enabled_is_kept_and_read_back(project: Project, owner: ApiClient, enabled: bool) -> None:
    path = f"/groups/{project.id}/alertConfigs"
    wanted = bodies.alert_config(notifications=[bodies.email(emailEnabled=enabled), bodies.email()])
    made = owner.post(path, wanted).json()
    notified, unnotified = owner.get(f"{path}/{made['id']}").json()["notifications"]
    assert notified["emailEnabled"] is enabled
    assert "emailEnabled" not in unnotified


@pytest.mark.django_db(transaction=True)
def test_scheduling_wakes_the_workers(project: Project) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    with closing(_other_connection()) as listening:
        listening.cursor().execute(f"LISTEN {WAKE_CHANNEL}")
        evaluate()
        assert Notification.objects.exists()
        eventually(lambda: list(listening.connection.notifies(timeout=0)), message="a wake-up")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("take_away", [delete, disable], ids=["delete", "disable"])
def test_taking_a_config_away_waits_for_the_evaluation_of_its_project(
    project: Project, take_away: Callable[..., None]
) -> None:
    config = make_config(project)
    while_it_waits(partial(take_away, config=config, now=clock.now()), lambda: project_lock(project.id))
    assert not AlertConfig.objects.get().enabled


def _without_indexes() -> None:
    """Until the test's transaction ends no index hands rows out in an order nobody asked for."""
    execute("SET LOCAL enable_indexscan = off")
    execute("SET LOCAL enable_bitmapscan = off")


def _other_connection() -> BaseDatabaseWrapper:
    """A second connection to the database of the tests."""
    other = connection.copy()
    other.ensure_connection()
    return other
