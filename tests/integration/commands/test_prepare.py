"""`manage.py prepare` when its database fails under it."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import Tags, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, ProgrammingError, connection
from psycopg import errors
from pytest_django import Settings

from opsapi.management.commands import prepare
from opsapi.management.database_error import line_of
from opsapi.postgresql import releases
from opsapi.setup_link import setup_link
from tests.each import each
from tests.factories.accesslist import UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


class FailingOnce:
    """Fails the first statement about migrations, as an execute wrapper of Django's."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        """One statement."""
        if "django_migrations" in sql and not self.failed:
            self.failed = True
            raise OperationalError(
                "could not extend file\nHINT:  Check free disk space."
            ) from errors.DiskFull()
        return execute(sql, *arguments)


def test_it_begins_again_when_it_is_to_keep_trying(caplog: pytest.LogCaptureFixture) -> None:
    failing = FailingOnce()
    with connection.execute_wrapper(failing), caplog.at_level(logging.ERROR, logger="opsapi.prepare"):
        call_command("prepare", "--keep-trying")
    assert failing.failed
    line = "the database's disk is full (could not extend file), trying again in 0 s"
    assert caplog.messages == [line]


@each("failures", [1, prepare.TRIES, prepare.TRIES + 1])
def test_a_migration_that_gives_way_to_an_earlier_version_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    tried = []

    def migrate() -> None:
        tried.append(1)
        if len(tried) <= failures:
            raise OperationalError("deadlock detected") from errors.DeadlockDetected()

    monkeypatch.setattr(prepare, "_migrate", migrate)
    monkeypatch.setattr(prepare, "restart_delay", lambda _: 0.0)
    if failures > prepare.TRIES:
        with pytest.raises(OperationalError):
            call_command("prepare")
    else:
        call_command("prepare")
    assert len(tried) == min(failures, prepare.TRIES) + 1


def test_it_begins_again_after_a_deferred_statement_of_a_migration_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = "DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
    deferred = iter([[full]])

    def migrate() -> None:
        with connection.schema_editor() as editor:
            editor.deferred_sql += next(deferred, ["SELECT 1"])

    monkeypatch.setattr(prepare, "_migrate", migrate)
    with caplog.at_level(logging.ERROR, logger="opsapi.prepare"):
        call_command("prepare", "--keep-trying")
    said = [each.getMessage() for each in caplog.records if each.name == "opsapi.prepare"]
    assert said == ["the database's disk is full (could not extend file), trying again in 0 s"]
    assert not connection.in_atomic_block


@pytest.mark.parametrize(("version", "warned"), [(180006, True), (180007, False)])
def test_a_server_without_the_newest_fixes_is_a_warning(
    version: int, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (prepare, releases):
        monkeypatch.setattr(module, "server_version", lambda: version)
    with caplog.at_level(logging.WARNING, logger="opsapi.prepare"):
        call_command("prepare")
    assert ("18.6" in caplog.text) is warned
    found = run_checks(tags=[Tags.database], databases=["default"])
    assert ("opsapi.W003" in {problem.id for problem in found}) is warned


@pytest.mark.parametrize(("workers", "warned"), [(2, False), (64, True)])
def test_more_connections_than_postgresql_accepts_are_a_warning(
    workers: int, warned: bool, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.OPSAPI_WORKERS = workers
    with caplog.at_level(logging.WARNING, logger="opsapi.prepare"):
        call_command("prepare")
    assert ("max_connections" in caplog.text) is warned


@pytest.mark.parametrize(("pooler", "warned"), [("none", True), ("transaction", False)])
def test_the_limit_of_the_database_counts_as_well(
    pooler: str, warned: bool, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.OPSAPI_WORKERS, settings.OPSAPI_DB_POOLER = 2, pooler
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 23")
    try:
        with caplog.at_level(logging.WARNING, logger="opsapi.prepare"):
            call_command("prepare")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")
    assert ("PostgreSQL accepts 23:" in caplog.text) is warned


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ("FATAL:  sorry, too many clients already", "the database has too many connections: FATAL"),
        ("FATAL:  the database system is starting up", "the database is starting or stopping: FATAL"),
        ("Connection refused", "the database cannot be reached: Connection refused"),
    ],
)
def test_it_says_why_the_database_accepts_no_connection(
    refusal: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError(refusal)

    monkeypatch.setattr(prepare, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(connection, "ensure_connection", refuse)
    with pytest.raises(CommandError, match=words):
        call_command("prepare")


@pytest.mark.parametrize(
    ("error", "reason", "ends"),
    [
        (CommandError("a key is missing"), "a key is missing", SystemExit),
        (ImproperlyConfigured("X: is wrong"), "X: is wrong", SystemExit),
        (ProgrammingError("no such table\nLINE 1"), "the database cannot be used: no such table", SystemExit),
        (ValueError("boom"), "the preparation of the database failed: ValueError: boom", ValueError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_serve_gets_the_reason_of_a_failure_on_stdout(
    error: Exception,
    reason: str,
    ends: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that `serve` can print it after PostgreSQL has shut down. Only an unexpected error has a trace."""

    def fail() -> None:
        raise error

    monkeypatch.setattr(prepare, "older_build", fail)
    with pytest.raises(ends):
        call_command("prepare", "--keep-trying")
    assert capsys.readouterr().out == f"{reason}\n"
    with pytest.raises(type(error)):
        call_command("prepare")


def test_it_ends_with_one_line_otherwise() -> None:
    with connection.execute_wrapper(FailingOnce()), pytest.raises(OperationalError) as caught:
        call_command("prepare")
    assert line_of(caught.value) == "the database's disk is full; try again later: could not extend file"


def test_it_prints_the_link_to_the_set_up_until_there_is_a_user(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("prepare")
    assert f" {setup_link()}\n" in capsys.readouterr().out
    UserFactory.create()
    call_command("prepare")
    assert capsys.readouterr().out == ""
