"""`manage.py prepare`: on many machines at once, with a database outside."""

import subprocess
import sys

import pytest

from opsapi.embedded.layout import Layout
from tests.database import copy_migrated
from tests.integration.embedded.sql import ask, run_sql
from tests.processes.platform import ROOT, RunningPlatform
from tests.shared import run_directory

SERVER = Layout(run_directory())

pytestmark = pytest.mark.processes


@pytest.fixture
def outside(platform: RunningPlatform, django_db_setup: None) -> RunningPlatform:
    """An installation on a database of the test run's own server, which a test makes."""
    platform.environment["DATABASE_URL"] = f"postgresql://opsapi@/{SERVER.socket_dir}/{_name(platform)}"
    return platform


def test_many_machines_may_migrate_at_once(outside: RunningPlatform) -> None:
    run_sql(SERVER, f"CREATE DATABASE {_name(outside)}")
    command = [sys.executable, str(ROOT / "manage.py"), "prepare"]
    machines = [
        subprocess.Popen(command, env=outside.environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [machine.communicate()[1] for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0, 0], said
    assert sum("applying" in stderr for stderr in said) == 1
    assert outside.manage("migrate", "--check").returncode == 0


def test_an_outside_database_is_served_without_an_embedded_one(outside: RunningPlatform) -> None:
    copy_migrated(_name(outside))
    outside.start()
    assert outside.get("/health/live").status_code == 200
    assert outside.find_child("postgres") is None
    assert not (outside.data_dir / "postgres").exists()
    assert outside.stop() == 0


def test_the_lock_ends_with_its_transaction(outside: RunningPlatform) -> None:
    copy_migrated(_name(outside))
    assert outside.manage("prepare").returncode == 0
    held = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory'"
    assert ask(SERVER, f"{held} AND datname = '{_name(outside)}'") == 0


def _name(platform: RunningPlatform) -> str:
    return f"outside_{platform.port}"
