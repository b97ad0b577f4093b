"""The disk of the data directory fills up: what answers meanwhile, and what comes back with the space."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest

from opsapi.embedded.layout import Layout
from tests.eventually import eventually, is_running
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import connect
from tests.processes.disk import Disk, disk_of
from tests.processes.platform import RunningPlatform

pytestmark = pytest.mark.processes

ROUNDS = 3 if LONG else 1
"""How many web processes are replaced on the full disk, and how often PostgreSQL is started in vain."""


@pytest.fixture
def disk(platform: RunningPlatform) -> Iterator[Disk]:
    """That of the data directory."""
    with disk_of(platform) as made:
        yield made


def missing(platform: RunningPlatform) -> object:
    """What readiness says is missing of the database."""
    return platform.get("/health/ready").json().get("missing", {}).get("database")


def is_ready(platform: RunningPlatform) -> bool:
    """Whether a report can be stored."""
    return platform.get("/health/ready").status_code == 200


def test_a_full_disk_is_named_kills_no_web_process_and_all_comes_back_with_the_space(
    platform: RunningPlatform, disk: Disk
) -> None:
    platform.start()
    eventually(lambda: is_ready(platform))
    disk.fill()
    eventually(lambda: missing(platform) == "disk full", message="readiness names the full disk")

    for _ in range(ROUNDS):  # what replaces it begins files of its own
        _replace_web_process(platform, disk)
    web = platform.child("gunicorn worker")
    for number in range(30):
        assert platform.get(f"/nowhere/{number}").status_code == 404
        assert platform.get("/metrics").status_code == 200
    assert platform.child("gunicorn worker") == web

    try:
        eventually(lambda: _ended(platform, disk) > ROUNDS, message="PostgreSQL is started again in vain")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{platform.log}") from None
    assert not is_ready(platform)
    disk.free()
    eventually(lambda: is_ready(platform))

    platform.kill()
    disk.fill()
    platform.launch()  # on a full disk
    eventually(lambda: "PostgreSQL" in platform.log or "ready" in platform.log)
    disk.free()
    platform.wait_ready()
    assert "Traceback" not in platform.log


def _replace_web_process(platform: RunningPlatform, disk: Disk) -> None:
    killed = platform.child("gunicorn worker")
    os.kill(killed, signal.SIGKILL)

    def is_replaced() -> bool:
        disk.fill()  # whoever ended may have left space
        return not is_running(killed) and platform.answers()

    eventually(is_replaced, message="another web process answers")


def _ended(platform: RunningPlatform, disk: Disk) -> int:
    """How often PostgreSQL ended, having to lay a new piece of its log on the disk."""
    disk.fill()
    with suppress(psycopg.Error), connect(Layout(platform.data_dir), role="postgres") as connection:
        while True:
            connection.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))")
    return platform.log.count("PostgreSQL stopped")
