"""Moves that end early, and texts without secrets. Real servers make the moves in tests/processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from automation.agent.automation.builds import Builds, DocumentBuilds, this_kind
from automation.agent.automation.failures import MoveFailed, TurnLost
from automation.agent.automation.moves import Mover
from automation.agent.automation.observe import SeenProcess
from automation.agent.automation.part import read_part
from automation.agent.automation.places import ProcessPlaces
from automation.agent.automation.processes import is_server, running_pid, without_secrets
from automation.agent.automation.servers import ManagedServers
from automation.plan.values import Move, MoveKind, ObservedProcess
from tests.factories.documents import document, process

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
RUNS = ObservedProcess(is_running=True, version="6.0.5")


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is no server."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


def mover(directory: Path, seen: SeenProcess, *, is_lost: bool = False) -> Mover:
    """The moves of a process below the directory."""
    settings = {"net": {"port": 1}, "storage": {"dbPath": str(directory / "data")}}
    sent = document(
        options={"downloadBase": str(directory)},
        processes=[process(hostname="127.0.0.1", args2_6=settings)],
    )
    (managed,) = read_part(sent, "127.0.0.1", [directory]).processes.values()

    def keep(_: str) -> None:
        if is_lost:
            raise TurnLost("another agent has it")

    return Mover(
        managed,
        ManagedServers(()).server(managed.address),
        ProcessPlaces(directory, "db_1"),
        DocumentBuilds(Builds(directory, [directory]), {}, this_kind()),
        see=lambda: seen,
        keep=keep,
        now=NOON,
    )


def test_a_server_is_not_stopped_after_the_turn_is_lost(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(TurnLost):
        mover(tmp_path, SeenProcess(RUNS, other.pid), is_lost=True).carry_out(Move(MoveKind.STOP, "db_1"))
    assert other.poll() is None


def test_a_server_is_not_stopped_if_the_program_for_its_start_is_missing(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(MoveFailed, match=r"6\.0\.5 is not on the machine"):
        mover(tmp_path, SeenProcess(RUNS, other.pid)).carry_out(Move(MoveKind.RESTART, "db_1"))
    assert other.poll() is None


def test_a_server_whose_process_is_not_found_is_not_stopped(tmp_path: Path) -> None:
    with pytest.raises(MoveFailed, match=r"mongod\.lock"):
        mover(tmp_path, SeenProcess(RUNS)).carry_out(Move(MoveKind.STOP, "db_1"))


def test_a_build_that_cannot_be_downloaded_fails_its_move(tmp_path: Path) -> None:
    with pytest.raises(MoveFailed, match=r"version 6\.0\.5 has no build"):
        mover(tmp_path, SeenProcess(RUNS)).carry_out(Move(MoveKind.DOWNLOAD, "db_1", version="6.0.5"))


def test_another_process_with_the_number_of_a_server_is_no_server(
    tmp_path: Path, other: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "mongod.lock").write_text(f"{other.pid}\n")
    assert not is_server(other.pid)
    assert not is_server(os.getpid())
    assert running_pid(tmp_path) is None


def test_it_shows_no_secret_of_the_configuration() -> None:
    settings = {"net": {"tls": {"certificateKeyFilePassword": "hidden-word"}}, "setParameter": {"a": "b"}}
    text = 'password hidden-word\nmongodb://user:hidden@db1/\n{"s":"I","msg":"fine"}\n'
    cleaned = without_secrets(text, settings)
    assert "hidden" not in cleaned
    assert "fine" in cleaned


def test_errors_of_a_log_come_before_everything_else() -> None:
    lines = ['{"s":"E","msg":"the cause"}', *('{"s":"I","msg":"later"}' for _ in range(50))]
    assert without_secrets("\n".join(lines), {}) == lines[0]
