"""A changed delay reaches alerts that are still TRACKING."""

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.engine.evaluation import open_tracked
from alerting.models import Alert, AlertConfig, Notification
from events.outbox.changes import WAKE_CHANNEL
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.eventually import eventually
from tests.factories.alerting import EMAIL, WEBHOOK, make_config, make_global_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate, statuses

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def delayed(setting: Any, minutes: int) -> dict[str, Any]:
    """The notification with that delay."""
    return {**setting, "delayMin": minutes}


def set_notifications(config: AlertConfig, *notifications: dict[str, Any]) -> None:
    """Change its recipients, and when."""
    values = {"notifications": list(notifications)}
    alert_config_update(config=config, read=lambda _: values, actor=SYSTEM, now=clock.now())


def tracked(project: Project) -> Alert:
    """The alert of a host that went down."""
    ingest(project, host_report(reachable=False))
    evaluate()
    alert = Alert.objects.get()
    assert alert.status == "TRACKING"
    return alert


@each(
    ("notifications", "minutes"),
    [
        ([delayed(WEBHOOK, 5)], 5),
        ([delayed(WEBHOOK, 30)], 30),
        ([delayed(WEBHOOK, 10), delayed(EMAIL, 3)], 3),
        ([delayed(WEBHOOK, 10), delayed(EMAIL, 20)], 10),
        ([delayed(EMAIL, 0)], 0),
    ],
    ids=["less", "more", "another with less", "another with more", "none"],
)
def test_a_tracked_alert_opens_by_the_smallest_delay_there_is_now(
    project: Project, notifications: list[dict[str, Any]], minutes: int
) -> None:
    config = make_config(project, notifications=[delayed(WEBHOOK, 10)])
    alert = tracked(project)
    set_notifications(config, *notifications)
    opens = alert.created + minutes * MINUTE
    assert not open_tracked(now=opens - timedelta(microseconds=1))
    assert statuses(config) == ["TRACKING"]
    assert open_tracked(now=opens)
    assert statuses(config) == ["OPEN"]
    due = set(Notification.objects.values_list("due", flat=True))
    assert due == {alert.created + notification["delayMin"] * MINUTE for notification in notifications}


def test_an_open_alert_stays_open_and_keeps_what_it_was_to_notify(project: Project) -> None:
    config = make_config(project, notifications=[delayed(WEBHOOK, 0), delayed(EMAIL, 5)])
    ingest(project, host_report(reachable=False))
    evaluate()
    before, scheduled = Alert.objects.values().get(), list(Notification.objects.order_by("due").values())
    assert before["status"] == "OPEN"
    set_notifications(config, delayed(WEBHOOK, 30), delayed(EMAIL, 5))
    assert Alert.objects.values().get() == before
    assert len(scheduled) == 2
    assert Notification.objects.filter(status="PENDING", due=scheduled[1]["due"]).exists()


def test_alerts_of_other_configurations_open_as_they_were_to(project: Project) -> None:
    other = make_config(project, notifications=[delayed(WEBHOOK, 10)])
    config = make_config(project, notifications=[delayed(WEBHOOK, 10)])
    ingest(project, host_report(reachable=False))
    evaluate()
    set_notifications(config, delayed(WEBHOOK, 1))
    for alert_config, minutes in ((other, 10), (config, 1)):
        alert = Alert.objects.get(config_id=alert_config.id)
        assert alert.opens == alert.created + minutes * MINUTE


def test_it_reaches_the_alerts_of_a_global_configuration_in_every_project(project: Project) -> None:
    config = make_global_config(notifications=[delayed(WEBHOOK, 10)])
    alert = tracked(project)
    set_notifications(config, delayed(WEBHOOK, 2))
    assert Alert.objects.get().opens == alert.created + 2 * MINUTE


def test_what_changes_no_delay_leaves_them(project: Project) -> None:
    config = make_config(project, notifications=[delayed(WEBHOOK, 10)])
    alert = tracked(project)
    set_notifications(config, {**delayed(WEBHOOK, 10), "intervalMin": 7})
    assert Alert.objects.get().opens == alert.opens


@pytest.mark.django_db(transaction=True)
def test_the_workers_are_woken_where_something_opens_at_another_time(project: Project) -> None:
    config = make_config(project, notifications=[delayed(WEBHOOK, 10)])
    tracked(project)
    with closing(connection.copy()) as listening:
        listening.ensure_connection()
        listening.cursor().execute(f"LISTEN {WAKE_CHANNEL}")
        set_notifications(config, delayed(WEBHOOK, 1))
        eventually(lambda: list(listening.connection.notifies(timeout=0)), message="a wake-up")
