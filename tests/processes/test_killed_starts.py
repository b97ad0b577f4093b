"""Starts and upgrades killed at random moments, whole or in part: they are finished without hands."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random

import psycopg
import pytest

from opsapi.embedded.layout import Layout
from tests.eventually import SHORTEST_PAUSE, eventually, is_running
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import run_sql
from tests.processes.platform import READY, ROOT, RunningPlatform, descendants
from tests.shared import run_directory

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not LONG, reason="takes minutes: make faults"),
]

SERVER = Layout(run_directory())
ROUNDS = 8
"""Each is a seed."""
KILLS = 4
"""So often each installation is killed."""
at_the_moment = partial(eventually, longest_pause=SHORTEST_PAUSE)
"""Waits for a state that soon passes."""
_RECORDED = "SELECT count(*) FROM django_migrations"
_EVENTS = """
    INSERT INTO events_event
    SELECT made.*
    FROM events_event AS event, generate_series(1, 2000) AS n,
        LATERAL jsonb_populate_record(event, jsonb_build_object('id', substr(md5(n::text), 1, 24))) AS made
    WHERE event.id = (SELECT min(id) FROM events_event)
"""


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_first_start_killed_at_random_moments_is_finished_by_the_next(
    platform: RunningPlatform, seed: int
) -> None:
    random = Random(seed)
    for _ in range(KILLS):
        reached = _moment(random, lambda: _recorded(Layout(platform.data_dir), "opsapi"), 60)
        platform.launch()
        at_the_moment(lambda reached=reached: reached() or READY in platform.output)  # type: ignore[misc]  # a default binds the loop's value
        _kill_all(platform)
    platform.start()
    assert platform.manage("migrate", "--check").returncode == 0
    assert "Traceback" not in platform.log


@pytest.fixture
def older(platform: RunningPlatform) -> Iterator[tuple[str, int]]:
    """A database of the test run's own server, with rows and without the newest migrations.

    Its name, and how many migrations there are in all.
    """
    name = f"older_{platform.port}"
    run_sql(SERVER, f"CREATE DATABASE {name}")
    platform.environment["DATABASE_URL"] = f"postgresql://opsapi@/{SERVER.socket_dir}/{name}"
    for arguments in (("prepare",), ("bootstrap", "ada")):
        assert platform.manage(*arguments).returncode == 0
    with _connect(name) as connection:
        connection.execute(_EVENTS)
    migrations = _recorded(SERVER, name)
    done = platform.manage("migrate", "alerting", "zero")
    assert done.returncode == 0, done.stderr
    assert _recorded(SERVER, name) < migrations
    yield name, migrations
    run_sql(SERVER, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_an_upgrade_killed_at_random_moments_is_finished_by_the_next_and_keeps_the_rows(
    platform: RunningPlatform, older: tuple[str, int], seed: int
) -> None:
    random = Random(seed)
    database, migrations = older
    before = _rows(database)
    for _ in range(KILLS):
        reached = _moment(random, lambda: _recorded(SERVER, database), migrations)
        command = [sys.executable, str(ROOT / "manage.py"), "prepare"]
        with subprocess.Popen(command, env=platform.environment, stderr=subprocess.DEVNULL) as upgrade:
            at_the_moment(lambda reached=reached, upgrade=upgrade: reached() or upgrade.poll() is not None)  # type: ignore[misc]  # as above
            upgrade.kill()
    done = platform.manage("prepare")
    assert done.returncode == 0, done.stderr
    assert _recorded(SERVER, database) == migrations
    assert _rows(database) == before


def _moment(random: Random, recorded: Callable[[], int], all_of_them: int) -> Callable[[], bool]:
    """Whether some more migrations than now are there: moments are of the work, not of the clock."""
    wanted = random.randint(min(recorded(), all_of_them), all_of_them)
    return lambda: recorded() >= wanted


def _recorded(layout: Layout, database: str) -> int:
    with suppress(psycopg.Error), _connect(database, layout) as connection:
        row = connection.execute(_RECORDED).fetchone()
        return row[0] if row else 0
    return 0


def _rows(database: str) -> object:
    with _connect(database) as connection:
        return connection.execute(
            "SELECT (SELECT count(*) FROM events_event), (SELECT count(*) FROM accesslist_user),"
            " (SELECT count(*) FROM accesslist_apikey)"
        ).fetchone()


def _connect(database: str, layout: Layout = SERVER) -> "psycopg.Connection[tuple[int, ...]]":
    return psycopg.connect(host=str(layout.socket_dir), dbname=database, user="opsapi", autocommit=True)


def _kill_all(platform: RunningPlatform) -> None:
    processes = [platform.pid, *descendants(platform.pid)]
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    platform.kill()
    eventually(lambda: not any(map(is_running, processes)), message="all processes end")
