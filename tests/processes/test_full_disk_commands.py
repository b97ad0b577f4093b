"""Commands and the agent on a full disk: the error is a single line, and a repeat works."""

import json
import logging
from pathlib import Path

import pytest
import requests

from automation.agent.sender import Spool
from opsapi.api.links import PUBLIC
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.conftest import ProcessCaller, make_first_user
from tests.processes.disk import disk_of, small_disk
from tests.processes.platform import RunningPlatform, installation

pytestmark = pytest.mark.processes

LEFT = range(0, 130, 5) if LONG else (0, 30)
"""Megabytes that are free when a restore begins. It needs about 100."""
FULL = ("No space left on device", "disk full", "could not extend", "could not write")
STOPPED = "is not running"


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, ProcessCaller]:
    """A backup of an installation with a user, its encryption key, and the user."""
    directory = tmp_path_factory.mktemp("saved") / "backup"
    with installation() as source:
        source.start()
        user = make_first_user(source)
        done = source.manage("backup", str(directory))
        assert done.returncode == 0, done.stderr
        key = (source.data_dir / "encryption_key").read_text()
        assert source.stop() == 0
    return directory, key, user


@pytest.mark.parametrize("left", LEFT)
def test_a_restore_without_room_is_refused_and_can_be_repeated(
    platform: RunningPlatform, backup: tuple[Path, str, ProcessCaller], left: int
) -> None:
    directory, key, user = backup
    platform.environment["OPSAPI_ENCRYPTION_KEYS"] = key.strip()
    with small_disk(platform.data_dir) as disk:
        disk.fill(leave=left)
        refused = platform.manage("restore", str(directory))
        disk.free()
        if refused.returncode:
            assert_says_full(refused.stderr)
            repeated = platform.manage("restore", str(directory))
            assert repeated.returncode == 0, repeated.stderr
        else:
            assert LONG, "there was room for a restore"
        platform.start()
        assert _status(platform, user) == 200
        assert platform.stop() == 0


def test_a_backup_to_a_full_disk_is_refused_and_can_be_repeated(
    prepared: RunningPlatform, tmp_path: Path
) -> None:
    prepared.start()
    with small_disk(tmp_path / "disk") as disk:
        target = tmp_path / "disk" / "backup"
        disk.fill()
        refused = prepared.manage("backup", str(target))
        assert refused.returncode == 1
        assert_says_full(refused.stderr)
        disk.free()
        assert prepared.manage("backup", str(target)).returncode == 0
    assert prepared.stop() == 0


def test_a_rotation_of_keys_on_a_full_disk_is_refused_and_can_be_repeated(platform: RunningPlatform) -> None:
    with disk_of(platform) as disk:
        platform.start()
        user = make_first_user(platform)
        group = user.post("/groups", {"name": "payments"})["id"]
        for version in range(3):
            _publish(user, group, version)
        old = (platform.data_dir / "encryption_key").read_text().strip()
        platform.environment["OPSAPI_ENCRYPTION_KEYS"] = f"{'n' * 64},{old}"
        disk.fill()
        refused = platform.manage("rotate_encryption")
        assert refused.returncode == 1
        # Without room for its log, the database can have stopped before the command reaches it.
        assert_says_full(refused.stderr, STOPPED)
        disk.free()
        eventually(lambda: platform.answers() and platform.get("/health/ready").status_code == 200)
        repeated = platform.manage("rotate_encryption")
        assert repeated.returncode == 0, repeated.stderr
        assert platform.stop() == 0
        platform.environment["OPSAPI_ENCRYPTION_KEYS"] = "n" * 64
        platform.start()
        assert _status(platform, user) == 200
        assert user.get(f"/groups/{group}/automationConfig")["version"] == 3
        assert platform.stop() == 0


def test_reports_of_the_agent_wait_in_memory_while_its_disk_is_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bodies = [json.dumps({"number": number, "padding": "x" * 10_000}).encode() for number in range(4)]
    with small_disk(tmp_path / "disk") as disk:
        spool = Spool(tmp_path / "disk" / "spool", _clock)
        spool.put(bodies[0])
        disk.fill()
        with caplog.at_level(logging.ERROR, "opsapi"):
            spool.put(bodies[1])
        assert "No space left on device" in caplog.text
        disk.free()
        spool.put(bodies[2])
        assert _read(spool) == bodies[:3]
        spool.put(bodies[3])
        spool.close()
        disk.fill()
        again = Spool(tmp_path / "disk" / "spool", _clock)  # a full disk does not stop its start
        assert _read(again) == bodies[3:]
        again.close()


def assert_says_full(stderr: str, *others: str) -> None:
    """The last line says that the disk is full, or other words. Nothing looks like a fault of the program."""
    assert "Traceback" not in stderr
    assert any(words in stderr.splitlines()[-1] for words in (*FULL, *others)), stderr


def _clock() -> float:
    return 1_700_000_000.0


def _read(spool: Spool) -> list[bytes]:
    """The waiting reports in order; each is removed."""
    found: list[bytes] = []
    while first := spool.first():
        waiting, body = first
        found.append(body)
        spool.remove(waiting)
    return found


def _publish(user: ProcessCaller, group: str, version: int) -> None:
    """A document of 8 MB, whose secrets make all of it encrypted."""
    document = {
        "version": version,
        "options": {"downloadBase": "/var/lib/ops-agent"},
        "databaseVersions": [],
        "processes": [],
        "notes": {"password": [f"{version} {number} {'x' * 80}" for number in range(80_000)]},
    }
    user.put(f"/groups/{group}/automationConfig", document)


def _status(platform: RunningPlatform, user: ProcessCaller) -> int:
    url = f"{platform.base_url}{PUBLIC}/groups"
    auth = requests.auth.HTTPDigestAuth(user.public_key, user.private_key)
    return requests.get(url, auth=auth, timeout=60).status_code
