"""An upgrade from the released version, while its processes serve: no request fails, and nothing is lost."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from opsapi.api.links import PUBLIC
from opsapi.embedded.cluster import find_binaries
from opsapi.embedded.layout import DATABASE, PORT, ROLE, Layout
from opsapi.embedded.server import Server
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import run_sql
from tests.processes.conftest import make_first_user
from tests.processes.load import OPEN, MixedLoad
from tests.processes.platform import ROOT, RunningPlatform, free_port
from tests.processes.released import CodeVersion, released_code
from tests.processes.scenario import RunningSite
from tests.receivers import HttpReceiver, MailReceiver

pytestmark = pytest.mark.processes

HOSTS, REPORTS = 3, 4
"""So a host is reported twice in each phase, and the messages about the first change arrive in it."""
PAUSE = 1.0
"""Seconds between two reports and between two writes: the processes start while the load goes on."""

_EMPTY = """
    DROP SCHEMA public CASCADE;
    CREATE SCHEMA public;
    ALTER SCHEMA public OWNER TO pg_database_owner;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
    COMMENT ON SCHEMA public IS 'standard public schema';
"""
"""Leaves the database as CREATE DATABASE makes it."""


@pytest.fixture
def mail_server() -> Iterator[MailReceiver]:
    with MailReceiver().running() as made:
        yield made


@pytest.fixture
def database(prepared: RunningPlatform, mail_server: MailReceiver) -> Iterator[RunningPlatform]:
    """The installation: a directory with a server that runs and a migrated database."""
    prepared.environment |= {
        "OPSAPI_OUTBOUND_ALLOW": "127.0.0.0/8",
        "EMAIL_URL": f"smtp://127.0.0.1:{mail_server.port}",
    }
    server = Server(Layout(prepared.data_dir), durable=False)
    server.start()
    try:
        server.wait_ready()
        yield prepared
    finally:
        server.stop()


def test_an_upgrade_from_the_released_version_fails_no_request_and_loses_nothing(
    database: RunningPlatform, mail_server: MailReceiver, tmp_path: Path
) -> None:
    """The upgraded database has the schema of a new one, also if migrations were replaced by others."""
    layout = Layout(database.data_dir)
    new_schema = _schema(layout)
    old = CodeVersion(released_code(tmp_path), database.environment, database.port)
    new = CodeVersion(ROOT, database.environment, free_port())
    changed = _changed_apps(old, new)
    if changed:
        run_sql(layout, _EMPTY)
    old.manage("prepare")
    with HttpReceiver().running() as receiver, ExitStack() as processes:
        old_web = processes.enter_context(old.web())
        with old.worker():
            load = _filled(database, old, mail_server, receiver)
            load_ends = processes.enter_context(load.running())
            load.wait_round(REPORTS)
            new.manage("prepare")
            assert _schema(layout) == new_schema
            load.wait_round(REPORTS)
            processes.enter_context(new.worker())
            load.wait_round(REPORTS)
        processes.enter_context(new.web())
        load.addresses.append(new.address)
        load.wait_round(REPORTS)
        load.addresses.remove(old.address)
        old_web.close()
        load.wait_round(REPORTS)
        load_ends.close()
        load.wait_notified()
        _assert_nothing_failed(load)
    if added := {app: last for app, last in changed.items() if last != max(new.migrations()[app])}:
        _assert_its_migrations_can_be_undone(added, old, new)


def _schema(server: Layout) -> list[str]:
    """The statements that create the tables, without the partitions of days."""
    command = [str(find_binaries() / "pg_dump"), "--schema-only", "--exclude-table=automation_reading_2*"]
    where = ["--host", str(server.socket_dir), "--port", str(PORT), "--username", ROLE, DATABASE]
    done = subprocess.run([*command, *where], capture_output=True, text=True, check=True)
    # Each dump has a random word between these commands.
    lines = [line for line in done.stdout.splitlines() if "restrict " not in line]
    assert sum(line.startswith("CREATE TABLE") for line in lines) > 40
    return lines


def _changed_apps(old: CodeVersion, new: CodeVersion) -> dict[str, str]:
    """Apps with migrations that the released version does not have.

    For each, the migration of the new version that leads to the last one of the released version.
    """
    before, after = old.migrations(), new.migrations()
    return {
        app: _leading_to(max(before.get(app, {"zero": b""})), after[app])
        for app in after
        if after[app] != before.get(app)
    }


def _leading_to(name: str, migrations: dict[str, bytes]) -> str:
    if name == "zero" or name in migrations:
        return name
    [replacement] = [new for new in migrations if new.startswith("0001_squashed_") and new.endswith(name)]
    return replacement


def _filled(
    database: RunningPlatform, old: CodeVersion, mail_server: MailReceiver, receiver: HttpReceiver
) -> MixedLoad:
    """The released version, in `make faults` with demonstration data, and a load on it that has not begun."""
    site = RunningSite(database, mail_server, make_first_user(database))
    if LONG:
        eventually(site.is_idle, message="the worker waits for work")
        old.manage("demo")
    return MixedLoad(site, receiver, hosts=HOSTS, pause=PAUSE)


def _assert_nothing_failed(load: MixedLoad) -> None:
    assert load.failures == []
    tally = load.tally()
    assert (tally.lost, tally.second_ids) == (0, 0)
    alerts = load.ask("GET", f"{PUBLIC}{load.scenario.path}/alerts", auth=load.scenario.owner.auth)
    assert alerts is not None
    assert alerts.json()["totalCount"] == sum(host.due[OPEN] for host in load.hosts)


def _assert_its_migrations_can_be_undone(added: dict[str, str], old: CodeVersion, new: CodeVersion) -> None:
    """App by app, as the guide says; then the released version serves again."""
    for app, last in added.items():
        new.manage("migrate", app, last)
    old.manage("migrate", "--check")
    with old.web():
        assert requests.get(f"{old.address}{PUBLIC}/groups", timeout=60).status_code == 401
