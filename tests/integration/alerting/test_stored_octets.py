"""Alerts, messages and changes of a project are counted by day and kind."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, transaction

from accesslist.models import Project
from automation.models import StoredDay
from automation.reports import growth
from automation.reports.growth import (
    ALERT_OCTETS,
    ATTEMPT_OCTETS,
    EVENT_OCTETS,
    MESSAGE_OCTETS,
    WRITE_AT,
    WRITE_EVERY,
    StoredKind,
    change_counted,
    day_limited,
    rows_counted,
)
from events.log.changes import NewEvent
from events.types import EventType
from opsapi import clock
from opsapi.sql import execute
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.racing import in_other_session

pytestmark = pytest.mark.django_db
NOON = datetime(2099, 3, 4, 12, 0, tzinfo=UTC)
KINDS = ("alert_octets", "message_octets", "change_octets")
Commit = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[time_machine.Traveller]:
    """Noon; nothing was counted before."""
    monkeypatch.setattr(growth, "_days", {})
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]]) -> Commit:
    """A block that counts as a transaction: what follows from it is done at its end."""
    return partial(django_capture_on_commit_callbacks, execute=True)


def stored(project: Project) -> list[tuple[Any, ...]]:
    """What is written, by day."""
    return list(StoredDay.objects.filter(group=project).order_by("day").values_list("day", *KINDS))


def count_alert(project: Project) -> None:
    rows_counted(StoredKind.ALERTS, [project.id, None], ALERT_OCTETS)


def test_each_kind(project: Project, outside: Outside, commit: Commit, time: time_machine.Traveller) -> None:
    with commit():
        make_config(project)
    [(_, alerts, messages, changes)] = stored(project)
    assert (alerts, messages) == (0, 0)
    assert changes > EVENT_OCTETS  # The diffs count too.
    time.shift(WRITE_EVERY)
    with commit():
        ingest(project, host_report(reachable=False))
        evaluate()
        deliver_all()
    time.shift(WRITE_EVERY)
    day_limited(group_id=project.id, now=clock.now())  # The next report.
    # An opening, which was sent, and the next reminder.
    sent = 2 * MESSAGE_OCTETS + ATTEMPT_OCTETS
    assert stored(project) == [(NOON.date(), ALERT_OCTETS, sent, changes)]


def test_it_is_written_rarely(project: Project, commit: Commit, time: time_machine.Traveller) -> None:
    with commit():
        count_alert(project)
    assert stored(project) == [(NOON.date(), ALERT_OCTETS, 0, 0)]
    for _ in range(2):
        with commit() as callbacks:
            count_alert(project)
        assert not callbacks
    time.shift(WRITE_EVERY)
    with commit():
        count_alert(project)
    assert stored(project) == [(NOON.date(), 4 * ALERT_OCTETS, 0, 0)]
    with commit():
        rows_counted(StoredKind.MESSAGES, [project.id], WRITE_AT)
    assert stored(project) == [(NOON.date(), 4 * ALERT_OCTETS, WRITE_AT, 0)]


def test_each_day_has_its_own(project: Project, commit: Commit, time: time_machine.Traveller) -> None:
    with commit():
        count_alert(project)
    count_alert(project)
    time.shift(timedelta(hours=12))
    with commit():
        count_alert(project)
    assert stored(project) == [
        (NOON.date(), 3 * ALERT_OCTETS, 0, 0),
        (NOON.date() + timedelta(days=1), 0, 0, 0),
    ]
    count_alert(project)
    time.shift(WRITE_EVERY)
    with commit():
        count_alert(project)
    assert stored(project)[1] == (NOON.date() + timedelta(days=1), 2 * ALERT_OCTETS, 0, 0)


def test_what_cannot_be_written_is_written_later(
    project: Project, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(growth, "fetch_rows", fail)
        with commit():
            count_alert(project)
    with commit():
        count_alert(project)
    assert stored(project) == [(NOON.date(), 2 * ALERT_OCTETS, 0, 0)]


@pytest.mark.django_db(transaction=True)
def test_it_waits_for_nobody_who_deletes_the_project(project: Project, time: time_machine.Traveller) -> None:
    def count() -> None:
        execute("SET lock_timeout = '10s'")
        count_alert(project)

    with transaction.atomic():
        list(Project.objects.select_for_update().filter(id=project.id))
        in_other_session(count)
    assert stored(project) == []
    time.shift(WRITE_EVERY)
    count_alert(project)
    assert stored(project) == [(NOON.date(), 2 * ALERT_OCTETS, 0, 0)]


def test_publications_and_turns_are_not_counted_twice(project: Project, commit: Commit) -> None:
    for event_type in (
        EventType.AUTOMATION_CONFIG_PUBLISHED_AUDIT,
        EventType.AUTOMATION_MOVE_BEGUN_AUDIT,
        EventType.AUTOMATION_MOVE_ENDED_AUDIT,
    ):
        with commit():
            change_counted(group_id=project.id, events=[NewEvent(event_type=event_type)])
    assert stored(project) == []
