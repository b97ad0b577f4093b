"""`manage.py prepare` on many machines at once."""

import subprocess
import sys

import psycopg
import pytest

from opsapi.embedded.layout import Layout
from opsapi.management.commands.prepare import MIGRATION_LOCK
from tests.database import copy_migrated
from tests.eventually import eventually
from tests.processes.platform import ROOT, RunningPlatform
from tests.shared import run_directory

pytestmark = pytest.mark.processes

_MACHINES = 2
_UNAPPLIED = "DROP TABLE django_session; DELETE FROM django_migrations WHERE app = 'sessions'"
_APPLIED = "SELECT count(*) FROM django_migrations WHERE app = 'sessions'"
# A pooler may pass the session of another kind of lock on to others.
_WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'advisory' AND query LIKE '%pg_advisory_xact_lock%'
"""


def test_many_machines_may_migrate_at_once(platform: RunningPlatform, django_db_setup: None) -> None:
    name, host = f"shared_{platform.port}", str(Layout(run_directory()).socket_dir)
    copy_migrated(name)
    platform.environment["DATABASE_URL"] = f"postgresql://opsapi@/{host}/{name}"
    command = [sys.executable, str(ROOT / "manage.py"), "prepare"]
    with psycopg.connect(host=host, dbname=name, user="opsapi", autocommit=True) as connection:

        def count(statement: str) -> object:
            row = connection.execute(statement).fetchone()
            return row[0] if row else None

        connection.execute(_UNAPPLIED)
        connection.execute(f"SELECT pg_advisory_lock({MIGRATION_LOCK})")
        machines = [
            subprocess.Popen(command, env=platform.environment, stderr=subprocess.PIPE, text=True)
            for _ in range(_MACHINES)
        ]
        eventually(lambda: count(_WAITING) == _MACHINES, message="all wait for the lock")
        assert count(_APPLIED) == 0
        connection.execute(f"SELECT pg_advisory_unlock({MIGRATION_LOCK})")
        said = [machine.communicate()[1] for machine in machines]
        assert [machine.returncode for machine in machines] == [0] * _MACHINES, said
        assert sum("applying" in stderr for stderr in said) == 1
        assert count(_APPLIED) == 1
