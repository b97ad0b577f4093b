"""Thousands of alerts are cancelled at once; workers write their messages in turns."""

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.configs.changes import (
    alert_config_delete,
    alert_config_set_enabled,
    alert_config_update,
    deleted_config_secrets_purge,
)
from alerting.configs.notification_settings import removed_settings_purge
from alerting.engine import evaluation
from alerting.engine.evaluation import evaluate_signals
from alerting.incidents import changes
from alerting.incidents.changes import alerts_cancel, cancelled_incidents_end
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, AlertConfig, Incident, Notification, NotificationSetting
from events.choices import SignalKind
from events.models import Event, Signal
from integrations.choices import MessageKind
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, by_column, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

pytestmark = pytest.mark.django_db
START = datetime(2025, 3, 4, 5, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
AT_ONCE = 2
"""The alerts that a request cancels with their messages."""
RECEIVERS = [{**WEBHOOK, "webhookUrl": f"http://127.0.0.1:9/hooks/{name}"} for name in ("a", "b")]


@pytest.fixture(autouse=True)
def _few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "CANCELLED_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(evaluation, "INCIDENTS_AT_ONCE", 1)


def alerting(project: Project, hosts: int) -> AlertConfig:
    """A configuration with an open alert for each host; all receivers were notified."""
    config = make_config(project, notifications=RECEIVERS)
    ingest(project, *(host_report(f"db{number}", reachable=False) for number in range(hosts)), now=START)
    evaluate(START)
    deliver_all(START)
    assert statuses(config) == ["OPEN"] * hosts
    return config


def ends(outside: Outside) -> list[tuple[str, str | None]]:
    """The receiver and the host of each message about an end, in order."""
    return [
        (config["url"], message.target)
        for _, config, message in outside.sent
        if message.kind is MessageKind.CANCEL
    ]


def waiting() -> list[int]:
    """The numbers of incidents of the signals of cancelled alerts."""
    signals = Signal.objects.filter(kind=SignalKind.CANCELLED.value).order_by("id")
    return [len(signal.payload["incidents"]) for signal in signals]


def test_a_request_cancels_all_alerts_and_workers_notify_each_receiver_once(
    project: Project, outside: Outside
) -> None:
    config = alerting(project, 7)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    assert set(Alert.objects.values_list("status", "resolved")) == {("CANCELLED", START + MINUTE)}
    assert Event.objects.filter(event_type="ALERT_CANCELLED_AUDIT").count() == 7
    assert (waiting(), Incident.objects.filter(ended=None).count()) == ([2, 2, 1], 5)
    deliver_all(START + MINUTE)
    assert len(ends(outside)) == AT_ONCE * len(RECEIVERS)
    evaluate(START + MINUTE)
    deliver_all(START + MINUTE)
    sent = ends(outside)
    assert len(sent) == len(set(sent)) == 7 * len(RECEIVERS)
    assert (waiting(), Incident.objects.filter(ended=None).count()) == ([], 0)


def test_a_turn_ends_when_its_time_is_over_and_the_next_goes_on_where_it_ended(
    project: Project, outside: Outside
) -> None:
    config = alerting(project, 6)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    left = [waiting()]
    while evaluate_signals(now=START + MINUTE, clock=partial(next, count(0, 10))):
        left.append(waiting())
    assert left == [[2, 2], [1, 2], [2], [1], []]
    deliver_all(START + MINUTE)
    assert sorted(ends(outside)) == sorted(set(ends(outside)))
    assert len(ends(outside)) == 6 * len(RECEIVERS)


def test_a_worker_that_dies_in_a_turn_repeats_it(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = alerting(project, 5)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    numbers = count(1)

    def end_one_and_die(**given: Any) -> None:
        if next(numbers) == 2:
            raise OperationalError("the connection is lost")
        cancelled_incidents_end(**given)

    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "cancelled_incidents_end", end_one_and_die)
        with pytest.raises(OperationalError):
            evaluate(START + MINUTE)
    assert waiting() == [2, 1]
    evaluate(START + MINUTE)
    deliver_all(START + MINUTE)
    assert sorted(ends(outside)) == sorted(set(ends(outside)))
    assert len(ends(outside)) == 5 * len(RECEIVERS)


def test_another_project_has_its_turn_in_between(project: Project, outside: Outside) -> None:
    config, other = alerting(project, 6), ProjectFactory.create()
    make_config(other, notifications=[WEBHOOK])
    evaluate(START)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    ingest(other, host_report("other", reachable=False), now=START + MINUTE)
    ticks = partial(next, count(0, 10))
    for _ in range(2):
        assert evaluate_signals(now=START + MINUTE, clock=ticks)
    assert waiting()
    deliver_all(START + MINUTE)
    opened = [message.target for _, _, message in outside.sent if message.kind is MessageKind.OPEN]
    assert opened[6 * len(RECEIVERS) :] == ["other:27017"]


def test_receivers_get_the_ends_before_the_openings_of_a_configuration_that_is_enabled_again(
    project: Project, outside: Outside
) -> None:
    config = alerting(project, 4)
    outside.sent.clear()
    for place, enabled in enumerate((False, True)):
        now = START + (1 + place) * MINUTE
        alert_config_set_enabled(config=config, enabled=enabled, actor=SYSTEM, now=now)
    evaluate(START + 2 * MINUTE)
    deliver_all(START + 2 * MINUTE)
    of_host = [message.kind for _, _, message in outside.sent if message.target == "db3:27017"]
    assert of_host == [MessageKind.CANCEL] * 2 + [MessageKind.OPEN] * 2


def test_an_incident_with_other_open_alerts_goes_on(project: Project, outside: Outside) -> None:
    """The alerts of an incident can differ in what they concern: the deleted cluster is a part of it."""
    config = make_config(project, notifications=RECEIVERS, grouping="TOPOLOGY")
    members = [host_report(f"db{number}", reachable=False, replica_set_name="rs0") for number in range(3)]
    ingest(project, *members, now=START)
    evaluate(START)
    deliver_all(START + MINUTE)
    incident = Incident.objects.get(config_id=config.id)
    first, *others = Alert.objects.order_by("id")
    alerts_cancel(alerts=Alert.objects.filter(id=first.id), actor=SYSTEM, now=START + 2 * MINUTE)
    Alert.objects.filter(id=others[0].id).update(status=AlertStatus.CANCELLED.value)
    cancelled_incidents_end(incidents=[incident.id], at=START + 3 * MINUTE)
    incident.refresh_from_db()
    assert incident.ended is None
    Alert.objects.filter(id=others[1].id).update(status=AlertStatus.CANCELLED.value)
    cancelled_incidents_end(incidents=[incident.id], at=START + 4 * MINUTE)
    cancelled_incidents_end(incidents=[incident.id], at=START + 5 * MINUTE)
    deliver_all(START + 6 * MINUTE)
    assert len(ends(outside)) == len(RECEIVERS)


def test_the_secrets_of_a_deleted_configuration_stay_until_the_ends_are_delivered(
    project: Project, outside: Outside
) -> None:
    config = alerting(project, 3)
    alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert not deleted_config_secrets_purge(now=START + 2 * MINUTE)
    evaluate(START + MINUTE)
    deliver_all(START + MINUTE)
    assert len(ends(outside)) == 3 * len(RECEIVERS)
    assert deleted_config_secrets_purge(now=START + 2 * MINUTE)
    assert not NotificationSetting.with_removed.filter(config_id=config.id).exclude(secrets=None).exists()


def test_receivers_that_the_same_request_removes_get_the_ends(project: Project, outside: Outside) -> None:
    config = alerting(project, 4)
    changed = {"enabled": False, **by_column({"notifications": [WEBHOOK]})}
    alert_config_update(config=config, read=lambda _: changed, actor=SYSTEM, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert not removed_settings_purge()
    evaluate(START + MINUTE)
    deliver_all(START + MINUTE)
    assert len(ends(outside)) == 4 * len(RECEIVERS)
    assert removed_settings_purge()


def test_an_incident_of_cancelled_alerts_is_not_notified_when_grouping_is_turned_off(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, notifications=RECEIVERS, grouping="TOPOLOGY")
    for number in range(5):  # They have nothing in common.
        ingest(project, host_report(f"db{number}", reachable=False), now=START + number * MINUTE)
        evaluate(START + number * MINUTE)
    deliver_all(START + 5 * MINUTE)
    assert Incident.objects.filter(config_id=config.id).count() == 5
    alert_config_set_enabled(config=config, enabled=False, actor=SYSTEM, now=START + 6 * MINUTE)
    now = START + 7 * MINUTE
    alert_config_update(config=config, read=lambda _: {"grouping": "NONE"}, actor=SYSTEM, now=now)
    assert not Notification.objects.filter(part="UNGROUPED").exists()
    evaluate(START + 8 * MINUTE)
    deliver_all(START + 8 * MINUTE)
    assert len(ends(outside)) == len(set(ends(outside))) == 5 * len(RECEIVERS)
    assert not Incident.objects.filter(ended=None).exists()


def test_a_request_takes_as_many_statements_for_each_part_whatever_the_receivers(project: Project) -> None:
    taken = []
    for number in (1, 8):
        urls = [f"http://127.0.0.1:9/hooks/{place}" for place in range(number)]
        config = make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url} for url in urls])
        ingest(project, *(host_report(f"h{place}", reachable=False) for place in range(6)), now=START)
        evaluate(START)
        deliver_all(START)
        with CaptureQueriesContext(connection) as queries:
            alert_config_delete(config=config, actor=SYSTEM, now=START + MINUTE)
        taken.append(len(queries))
    assert taken[0] == taken[1]
