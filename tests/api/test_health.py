"""Readiness: 200 says that a report can be stored, 503 says what keeps it from that (product, "health")."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import Error, InternalError, OperationalError, connection, transaction
from django.db.models import F
from django.test import Client
from psycopg import errors
from pytest_django import Settings

from accesslist.apps import authentication_trial
from accesslist.models import DigestUse, Project
from alerting.engine.leases import worker_seen
from alerting.engine.usage_rules import minute_of
from alerting.models import ProjectUsage
from automation.models import Agent, FleetWatch
from events.models import Signal
from opsapi import clock
from opsapi.api import root
from opsapi.api.root import write_trial
from opsapi.clock import time_words
from opsapi.embedded.layout import Layout
from opsapi.outgoing_proxy import OutgoingProxy
from opsapi.postgresql.faults import DatabaseFault, database_fault
from opsapi.sql import database_time, execute
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_destination, make_notification
from tests.factories.automation import ingest
from tests.integration.embedded.sql import run_sql
from tests.racing import in_other_session
from tests.shared import run_directory

SERVER = Layout(run_directory())
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _ready() -> Iterator[None]:
    """A worker is there, and no other test's write counts."""
    worker_seen(name="host:1", now=clock.now())
    for trial in (write_trial, authentication_trial):
        trial.forget()
    yield
    for trial in (write_trial, authentication_trial):
        trial.forget()


class Refusing:
    """Fails statements that contain `part`, as an execute wrapper of Django's, and counts them."""

    def __init__(
        self, part: str, cause: psycopg.Error | None = None, error: type[Error] = OperationalError
    ) -> None:
        self.part = part
        self.cause = cause
        self.error = error
        self.tried = 0

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        """One statement."""
        if self.part not in sql:
            return execute(sql, *arguments)
        self.tried += 1
        if self.cause:
            raise self.error("at db.example.com: hunter2") from self.cause
        return execute(sql, *arguments)


def ready() -> tuple[int, Any]:
    """Status and document."""
    answer = Client().get("/health/ready")
    assert answer.has_header("Retry-After") is (answer.status_code == 503)
    return answer.status_code, answer.json()


def not_ready(database: str) -> tuple[int, Any]:
    """The answer that names this fault of the database."""
    return 503, {"ok": False, "missing": {"database": database}}


def test_it_is_ready_when_a_write_succeeds() -> None:
    writes = Refusing("FOR UPDATE")
    with connection.execute_wrapper(writes):
        assert ready() == (200, {"ok": True})
    assert writes.tried == 1


@pytest.fixture
def _read_only(owner: ApiClient) -> Iterator[None]:
    """The database, from now on. Sessions that exist already accept writes, so they end."""
    name = connection.settings_dict["NAME"]
    run_sql(SERVER, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    connection.close()
    yield
    run_sql(SERVER, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_read_only")
def test_a_database_that_is_read_only_is_named_by_readiness_and_by_answers(owner: ApiClient) -> None:
    assert ready() == not_ready("read-only")
    answer = owner.post("/groups", {"name": "shop"})
    assert (answer.status_code, answer.json()["parameters"]) == (503, ["the database is read-only"])
    assert answer.headers["Retry-After"]


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_leads_to_a_read_only_server_is_replaced(owner: ApiClient) -> None:
    """As after a failover behind a proxy: the next connection leads to the new primary."""
    execute("SET default_transaction_read_only = on")
    assert owner.post("/groups", {"name": "shop"}).status_code == 201


def test_a_broken_table_of_used_nonces_is_named() -> None:
    # What a promoted standby said of the sequence of an unlogged table.
    broken = Refusing("INTO accesslist_digestuse", errors.InternalError_(), InternalError)
    with connection.execute_wrapper(broken):
        assert ready() == (
            503,
            {"ok": False, "missing": {"authentication": "used nonces cannot be stored"}},
        )
    assert ready()[0] == 200
    assert not DigestUse.objects.exists()


def test_a_missing_table_of_used_nonces_is_named() -> None:
    execute("ALTER TABLE accesslist_digestuse RENAME TO another")
    assert ready()[1]["missing"] == {"authentication": "used nonces cannot be stored"}


def test_a_full_disk_that_refuses_used_nonces_is_the_fault_of_the_database() -> None:
    with connection.execute_wrapper(Refusing("digestuse", errors.DiskFull())):
        assert ready() == not_ready("disk full")


@pytest.fixture
def _success_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A success counts for ever, so that no pause of the machine matters."""
    monkeypatch.setattr("opsapi.postgresql.trial._COUNTS_FOR", float("inf"))


@pytest.mark.usefixtures("_success_counts")
def test_a_successful_use_of_a_nonce_counts_for_a_while() -> None:
    uses = Refusing("INTO accesslist_digestuse")
    with connection.execute_wrapper(uses):
        assert {ready()[0] for _ in range(3)} == {200}
    assert uses.tried == 1


@each("part", ["FOR UPDATE", "generate_series"])
def test_a_full_disk_is_named_without_the_text_of_the_error(part: str) -> None:
    with connection.execute_wrapper(Refusing(part, errors.DiskFull())):
        assert ready() == not_ready("disk full")


def test_a_full_disk_is_named_by_answers(owner: ApiClient) -> None:
    with connection.execute_wrapper(Refusing("accesslist_project", errors.DiskFull())):
        answer = owner.post("/groups", {"name": "shop"})
    assert (answer.status_code, answer.json()["parameters"]) == (503, ["the database's disk is full"])


def test_an_unexpected_error_is_not_ready() -> None:
    with connection.execute_wrapper(Refusing("FOR UPDATE", errors.UndefinedTable())):
        assert ready()[0] == 503


@pytest.mark.usefixtures("_success_counts")
def test_a_successful_write_counts_for_a_while_and_a_failed_write_is_retried() -> None:
    failing, writes = Refusing("FOR UPDATE", errors.DiskFull()), Refusing("FOR UPDATE")
    with connection.execute_wrapper(failing):
        assert [ready()[0], ready()[0]] == [503, 503]
    assert failing.tried == 2
    with connection.execute_wrapper(writes):
        assert {ready()[0] for _ in range(3)} == {200}
    assert writes.tried == 1


def test_a_worker_that_is_missing_is_named_with_the_rest_well() -> None:
    worker_seen(name="host:1", now=clock.now().replace(year=2020))
    assert ready() == (503, {"ok": False, "missing": {"worker": "no worker was seen in the last minute"}})


class TestDetection:
    """Whether agents and hosts that stop reporting are noticed."""

    @pytest.fixture(autouse=True)
    def _reported(self, project: Project) -> None:
        ingest(project)

    def swept(self, *, ago: int, counting: int) -> None:
        """The last sweep and the start of the clocks, in seconds before now."""
        now = database_time()
        times = {"swept": now - timedelta(seconds=ago), "counting_since": now - timedelta(seconds=counting)}
        FleetWatch.objects.update_or_create(id=1, defaults=times)

    def test_nothing_is_said_while_they_are(self) -> None:
        self.swept(ago=15, counting=240)
        assert ready() == (200, {"ok": True})

    def test_clocks_that_have_just_started_are_a_note(self) -> None:
        self.swept(ago=0, counting=60)
        status, document = ready()
        assert (status, document["ok"], "missing" in document) == (200, True, False)
        until = FleetWatch.objects.get().counting_since + timedelta(minutes=4)
        assert time_words(until) in document["notes"]["detection"]

    @each("ago", [61, 86_400])
    def test_a_worker_that_does_not_sweep_is_missing(self, ago: int) -> None:
        self.swept(ago=ago, counting=90_000)
        status, document = ready()
        assert (status, [*document["missing"]], "notes" in document) == (503, ["detection"], False)
        assert time_words(FleetWatch.objects.get().swept or clock.now()) in document["missing"]["detection"]

    def test_it_is_missing_before_the_first_sweep_and_after_one_in_the_future(self) -> None:
        assert [*ready()[1]["missing"]] == ["detection"]
        self.swept(ago=-86_400, counting=90_000)
        assert [*ready()[1]["missing"]] == ["detection"]

    def test_an_installation_without_agents_misses_nothing(self) -> None:
        Agent.objects.update(demonstration=True)
        self.swept(ago=86_400, counting=90_000)
        assert ready() == (200, {"ok": True})


@pytest.mark.django_db(transaction=True)
def test_a_database_that_does_not_answer_is_reported_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "_LONGEST_STATEMENT", "50ms")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE django_migrations IN EXCLUSIVE MODE")
        assert in_other_session(ready) == not_ready("no answer in time")


def test_too_many_connections_differ_from_an_absent_server() -> None:
    run_sql(SERVER, "CREATE DATABASE without_connections CONNECTION LIMIT 0")
    try:
        other = connection.copy()
        other.settings_dict["NAME"] = "without_connections"
        with pytest.raises(OperationalError) as caught:
            other.ensure_connection()
    finally:
        run_sql(SERVER, "DROP DATABASE without_connections")
    assert database_fault(caught.value) is DatabaseFault.TOO_MANY_CONNECTIONS


@each(("seconds", "is_ready"), [(55, True), (65, False)])
def test_a_signal_that_waits_for_longer_than_a_minute_is_named(
    project: Project, seconds: int, is_ready: bool
) -> None:
    created = clock.now() - timedelta(seconds=seconds)
    Signal.objects.create(created=created, group_id=project.id, kind="EVENT", payload={})
    status, document = ready()
    assert (status == 200, "evaluation" in document.get("missing", {})) == (is_ready, not is_ready)


@each(("seconds", "is_ready"), [(55, True), (65, False)])
def test_a_message_that_waits_for_a_worker_for_longer_than_a_minute_is_named(
    project: Project, seconds: int, is_ready: bool
) -> None:
    make_notification(project, due=clock.now() - timedelta(seconds=seconds))
    status, document = ready()
    assert (status == 200, "delivery" in document.get("missing", {})) == (is_ready, not is_ready)


def test_a_message_that_waits_for_its_failing_destination_is_not_late(project: Project) -> None:
    place = make_destination(project)
    make_notification(project, due=clock.now() - timedelta(hours=1), destination=place.id)
    assert ready() == (200, {"ok": True})


@pytest.fixture
def over_share(project: Project) -> Project:
    """A project that exceeded its share of the workers' time nine minutes ago."""
    minute = minute_of(clock.now()) - 9
    ProjectUsage.objects.create(group=project, minute=minute, seconds=21, seconds_before=0, exceeded=minute)
    return project


def _wait_in(project: Project) -> None:
    """A signal, a message without and a message with a destination of the project are two minutes late."""
    late = clock.now() - timedelta(minutes=2)
    Signal.objects.create(created=late, group_id=project.id, kind="EVENT", payload={})
    make_notification(project, due=late)
    place = make_destination(project, failures=0, answered=late)
    make_notification(project, due=late, destination=place.id)


def test_a_project_over_its_share_waits_and_is_a_note(over_share: Project) -> None:
    _wait_in(over_share)
    status, document = ready()
    assert (status, list(document)) == (200, ["ok", "notes"])
    assert {name: words.split()[0] for name, words in document["notes"].items()} == {
        "evaluation": "1",
        "delivery": "1",
    }


def test_a_project_within_its_share_is_missing(over_share: Project) -> None:
    _wait_in(over_share)
    _wait_in(ProjectFactory.create())
    status, document = ready()
    assert (status, set(document["missing"])) == (503, {"evaluation", "delivery"})
    assert set(document["notes"]) == {"evaluation", "delivery"}


def test_a_project_that_waits_is_missing_ten_minutes_after_its_excess(over_share: Project) -> None:
    ProjectUsage.objects.update(exceeded=F("exceeded") - 1)
    _wait_in(over_share)
    assert set(ready()[1]["missing"]) == {"evaluation", "delivery"}


@each(("seconds", "is_ready"), [(25, True), (35, False)])
def test_a_loop_of_a_worker_that_fails_for_long_is_named(seconds: int, is_ready: bool) -> None:
    since = clock.now() - timedelta(seconds=seconds)
    worker_seen(name="host:2", now=clock.now(), failing=("evaluate", since))
    status, document = ready()
    assert (status == 200, "loops" in document.get("missing", {})) == (is_ready, not is_ready)
    worker_seen(name="host:2", now=clock.now())
    assert ready() == (200, {"ok": True})


@each(("seconds", "is_ready"), [(30, True), (-30, True), (31, False), (-31, False)])
def test_a_worker_with_a_wrong_clock_is_named(seconds: int, is_ready: bool) -> None:
    worker_seen(name="host:1", now=clock.now(), clock_ahead=timedelta(seconds=seconds))
    status, document = ready()
    assert (status == 200, "clock" in document.get("missing", {})) == (is_ready, not is_ready)


def test_a_wrong_clock_of_this_machine_is_named() -> None:
    clock.follow(database_time() - timedelta(hours=1), clock.steady())
    worker_seen(name="host:1", now=clock.now())
    status, document = ready()
    assert (status, list(document["missing"])) == (503, ["clock"])


@each(
    ("changes", "is_ready"),
    [
        ({}, False),
        ({"failing_since": 20}, True),
        ({"tried": 700}, True),
        ({"failing_since": None}, True),
        ({"last_error": "the receiver answered 500"}, True),
        ({"last_error": "the outgoing proxy refused the connection (403)"}, True),
        ({"last_error": "the receiver cannot be reached through the outgoing proxy"}, True),
        (
            {"last_error": "the certificate of the outgoing proxy could not be verified: proxy.example"},
            False,
        ),
        ({"last_error": "the outgoing proxy refused the log-in of the platform (407)"}, False),
        # A receiver without TLS can answer this itself.
        (
            {
                "last_error": "the outgoing proxy refused the log-in of the platform (407)",
                "host": "http://hook.example:80",
            },
            True,
        ),
    ],
)
def test_an_outgoing_proxy_that_fails_is_named_without_its_address(
    settings: Settings, changes: dict[str, Any], is_ready: bool
) -> None:
    settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "proxy.example", 3128)
    state = {
        "failing_since": 40,
        "tried": 5,
        "last_error": "the outgoing proxy could not be reached",
        "host": "https://hook.example:443",
        **changes,
    }
    moments = {
        name: clock.now() - timedelta(seconds=seconds)
        for name, seconds in state.items()
        if isinstance(seconds, int)
    }
    make_destination(ProjectFactory.create(), **{**state, "failures": 1, **moments})
    status, document = ready()
    assert (status == 200, "outgoingProxy" in document.get("missing", {})) == (is_ready, not is_ready)
    assert "proxy.example" not in repr(document)
    settings.OPSAPI_OUTBOUND_PROXY = None
    assert ready() == (200, {"ok": True})
