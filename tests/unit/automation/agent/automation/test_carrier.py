"""Rounds of the automation without a server. Real servers are in tests/processes."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from automation.agent.automation import log_keeper
from automation.agent.automation.builds import DocumentBuilds, this_kind
from automation.agent.automation.carrier import AutomationCarrier
from automation.agent.automation.logs import LogWork
from automation.agent.automation.places import DIRECTORY, ProcessPlaces, only_agent
from automation.agent.automation.process_moves import ProcessMoves
from automation.agent.automation.turns import HeldTurn
from automation.agent.client import Client, PlatformAnswer, Unreachable
from automation.agent.settings import read_settings
from automation.plan.reading import NOT_PLANNED
from automation.plan.values import Move, MoveKind
from tests.each import each
from tests.eventually import eventually
from tests.factories.documents import document, process, rotation

HOST = "127.0.0.1"
NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
UNCHANGED = PlatformAnswer(304, {}, None)
FAILED = PlatformAnswer(201, {"id": "t1", "fence": 1, "state": "FAILED"}, None)
ENVIRONMENT = {
    "OPSAPI_AGENT_URL": "http://127.0.0.1:9",
    "OPSAPI_AGENT_GROUP_ID": "5cfba40d0f2a4d1f8a2b6c3d",
    "OPSAPI_AGENT_PUBLIC_KEY": "abcdefgh",
    "OPSAPI_AGENT_PRIVATE_KEY": "secret",
    "OPSAPI_AGENT_HOSTNAME": HOST,
    "OPSAPI_AGENT_AUTOMATION": "on",
}


class _ReportedPlatform:
    """A platform that gives these answers to the agent, the last for good. It keeps its reports and requests.

    `turns`: its answers to these requests; without any, it is away.
    """

    def __init__(self, *answers: PlatformAnswer | Unreachable) -> None:
        self.answers, self.reports = list(answers), list[Mapping[str, Any]]()
        self.turns, self.requests = list[PlatformAnswer](), list[Mapping[str, Any]]()

    def automation(self, _: str, __: str) -> PlatformAnswer:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Unreachable):
            raise answer
        return answer

    def report(self, body: bytes, _: str) -> PlatformAnswer:
        self.reports.append(json.loads(body))
        return PlatformAnswer(200, {}, None)

    def ask_turn(self, request: Mapping[str, Any]) -> PlatformAnswer:
        self.requests.append(request)
        if not self.turns:
            raise Unreachable("away")
        return self.turns.pop(0)


Made = tuple[_ReportedPlatform, AutomationCarrier]


@pytest.fixture
def rounds(tmp_path: Path) -> Callable[..., Made]:
    """The automation of a machine below the directory, at a platform that gives these answers."""

    def make(*answers: PlatformAnswer | Unreachable, **clocks: Callable[[], Any]) -> Made:
        platform = _ReportedPlatform(*answers)
        settings = read_settings({**ENVIRONMENT, "OPSAPI_AGENT_AUTOMATION_DIRS": str(tmp_path)})
        settings = replace(settings, mongodb=())
        return platform, AutomationCarrier(settings, cast("Client", platform), "1.0", **clocks)

    return make


def build(url: str) -> Mapping[str, Any]:
    """A build of the document for this machine."""
    kind = this_kind()
    return {
        "platform": kind.platform,
        "architecture": kind.architecture,
        "url": url,
        "gitVersion": "a" * 40,
        "modules": [],
        "bits": 64,
    }


def given(
    directory: Path,
    of_process: Mapping[str, Any] | None = None,
    builds: Sequence[Mapping[str, Any]] = (),
    **fields: Any,
) -> PlatformAnswer:
    """An answer with a process, and the builds of its version; `of_process`: more of its fields."""
    settings = {"net": {"port": 1}, "storage": {"dbPath": str(directory / "data")}}
    sent = document(
        options={"downloadBase": str(directory / "base")},
        databaseVersions=[{"name": "7.0.2", "builds": [*builds]}],
        processes=[process(hostname=HOST, args2_6=settings, **(of_process or {}))],
        **fields,
    )
    return PlatformAnswer(200, {"paused": False, "members": [], **sent}, None, etag='"1"')


def only(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The only process of a report."""
    (row,) = report["processes"]
    return cast("Mapping[str, Any]", row)


def test_a_move_that_fails_is_reported_and_stops_the_plan(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    platform, carrier = rounds(given(tmp_path), UNCHANGED)
    carrier.round()
    row = only(platform.reports[-1])
    failed = [move for move in row["plan"]["moves"] if move["state"] == "FAILED"]
    assert [move["move"] for move in failed] == ["DOWNLOAD"]
    assert "version 7.0.2 has no build" in failed[0]["reason"]
    assert "version 7.0.2 has no build" in row["errorString"]
    assert (row["lastGoalVersionAchieved"], row["plan"]["goalVersion"]) == (0, 1)
    carrier.round()
    assert only(platform.reports[-1])["plan"]["waits"][0]["reason"] == "STOPPED"
    assert not (tmp_path / "data").exists()


@each("error", [timedelta(hours=1), -timedelta(hours=1), timedelta(days=365)])
def test_a_wrong_clock_of_the_machine_is_corrected_by_the_platform(
    rounds: Callable[..., Made], tmp_path: Path, error: timedelta
) -> None:
    answers = [replace(answer, date=NOON) for answer in (given(tmp_path), UNCHANGED)]
    platform, carrier = rounds(*answers, clock=lambda: NOON + error)
    carrier.round()
    failed = only(platform.reports[-1])["plan"]["moves"][0]
    assert (failed["started"], failed["finished"]) == ("2099-11-21T12:00:00Z", "2099-11-21T12:00:00Z")


def test_a_download_whose_server_does_not_answer_is_tried_again_and_fails_after_half_an_hour(
    rounds: Callable[..., Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = given(tmp_path, builds=[build("http://127.0.0.1:1/mongodb.tgz")])
    tries = list[str]()
    ensure = DocumentBuilds.ensure

    def counted(builds: DocumentBuilds, version: str) -> Path:
        tries.append(version)
        return ensure(builds, version)

    monkeypatch.setattr(DocumentBuilds, "ensure", counted)
    seconds = [0.0]
    platform, carrier = rounds(answer, *[UNCHANGED] * 4, monotonic=lambda: seconds[0])
    for at, tried in ((0.0, 1), (59.0, 1), (60.0, 2), (1799.0, 3)):
        seconds[0] = at
        carrier.round()
        row = only(platform.reports[-1])
        assert (len(tries), moves_of(platform)) == (tried, [])
        assert [wait["reason"] for wait in row["plan"]["waits"]] == ["TRIES_AGAIN"]
        assert "errorString" not in row
    seconds[0] = 1860.0
    carrier.round()
    row = only(platform.reports[-1])
    assert moves_of(platform) == ["FAILED"]
    assert "30 minutes" in row["errorString"]


def test_another_version_of_the_document_is_tried_at_once(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    answer = given(tmp_path, builds=[build("http://127.0.0.1:1/mongodb.tgz")])
    platform, carrier = rounds(answer, given(tmp_path, version=2))
    carrier.round()
    carrier.round()
    assert moves_of(platform) == ["FAILED"]


def moves_of(platform: _ReportedPlatform) -> list[str]:
    """The state of each move of the newest report that has begun."""
    moves = only(platform.reports[-1])["plan"]["moves"]
    return [move["state"] for move in moves if move["state"] != "PLANNED"]


def test_a_failed_move_without_a_turn_is_said_until_the_platform_knows_it(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    stop = {"process": "db_1", "move": "DOWNLOAD", "reason": "it has no build"}
    platform, carrier = rounds(
        given(tmp_path), UNCHANGED, Unreachable("away"), given(tmp_path, stopped=[stop]), given(tmp_path)
    )
    for _ in range(2):  # The platform answers nothing, then it refuses the request for now.
        carrier.round()
        platform.turns[:] = [PlatformAnswer(503, {}, None)]
    platform.turns[:] = [FAILED]
    carrier.round()  # It knows the failure, and does not say yet which plans are stopped.
    carrier.round()
    assert moves_of(platform) == ["FAILED"]
    first, *others = platform.requests
    assert (first["process"], first["move"], first["step"]) == ("db_1", "DOWNLOAD", "download")
    assert "version 7.0.2 has no build" in first["reason"]
    assert others == [first, first]
    platform.turns[:] = [FAILED]
    carrier.round()  # Somebody has resumed the plan.
    assert moves_of(platform) == ["FAILED", "FAILED"]
    assert platform.requests[-1]["requestId"] != first["requestId"]


def test_a_plan_that_was_resumed_before_the_agent_learned_of_its_stop_goes_on(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    platform, carrier = rounds(given(tmp_path), UNCHANGED)
    platform.turns[:] = [FAILED, FAILED]
    carrier.round()
    carrier.round()
    assert moves_of(platform) == ["FAILED", "FAILED"]


def test_a_move_that_failed_under_an_older_version_stops_nothing(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    platform, carrier = rounds(given(tmp_path), given(tmp_path, version=2))
    carrier.round()
    platform.turns[:] = [PlatformAnswer(409, {}, None)]
    carrier.round()
    assert moves_of(platform) == ["FAILED"]
    assert platform.requests[-1]["goalVersion"] == 2


def test_a_paused_plan_makes_no_move(rounds: Callable[..., Made], tmp_path: Path) -> None:
    answer = given(tmp_path)
    platform, carrier = rounds(replace(answer, document={**answer.document, "paused": True}))
    carrier.round()
    row = only(platform.reports[-1])
    assert row["plan"]["waits"][0]["reason"] == "PAUSED"
    assert row["lastGoalVersionAchieved"] == 0
    assert all(move["state"] == "PLANNED" for move in row["plan"]["moves"])


def test_a_version_of_agents_that_the_platform_does_not_hand_out_is_named(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    answer = given(tmp_path, agentVersion={"name": "1"})
    platform, carrier = rounds(replace(answer, document={**answer.document, "paused": True}))
    carrier.round()
    assert "agentVersion.name is 1" in only(platform.reports[-1])["errorString"]


def test_fields_that_the_plan_does_not_carry_out_are_answered_in_the_error(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    answer = given(tmp_path, {"backupRestoreUrl": "https://restore.example.com/1?key=x", "numCores": 4})
    platform, carrier = rounds(replace(answer, document={**answer.document, "paused": True}))
    carrier.round()
    error = only(platform.reports[-1])["errorString"]
    assert "backupRestoreUrl: restores are not carried out" in error
    assert f"numCores: {NOT_PLANNED['numCores']}" in error
    assert "restore.example.com" not in error


def test_the_last_configuration_stays_while_the_platform_is_away(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    platform, carrier = rounds(given(tmp_path), Unreachable("away"))
    carrier.round()
    before = len(platform.reports)
    carrier.round()
    assert only(platform.reports[-1])["name"] == "db_1"
    assert len(platform.reports) > before


def test_nothing_happens_before_the_platform_has_answered(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    platform, carrier = rounds(Unreachable("away"))
    carrier.round()
    assert platform.reports == []
    assert list(tmp_path.iterdir()) == []


def test_a_second_agent_on_the_machine_neither_moves_nor_reports(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    platform, carrier = rounds(given(tmp_path), UNCHANGED)
    (tmp_path / "base").mkdir()
    with only_agent(tmp_path / "base") as is_alone:
        assert is_alone
        carrier.round()
    assert platform.reports == []
    carrier.round()
    assert platform.reports


def test_a_download_directory_that_cannot_be_used_is_reported(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    (tmp_path / "base").write_text("a file")
    platform, carrier = rounds(given(tmp_path))
    carrier.round()
    assert f"{tmp_path / 'base'}" in only(platform.reports[-1])["errorString"]
    assert not (tmp_path / DIRECTORY).exists()


def write_logs(directory: Path, log: Path) -> Path:
    """Write a rotated log, and the configuration file with which its server would start."""
    rotated = log.with_name(f"{log.name}.2026-11-29T12-53-29")
    rotated.write_text("...")
    settings = {"systemLog": {"destination": "file", "path": str(log)}}
    ProcessPlaces(directory / "base", "db_1").write_config(settings, "7.0.2")
    return rotated


def test_logs_are_deleted_as_the_document_says_although_the_plan_has_stopped(
    rounds: Callable[..., Made], tmp_path: Path
) -> None:
    rotated = write_logs(tmp_path, tmp_path / "mongod.log")
    _, without = rounds(given(tmp_path))
    platform, carrier = rounds(given(tmp_path, {"logRotate": rotation(numTotal=1)}))
    without.round()
    assert rotated.exists()
    carrier.round()
    eventually(lambda: not rotated.exists(), message="the log is deleted")
    carrier.round()
    assert "logRotate" not in only(platform.reports[-1])["errorString"]


def test_an_error_in_the_work_on_logs_is_reported_and_does_not_end_the_round(
    rounds: Callable[..., Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> LogWork:
        raise TypeError("a bug")

    monkeypatch.setattr(log_keeper, "tend_process", fail)
    platform, carrier = rounds(given(tmp_path, {"logRotate": rotation(numTotal=1)}))

    def is_reported() -> bool:
        carrier.round()
        return "an error of the agent: TypeError" in only(platform.reports[-1])["errorString"]

    eventually(is_reported, message="the error is reported")


def test_moves_do_not_wait_for_logs_that_are_compressed_for_long(
    rounds: Callable[..., Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, begun, work = threading.Event(), list[object](), LogWork(problems=["the disk is full"])

    def tend(*_: object) -> LogWork:
        begun.append(None)
        assert may_end.wait(60)
        return work

    monkeypatch.setattr(log_keeper, "tend_process", tend)
    platform, carrier = rounds(given(tmp_path, {"logRotate": rotation(numTotal=1)}))
    for _ in range(3):
        carrier.round()
    assert len(begun) == 1
    may_end.set()

    def is_noted() -> bool:
        carrier.round()
        return "the disk is full" in only(platform.reports[-1])["errorString"]

    eventually(is_noted, message="the problem is reported")


def test_a_paused_plan_deletes_no_log(rounds: Callable[..., Made], tmp_path: Path) -> None:
    rotated = write_logs(tmp_path, tmp_path / "mongod.log")
    answer = given(tmp_path, {"logRotate": rotation(numTotal=1)})
    _, carrier = rounds(replace(answer, document={**answer.document, "paused": True}))
    carrier.round()
    assert rotated.exists()


def test_why_a_log_is_left_alone_is_reported(
    rounds: Callable[..., Made], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "mongod.log"
    rotated = write_logs(tmp_path, outside)
    platform, carrier = rounds(given(tmp_path, {"logRotate": rotation(numTotal=1)}))

    def is_reported() -> bool:
        carrier.round()
        return "logRotate: server log" in only(platform.reports[-1])["errorString"]

    eventually(is_reported, message="the problem is reported")
    assert rotated.exists()
    assert "version 7.0.2 has no build" in only(platform.reports[-1])["errorString"]


def test_an_error_of_the_agent_fails_the_move_and_stops_the_plan(
    rounds: Callable[..., Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(_: ProcessMoves, __: str) -> None:
        raise KeyError("a fault of the agent")

    monkeypatch.setattr(ProcessMoves, "download", break_down)
    platform, carrier = rounds(given(tmp_path), UNCHANGED)
    carrier.round()
    row = only(platform.reports[-1])
    assert [move["state"] for move in row["plan"]["moves"] if move["move"] == "DOWNLOAD"] == ["FAILED"]
    assert "KeyError" in row["errorString"]
    carrier.round()
    assert only(platform.reports[-1])["plan"]["waits"][0]["reason"] == "STOPPED"


def test_a_turn_is_renewed_after_the_report_directly_before_the_work(
    rounds: Callable[..., Made], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, carrier = rounds(given(tmp_path), UNCHANGED)
    carrier.round()
    order: list[str] = []
    monkeypatch.setattr(carrier._reports, "send", lambda: order.append("report"))
    monkeypatch.setattr(carrier._turns, "keep", lambda *_: order.append("renewal"))
    carrier._reports.progress["db_1"].begin(Move(MoveKind.STOP, "db_1"), carrier._clock())
    carrier._runner._work("db_1", HeldTurn("t", 1, 0.0)).begin("stop")
    assert order == ["report", "renewal"]
