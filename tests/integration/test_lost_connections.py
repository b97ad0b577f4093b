"""Connections that PostgreSQL ends: between requests, and under one that has written or has not."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection, transaction
from django.test import Client

from accesslist.locks import actor_lock_shared
from accesslist.models import Organization, Project, RateWindow
from alerting.engine.choices import NotificationStatus
from alerting.engine.leases import worker_seen
from alerting.models import Notification
from events.models import Signal
from opsapi import clock
from opsapi.api.principal import Actor
from opsapi.postgresql.base import this_connection
from opsapi.roles import Role
from opsapi.sql import execute, fetch_rows
from tests.admin.logging_in import LOGIN
from tests.admin.rows import make_operator
from tests.admin.writing import confirm, token
from tests.api import bodies
from tests.client import ApiClient
from tests.eventually import eventually
from tests.factories.accesslist import PASSWORD, ProjectFactory, make_key
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate, statuses
from tests.racing import in_other_session, on_own_connection

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/admin/accesslist/organization/add/"
_WAITING = "SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
_DEADLOCK = "DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$"


@dataclass(frozen=True)
class LostSite:
    """Who asks, for what."""

    project: Project
    api: ApiClient
    browser: Client


KINDS: dict[str, tuple[Callable[[LostSite], Any], int]] = {
    "ready": (lambda site: site.browser.get("/health/ready"), 200),
    "metrics": (lambda site: site.browser.get("/metrics"), 200),
    "root": (lambda site: site.api.get(""), 200),
    "list": (lambda site: site.api.get(f"/groups/{site.project.id}/alerts"), 200),
    "write": (lambda site: site.api.post("/groups", {"name": "another"}), 201),
    "wrong key": (lambda site: ApiClient().get("/groups", HTTP_AUTHORIZATION="Digest nonsense"), 401),
    "first user": (lambda site: ApiClient().post("/unauth/users", {}), 400),
    "discovery": (
        lambda site: site.api.get(f"/groups/{site.project.id}/discovery", base="/prometheus/v1.0"),
        200,
    ),
    "login page": (lambda site: Client().get(LOGIN), 200),
    "logging in": (lambda site: Client().post(LOGIN, {"username": "ada", "password": PASSWORD}), 302),
    "console": (lambda site: site.browser.get("/admin/"), 200),
    "console list": (lambda site: site.browser.get("/admin/accesslist/project/"), 200),
    "console write": (lambda site: confirm(site.browser, ADD, name="finance"), 302),
    "static": (lambda site: site.browser.get("/static/console/account.css"), 200),
}


@pytest.fixture
def site() -> LostSite:
    """A project, and a Global owner's key and session."""
    browser = Client(raise_request_exception=False)
    browser.force_login(make_operator(username="ada"))
    worker_seen(name="host:1", now=clock.now())
    return LostSite(ProjectFactory.create(), ApiClient(make_key(Role.GLOBAL_OWNER)), browser)


@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_that_ended_between_requests_is_replaced(
    kind: str, site: LostSite, caplog: pytest.LogCaptureFixture
) -> None:
    ask, right = KINDS[kind]
    ended = end_connection()
    with caplog.at_level(logging.ERROR):
        answer = ask(site)
    assert answer.status_code == right
    assert "opsapi_database_up 0" not in answer.getvalue().decode()
    assert backend() != ended
    assert [record for record in caplog.records if record.name.startswith(("opsapi", "django"))] == []


@pytest.mark.parametrize("table", ["accesslist_apikey", "accesslist_digestuse", "events_event"])
def test_a_request_is_repeated_if_its_connection_ended_before_it_wrote(table: str, site: LostSite) -> None:
    answer = ended_while_it_waits(lambda: site.api.post("/groups", {"name": "shop"}), lambda: lock(table))
    assert answer.status_code == 201
    assert Project.objects.filter(name="shop").count() == 1


@pytest.mark.parametrize(("times", "status"), [(1, 201), (2, 503)])
def test_a_request_is_repeated_once_after_a_deadlock(
    times: int, status: int, site: LostSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = ["another transaction"] * times

    def fails_first(actor: Actor) -> None:
        if waiting:
            waiting.pop()
            execute(_DEADLOCK)
        actor_lock_shared(actor)

    monkeypatch.setattr("accesslist.changes.actor_lock_shared", fails_first)
    assert site.api.post("/groups", {"name": "shop"}).status_code == status
    assert Project.objects.filter(name="shop").count() == (status == 201)


def test_a_page_is_repeated_if_its_connection_ended_while_the_session_was_saved(site: LostSite) -> None:
    answer = ended_while_it_waits(lambda: site.browser.get("/admin/"), lock_sessions)
    assert answer.status_code == 200


def test_a_request_that_has_written_is_not_repeated(site: LostSite) -> None:
    form = {"name": "once", "confirmed": "yes", "once": token(site.browser, ADD)}

    def end(execute: Any, sql: str, *arguments: Any) -> Any:
        if "django_session" in sql and in_other_session(Organization.objects.filter(name="once").exists):
            end_connection()
        return execute(sql, *arguments)

    # By then the end of the session is due to be written again, after the page has done its work.
    with time_machine.travel(clock.now() + timedelta(minutes=10)), connection.execute_wrapper(end):
        answer = site.browser.post(ADD, form)
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert Organization.objects.filter(name="once").count() == 1


def test_a_request_is_repeated_once(site: LostSite) -> None:
    tried = []

    def end(execute: Any, sql: str, *arguments: Any) -> Any:
        if "accesslist_apikey" in sql:
            tried.append(end_connection())
        return execute(sql, *arguments)

    with connection.execute_wrapper(end):
        answer = site.api.get("/groups")
    assert answer.status_code == 503
    assert len(set(tried)) == 2


def test_an_attempt_counts_once_though_the_connection_ended_before_it() -> None:
    end_connection()
    ApiClient().post("/unauth/users", bodies.user())
    assert RateWindow.objects.get(bucket__startswith="first user").count == 1


def test_closing_a_cursor_of_a_connection_that_ended_is_an_error_of_the_database() -> None:
    cursor = this_connection().chunked_cursor()
    cursor.execute("SELECT generate_series(1, 9)")
    end_connection()
    with pytest.raises(OperationalError):
        cursor.close()
    cursor.cursor._closed = True  # or it warns that nobody closed it


def test_a_signal_whose_evaluation_lost_its_connection_is_evaluated_again(site: LostSite) -> None:
    config = make_config(site.project)
    ingest(site.project, host_report(reachable=False))
    evaluate()
    Notification.objects.update(status=NotificationStatus.DELIVERED.value)
    ingest(site.project, host_report(reachable=True))

    def end_under_cursor(execute: Any, sql: str, *arguments: Any) -> Any:
        done = execute(sql, *arguments)
        if sql.startswith("SELECT DISTINCT"):
            in_other_session(lambda: _end(connected))
        return done

    connected = backend()

    with connection.execute_wrapper(end_under_cursor), pytest.raises(OperationalError):
        evaluate()
    assert not Signal.objects.exclude(failed=None).exists()
    evaluate()
    assert statuses(config) == ["CLOSED"]


def backend() -> int:
    """The process of the server that serves this thread."""
    [(found,)] = fetch_rows("SELECT pg_backend_pid()")
    return int(found)


def end_connection() -> int:
    """The server ends this thread's connection, which learns of it when it is used."""
    pid = backend()
    in_other_session(lambda: _end(pid))
    return pid


def _end(pid: int) -> None:
    execute("SELECT pg_terminate_backend(%s)", [pid])
    eventually(lambda: not fetch_rows("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]))


def ended_while_it_waits(call: Callable[[], Any], take_lock: Callable[[], object]) -> Any:
    """What the call answers when its connection ends while it waits for the lock, which is released then."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            take_lock()
            answer = pool.submit(on_own_connection, call)
            first = eventually(waiting)
            execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [list(first)])
            eventually(lambda: answer.done() or waiting() - first)
        return answer.result()


def waiting() -> set[int]:
    """Who waits for a lock of this session."""
    return {pid for (pid,) in fetch_rows(_WAITING)}


def lock(table: str) -> None:
    """Keep everybody from the table until the transaction ends."""
    execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")


def lock_sessions() -> None:
    """They can be read, and not written."""
    list(Session.objects.select_for_update())
