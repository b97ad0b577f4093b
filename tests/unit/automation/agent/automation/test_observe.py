"""A process as its own answers show it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from automation.agent.automation.builds import Builds, DocumentBuilds, this_kind
from automation.agent.automation.observe import SeenProcess, observe
from automation.agent.automation.part import read_part
from automation.agent.automation.places import ProcessPlaces, StartRecord
from automation.agent.automation.servers import ManagedServer
from automation.plan.values import MemberState
from tests.factories.documents import document, process

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def pid(tmp_path: Path) -> Iterator[int]:
    """A process with the name of a server, which the lock file of the data names."""
    command = ["mongod", "-c", "input()"]
    with subprocess.Popen(command, executable=sys.executable, stdin=subprocess.PIPE) as running:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "mongod.lock").write_text(f"{running.pid}\n")
        yield running.pid
        running.kill()


def standalone(pid: int) -> Mapping[str, Any]:
    """The answers of a standalone server."""
    return {
        "buildInfo": {"version": "7.0.2"},
        "serverStatus": {"pid": pid, "uptimeMillis": 60_000},
        "getParameter": {"featureCompatibilityVersion": {"version": "7.0"}},
        "getCmdLineOpts": {"parsed": {"config": "/a", "net": {"port": 27017}}},
    }


class _AnsweringServer:
    """A server with these answers by command; without an answer it does not answer."""

    def __init__(self, answers: Mapping[str, Any] | None) -> None:
        self.answers = answers

    def hello(self) -> Mapping[str, Any] | None:
        return None if self.answers is None else {"isWritablePrimary": True}

    def answer(self, command: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, int]:
        return (self.answers or {}).get(next(iter(command))), 0


def seen(directory: Path, answers: Mapping[str, Any] | None) -> SeenProcess:
    """The process below the directory, at a server with these answers."""
    settings = {"net": {"port": 27017}, "storage": {"dbPath": str(directory / "data")}}
    sent = document(
        options={"downloadBase": str(directory)},
        processes=[process(hostname="127.0.0.1", args2_6=settings)],
    )
    (managed,) = read_part(sent, "127.0.0.1", [directory]).processes.values()
    return observe(
        managed,
        cast("ManagedServer", _AnsweringServer(answers)),
        ProcessPlaces(directory, "db_1"),
        DocumentBuilds(Builds(directory, [directory]), {}, this_kind()),
        versions=["7.0.2"],
        failure=None,
        now=NOON,
    )


def test_a_server_that_answers_is_seen_as_it_runs(tmp_path: Path, pid: int) -> None:
    found = seen(tmp_path, standalone(pid))
    assert found.pid == pid
    assert found.process.state is MemberState.STANDALONE
    assert (found.process.version, found.process.feature_version) == ("7.0.2", "7.0")
    assert found.process.settings == {"net.port": "27017"}
    assert found.process.started == NOON.replace(hour=11, minute=59)


def test_a_server_at_the_address_with_another_process_is_not_the_one_to_stop(
    tmp_path: Path, pid: int
) -> None:
    assert seen(tmp_path, standalone(pid + 1)).pid is None


def test_a_process_that_does_not_answer_is_not_taken_for_stopped(tmp_path: Path, pid: int) -> None:
    found = seen(tmp_path, None)
    assert (found.process.is_running, found.pid) == (True, pid)
    assert (found.process.state, found.process.settings, found.process.version) == (None, None, None)


def test_a_stopped_process_has_the_version_that_the_agent_started(tmp_path: Path) -> None:
    ProcessPlaces(tmp_path, "db_1").write_record(StartRecord("7.0.2", NOON))
    found = seen(tmp_path, None)
    assert found.process.is_running is False
    assert (found.process.version, found.process.restart) == ("7.0.2", NOON)
    assert found.process.has_data is False


def test_a_server_that_refuses_questions_leaves_facts_unknown(tmp_path: Path) -> None:
    found = seen(tmp_path, {})
    assert found.process.is_running is True
    assert (found.process.settings, found.process.settable, found.process.version) == (None, None, None)
