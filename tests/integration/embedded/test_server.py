"""What the embedded server is once it runs, and wherever its directory is."""

import logging
import threading
from pathlib import Path

import psycopg
import pytest

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded import server as server_module
from opsapi.embedded.cluster import MAJOR, find_binaries
from opsapi.embedded.layout import LONGEST_SOCKET_PATH, Layout
from opsapi.embedded.server import CONNECTION_ENDED, Server
from opsapi.embedded.upgrade import upgrade
from tests.each import each
from tests.integration.embedded.conftest import MakeServer
from tests.integration.embedded.sql import ask, connect, run_sql


def _start(server: Server) -> None:
    server.start()
    server.wait_ready()


LONG = "/".join(["a-directory-name-of-thirty-chars"] * 4)


def test_it_runs_in_a_directory_of_any_name(parent: Path, make_server: MakeServer) -> None:
    server = make_server(parent / "a space, 'quotes\" and a \\, and ümlaut")
    _start(server)
    assert ask(server.layout, "SELECT current_user || '@' || current_database()") == "opsapi@opsapi"


def test_a_long_path_gets_a_short_socket_that_only_its_owner_may_enter(
    parent: Path, make_server: MakeServer
) -> None:
    server = make_server(parent / LONG)
    _start(server)
    assert ask(server.layout, "SELECT 1") == 1
    assert server.layout.socket_dir != server.layout.home
    assert len(str(server.layout.socket_dir)) < LONGEST_SOCKET_PATH
    assert server.layout.socket_dir.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("SELECT rolsuper FROM pg_roles WHERE rolname = current_user", False),
        ("SELECT rolcreatedb FROM pg_roles WHERE rolname = current_user", True),
        ("SELECT datdba::regrole::text FROM pg_database WHERE datname = current_database()", "opsapi"),
        ("SELECT current_setting('listen_addresses')", ""),
        ("SELECT current_setting('data_checksums')", "on"),
        ("SELECT current_setting('server_encoding')", "UTF8"),
        ("SELECT current_setting('TimeZone')", "UTC"),
        ("SELECT lower('ÄÉ')", "äé"),
        ("SELECT 'Z' < 'a'", True),
        ("SELECT count(*) FROM pg_hba_file_rules WHERE auth_method <> 'peer'", 0),
    ],
)
def test_it_is_configured(shared_server: Layout, question: str, answer: object) -> None:
    with connect(shared_server, role="postgres") as connection:
        connection.execute("SET SESSION AUTHORIZATION opsapi" if "pg_hba" not in question else "SELECT 1")
        row = connection.execute(question).fetchone()
    assert row == (answer,)


def test_only_its_owner_may_enter_its_directories(shared_server: Layout) -> None:
    assert [path.stat().st_mode & 0o777 for path in (shared_server.home, shared_server.cluster)] == [
        0o700,
        0o700,
    ]


def test_it_keeps_its_data_over_a_restart(server: Server) -> None:
    for _ in range(2):
        server.start()
        server.wait_ready()
        run_sql(server.layout, "CREATE TABLE IF NOT EXISTS kept (at timestamptz DEFAULT now())")
        run_sql(server.layout, "INSERT INTO kept DEFAULT VALUES")
        server.stop()
    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT count(*) FROM kept") == 2


def test_its_last_words_are_passed_on_before_it_counts_as_stopped(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _start(server)
    stopped = threading.Event()

    def hold_up(record: logging.LogRecord) -> bool:
        if "is shut down" in record.getMessage():
            stopped.wait(0.3)
        return True

    postgres_log = logging.getLogger("postgres")
    monkeypatch.setattr(postgres_log, "propagate", True)
    monkeypatch.setattr(postgres_log, "filters", [hold_up])
    with caplog.at_level(logging.INFO, logger="postgres"):
        server.stop()
        passed_on = list(caplog.messages)
    stopped.set()
    assert "database system is shut down" in passed_on


def test_connections_that_a_shutdown_ends_are_no_errors(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("postgres"), "propagate", True)
    _start(server)
    with connect(server.layout), caplog.at_level(logging.INFO, logger="postgres"):
        server.stop()
    levels = {record.levelname for record in caplog.records if record.getMessage() == CONNECTION_ENDED}
    assert levels == {"INFO"}


def test_an_interrupted_first_start_is_repeated(server: Server) -> None:
    half = server.layout.home / "data.new"
    server.layout.cluster.rename(half)
    (half / "global" / "pg_control").unlink()
    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT 1") == 1
    assert not half.exists()


def test_files_of_another_major_version_are_refused_before_anything_starts(server: Server) -> None:
    (server.layout.cluster / "PG_VERSION").write_text("11\n")
    with pytest.raises(EmbeddedDatabaseError, match="PostgreSQL 11"):
        server.check()


def test_files_of_a_newer_major_version_are_not_sent_to_the_upgrade(server: Server) -> None:
    (server.layout.cluster / "PG_VERSION").write_text("99\n")
    with pytest.raises(EmbeddedDatabaseError, match=r"install a version of Ops API with PostgreSQL 99"):
        server.check()
    with pytest.raises(EmbeddedDatabaseError, match=r"install a version of Ops API with PostgreSQL 99"):
        upgrade(server.layout, durable=False)


def test_programs_in_another_directory_are_used(server: Server, parent: Path) -> None:
    """OPSAPI_POSTGRESQL_BIN: for example the programs of a Debian package."""
    programs = parent / "programs"
    programs.symlink_to(find_binaries())
    assert find_binaries(str(programs)) == find_binaries()
    other = Server(server.layout, durable=False, binaries=find_binaries(str(programs)))
    _start(other)
    assert ask(other.layout, "SELECT current_setting('server_version_num')::int / 10000") == MAJOR
    other.stop()


@each("version", [15, 180])
def test_programs_of_another_major_version_are_refused(parent: Path, version: int) -> None:
    programs = parent / f"of_{version}"
    programs.mkdir()
    for name in ("initdb", "postgres", "pg_dump", "pg_restore", "vacuumdb"):
        (programs / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}.1 (Debian)'\n")
        (programs / name).chmod(0o755)
    with pytest.raises(EmbeddedDatabaseError, match=f"OPSAPI_POSTGRESQL_BIN: .*PostgreSQL {version}"):
        find_binaries(str(programs))
    (programs / "pg_restore").unlink()
    with pytest.raises(EmbeddedDatabaseError, match=r"OPSAPI_POSTGRESQL_BIN: .*pg_restore does not exist"):
        find_binaries(str(programs))


def test_a_failed_start_reports_the_reason(server: Server) -> None:
    (server.layout.cluster / "global" / "pg_control").unlink()
    with pytest.raises(EmbeddedDatabaseError, match=r"stopped while starting: .*pg_control.*No such file"):
        _start(server)


def test_it_logs_that_it_is_recovering(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SAY_EVERY", 0.0)
    monkeypatch.setattr(server_module.log, "propagate", True)
    with caplog.at_level(logging.INFO, logger="opsapi.embedded"):
        server.start()
        server.wait_ready()
    assert any("recovering or starting for" in message for message in caplog.messages)


def test_waiting_for_it_can_be_given_up(server: Server) -> None:
    server.start()
    server.wait_ready(give_up=lambda: True)
    assert server.poll() is None


def test_the_log_contains_no_values_of_failed_statements(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("postgres"), "propagate", True)
    with caplog.at_level(logging.DEBUG, logger="postgres"):
        server.start()
        server.wait_ready()
        run_sql(server.layout, "CREATE TABLE secrets (value text PRIMARY KEY)")
        run_sql(server.layout, "INSERT INTO secrets VALUES ('hunter2')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            run_sql(server.layout, "INSERT INTO secrets VALUES ('hunter2')")
        server.stop()
    assert "duplicate key" in caplog.text
    assert "hunter2" not in caplog.text
