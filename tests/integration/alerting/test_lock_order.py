"""Transactions that lock a project, its windows, alerts and notifications never deadlock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import transaction
from django.db.models import QuerySet

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.engine.postgresql import POSTGRESQL
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.windows.changes import window_change, window_create, window_delete
from automation.hosts.changes import host_delete
from automation.models import Host
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute, fetch_rows
from tests.eventually import eventually
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, deliver_meanwhile, evaluate
from tests.racing import in_other_session, on_own_connection

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
_WAITING = """
    SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE NOT granted AND datname = current_database()
"""


@pytest.fixture(autouse=True)
def muted(project: Project) -> None:
    """An alert of a host, its opening due, and a window that covers it."""
    make_config(project)
    evaluate(START)
    ingest(project, host_report(reachable=False), now=START)
    evaluate(START)
    values = {"start": START - HOUR, "end": START + HOUR, "alert_types": ["HOST"]}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=START)


def delete_host() -> None:
    """The only one."""
    host = Host.objects.get()
    host_delete(group_id=host.group_id, host_id=host.id, actor=SYSTEM, now=START)


def delete_project() -> None:
    """The only one."""
    project_delete(group_id=Project.objects.get().id, actor=SYSTEM, now=START)


def shorten_window() -> None:
    """The only one ends sooner."""
    window, changes = MaintenanceWindow.objects.get(), {"end": START + HOUR / 2}
    window_change(group_id=window.group_id, window_id=window.id, changes=changes, actor=SYSTEM, now=START)


def delete_window() -> None:
    """The only one."""
    window = MaintenanceWindow.objects.get()
    window_delete(group_id=window.group_id, window_id=window.id, actor=SYSTEM, now=START)


@pytest.mark.parametrize("delete", [delete_host, delete_project])
def test_what_is_deleted_while_it_is_decided_on_is_dropped(
    outside: Outside, delete: Callable[[], None]
) -> None:
    with transaction.atomic():
        list(Alert.objects.select_for_update())
        assert deliver_meanwhile(START) == (1, 0)
        delete()
    deliver_all(START)
    assert Notification.objects.get().status == "DROPPED"
    assert outside.sent == []


@pytest.mark.parametrize("write", [shorten_window, delete_window])
def test_a_window_is_written_while_what_it_holds_back_is_deleted(write: Callable[[], None]) -> None:
    deliver_all(START)
    in_turn(Notification.objects.all(), delete_host, write)
    assert Notification.objects.get().status == "DROPPED"


def in_turn(rows: QuerySet[Notification], *calls: Callable[[], None]) -> None:
    """Let the calls begin one after the other, each once the one before waits, while the rows are locked."""
    with ThreadPoolExecutor(len(calls)) as pool:
        with transaction.atomic():
            list(rows.select_for_update())
            running = []
            for count, call in enumerate(calls, start=1):
                running.append(pool.submit(on_own_connection, call))
                eventually(partial(_wait, count))
        for future in running:
            future.result()


def _wait(count: int) -> bool:
    """Whether so many sessions of this database wait for a lock."""
    execute("SELECT pg_stat_clear_snapshot()")
    [(waiting,)] = fetch_rows(_WAITING)
    return int(waiting) >= count


def test_an_alert_that_a_request_has_locked_does_not_delay_the_outcome_of_a_message(project: Project) -> None:
    locked, free = make_alert(project, status="CLOSED"), make_alert(project)

    def set_last_notified() -> None:
        execute("SET lock_timeout = '5s'")
        POSTGRESQL.set_last_notified({locked.id, free.id}, now=START)

    with transaction.atomic():
        Alert.objects.select_for_update().get(id=locked.id)
        in_other_session(set_last_notified)
    notified = Alert.objects.filter(last_notified=START).values_list("id", flat=True)
    assert list(notified) == [free.id]
