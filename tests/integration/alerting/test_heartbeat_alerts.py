"""Maintenance windows hold notifications back: which, until when, and what follows."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.models import Alert, Notification
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_change, window_create, window_delete
from automation.reports.rules import EventReport
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.api.principal import SYSTEM
from opsapi.sql import fetch_rows
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import (
    Outside,
    begin,
    deliver_all,
    deliver_meanwhile,
    deliver_one,
    evaluate,
)
from tests.integration.alerting.recipients import GROUP, make_member

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
END = START + timedelta(hours=2)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
OPEN, UPDATE, CLOSE = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE
PAGER = {"typeName": "PAGER_SERVICE", "serviceKey": "0123456789abcdef0123456789abcdef", "delayMin": 0}
TRACKING = {"webhookTemplate": "incident-io", "webhookAuthorization": "Bearer token-0123456789"}
ROLLBACK = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)


def make_window(project: Project, start: datetime = START, end: datetime = END, *types: str) -> str:
    """A window of the project for what concerns hosts, or for these types; its id."""
    values = {"alert_types": list(types or ["HOST"]), "start": start, "end": end}
    return window_create(group_id=project.id, values=values, actor=SYSTEM, now=START).id


def open_alert(project: Project, *notifications: Any, now: datetime = START) -> None:
    """An alert, open since then, of a configuration with these notifications."""
    make_config(project, notifications=notifications or [WEBHOOK])
    evaluate(now)
    ingest(project, host_report(reachable=False), now=now)
    evaluate(now)


def close_alert(project: Project, *, now: datetime) -> None:
    """The condition has ended."""
    ingest(project, host_report(reachable=True), now=now)
    evaluate(now)


@pytest.mark.parametrize(
    ("window", "is_notified"),
    [
        pytest.param((START, END, "HOST"), 0, id="from its start"),
        pytest.param((START + SECOND, END, "HOST"), 1, id="not before"),
        pytest.param((START - MINUTE, START + SECOND, "HOST"), 0, id="to its end"),
        pytest.param((START - MINUTE, START, "HOST"), 1, id="not at it"),
        pytest.param((START, END, "REPLICA_SET"), 1, id="of another type"),
    ],
)
def test_a_window_mutes_its_types_from_start_to_end(
    project: Project, outside: Outside, window: tuple[datetime, datetime, str], is_notified: int
) -> None:
    make_window(project, *window)
    open_alert(project)
    deliver_all(START)
    assert len(outside.sent) == is_notified
    assert Alert.objects.get().status == "OPEN"


def test_a_window_of_another_project_mutes_nothing(project: Project, outside: Outside) -> None:
    make_window(Project.objects.create(name="other", org=project.org, created=START))
    open_alert(project)
    deliver_all(START)
    assert outside.kinds == [OPEN]


def test_what_is_held_back_says_by_what_and_until_when(project: Project, outside: Outside) -> None:
    window_id = make_window(project)
    open_alert(project)
    assert deliver_all(START) == 0
    (row,) = Notification.objects.all()
    assert (row.status, row.due, row.silenced_by, row.attempts) == ("PENDING", END, window_id, 0)
    assert row.reason == f"silenced by maintenance window {window_id}"


def test_an_alert_still_open_when_the_window_ends_is_notified(project: Project, outside: Outside) -> None:
    make_window(project)
    open_alert(project, WEBHOOK, EMAIL)
    deliver_all(START)
    assert deliver_all(END - SECOND) == 0
    deliver_all(END)
    assert outside.kinds == [OPEN, OPEN]
    row = Notification.objects.filter(kind=OPEN.value).first()
    assert row is not None
    assert (row.status, row.reason, row.silenced_by) == ("DELIVERED", None, None)


def test_windows_that_touch_mute_without_a_gap(project: Project, outside: Outside) -> None:
    make_window(project)
    make_window(project, END, END + MINUTE)
    open_alert(project)
    deliver_all(START)
    deliver_all(END)
    assert outside.sent == []
    deliver_all(END + MINUTE)
    assert outside.kinds == [OPEN]


def test_of_several_windows_the_one_that_ends_last_holds_it_back(project: Project, outside: Outside) -> None:
    make_window(project, START, END)
    last = make_window(project, START, END + MINUTE, "AGENT", "HOST")
    make_window(project, START, END + SECOND)
    make_window(project, START, END + HOUR, "CLUSTER")
    open_alert(project)
    deliver_all(START)
    row = Notification.objects.get()
    assert (row.silenced_by, row.due) == (last, END + MINUTE)


def test_windows_that_mute_nothing_now_are_neither_read_nor_locked(
    project: Project, outside: Outside
) -> None:
    make_window(project, START - HOUR, START)
    make_window(project, START + SECOND, END)
    open_alert(project)
    with CaptureQueriesContext(connection) as queries:
        assert deliver_one(START)
    [asked, *_] = [query["sql"] for query in queries if "alerting_maintenancewindow" in query["sql"]]
    assert fetch_rows(asked) == []
    assert outside.kinds == [OPEN]


def test_an_alert_that_ended_before_its_opening_was_sent_notifies_nobody(
    project: Project, outside: Outside
) -> None:
    make_window(project)
    open_alert(project)
    deliver_all(START)
    close_alert(project, now=START + MINUTE)
    deliver_all(END)
    assert outside.sent == []
    assert Notification.objects.get().reason == NotificationReason.ALERT_OVER.value


def test_an_end_inside_the_window_is_sent_after_it_to_recipients_notified_before(
    project: Project, outside: Outside
) -> None:
    before = START - MINUTE
    open_alert(project, WEBHOOK, EMAIL, {**EMAIL, "delayMin": 30}, now=before)
    deliver_all(before)
    make_window(project)
    close_alert(project, now=START + MINUTE)
    assert deliver_all(START + MINUTE) == 0
    deliver_all(END)
    assert outside.kinds == [OPEN, OPEN, CLOSE, CLOSE]


@pytest.mark.parametrize("service", [PAGER, {**WEBHOOK, **TRACKING}], ids=["channel", "template"])
def test_services_with_state_get_their_resolve_at_once(
    project: Project, outside: Outside, service: dict[str, Any]
) -> None:
    before = START - MINUTE
    open_alert(project, service, now=before)
    deliver_all(before)
    make_window(project)
    close_alert(project, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.kinds == [OPEN, CLOSE]


def test_a_repeat_inside_the_window_comes_once_after_it(project: Project, outside: Outside) -> None:
    before = START - MINUTE
    open_alert(project, {**WEBHOOK, "intervalMin": 5}, now=before)
    deliver_all(before)
    make_window(project)
    for minutes in range(0, 120, 5):
        deliver_all(START + timedelta(minutes=minutes))
    assert outside.kinds == [OPEN]
    deliver_all(END)
    assert deliver_all(END + timedelta(minutes=4)) == 0
    deliver_all(END + timedelta(minutes=5))
    assert outside.kinds == [OPEN, UPDATE, UPDATE]


def test_people_hear_of_it_once_when_the_window_ends(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    open_alert(project, {**GROUP, "intervalMin": 5})
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    deliver_all(START)
    make_window(project)
    deliver_all(START + timedelta(minutes=6))
    outside.outcome, outside.sent = Outcome(DeliveryStatus.DELIVERED, None, 5), []
    deliver_all(END)
    assert outside.kinds == [OPEN]
    deliver_all(END + timedelta(minutes=5))
    assert outside.kinds == [OPEN, UPDATE]


def test_a_one_shot_notification_is_dropped_with_the_window_named(project: Project, outside: Outside) -> None:
    window_id = make_window(project)
    make_config(project, eventTypeName="HOST_ROLLBACK")
    ingest(project, host_report(), events=(ROLLBACK,), now=START)
    evaluate(START)
    deliver_all(START)
    row = Notification.objects.get()
    assert (row.status, row.reason) == ("DROPPED", f"silenced by maintenance window {window_id}")
    assert outside.sent == []


def shorten(project: Project, window_id: str, now: datetime) -> None:
    """The window ends now."""
    changes = {"end": now}
    window_change(group_id=project.id, window_id=window_id, changes=changes, actor=SYSTEM, now=now)


def turn_elsewhere(project: Project, window_id: str, now: datetime) -> None:
    """The window covers other types from now on."""
    changes = {"alert_types": ["CLUSTER"]}
    window_change(group_id=project.id, window_id=window_id, changes=changes, actor=SYSTEM, now=now)


def delete(project: Project, window_id: str, now: datetime) -> None:
    """The window is no more."""
    window_delete(group_id=project.id, window_id=window_id, actor=SYSTEM, now=now)


@pytest.mark.parametrize("end", [shorten, turn_elsewhere, delete])
def test_a_notification_that_a_window_no_longer_mutes_is_sent_at_once(
    project: Project, outside: Outside, end: Callable[[Project, str, datetime], None]
) -> None:
    window_id = make_window(project)
    open_alert(project)
    deliver_all(START)
    now = START + MINUTE
    end(project, window_id, now)
    deliver_all(now)
    assert outside.kinds == [OPEN]


def test_what_another_window_holds_back_too_waits_for_it(project: Project, outside: Outside) -> None:
    longer = make_window(project, START, END + MINUTE)
    window_id = make_window(project)
    open_alert(project)
    deliver_all(START)
    delete(project, window_id, START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.sent == []
    assert Notification.objects.get().silenced_by == longer


def test_a_notification_muted_between_two_attempts_has_an_hour_of_retries_afterwards(
    project: Project, outside: Outside
) -> None:
    open_alert(project, now=START)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    deliver_all(START)
    make_window(project, START + SECOND)
    deliver_all(START + MINUTE)
    assert deliver_all(END) == 1
    assert Notification.objects.get().status == "PENDING"
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    deliver_all(END + MINUTE)
    assert outside.kinds == [OPEN] * 3


def test_after_the_window_the_end_follows_an_opening_that_a_crash_left_open(
    project: Project, outside: Outside
) -> None:
    open_alert(project, now=START - MINUTE)
    assert begin(START - MINUTE)
    make_window(project)
    deliver_all(START)
    close_alert(project, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.sent == []
    deliver_all(END)
    assert outside.kinds == [CLOSE]
    opening = Notification.objects.get(kind=OPEN.value)
    assert (opening.status, opening.perhaps_received) == ("FAILED", True)
    assert list(opening.tries.values_list("number", "status")) == [(1, "retry")]


def test_a_window_holds_nothing_of_a_deleted_project_back(project: Project, outside: Outside) -> None:
    before = START - MINUTE
    open_alert(project, now=before)
    deliver_all(before)
    make_window(project)
    close_alert(project, now=START)
    deliver_all(START)
    project_delete(group_id=project.id, actor=SYSTEM, now=START + MINUTE)
    deliver_all(START + MINUTE)
    assert outside.kinds == [OPEN, CLOSE]


@pytest.mark.django_db(transaction=True)
def test_a_window_deleted_this_moment_holds_nothing_back(project: Project, outside: Outside) -> None:
    window_id = make_window(project)
    open_alert(project)
    with transaction.atomic():
        delete(project, window_id, START)
        assert deliver_meanwhile(START) == (1, 0)
    deliver_all(START)
    assert outside.kinds == [OPEN]


@pytest.mark.django_db(transaction=True)
def test_a_window_of_a_project_deleted_this_moment_holds_nothing_back(
    project: Project, outside: Outside
) -> None:
    before = START - MINUTE
    open_alert(project, now=before)
    deliver_all(before)
    make_window(project)
    close_alert(project, now=START)
    with transaction.atomic():
        project_delete(group_id=project.id, actor=SYSTEM, now=START)
        assert deliver_meanwhile(START) == (1, 0)
    deliver_all(START)
    assert outside.kinds == [OPEN, CLOSE]
