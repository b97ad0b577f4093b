"""Logs of a server: rotated by size and age, compressed, and deleted; other files stay."""

import gzip
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from bson.errors import InvalidBSON
from pymongo.errors import AutoReconnect, OperationFailure

from automation.agent.automation import logs, rotated_logs
from automation.agent.automation.logs import (
    DEFAULTS,
    LogKind,
    LogRules,
    LogSettings,
    LogWork,
    RotateLogs,
    log_settings,
    read_rules,
    tend_logs,
    tend_process,
)
from automation.agent.automation.seen_fleet import SeenProcess
from automation.agent.automation.servers import ManagedServer
from automation.desired_state.document.schema import SCHEMA
from automation.plan.reading import flat_settings
from automation.plan.values import ObservedProcess
from tests.each import each
from tests.hostile.budget import LONG
from tests.killed_lines import kill_at, lines_of

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
NEVER = LogRules(megabytes=0, hours=0, uncompressed=1000, share=0, total=0)
MODULES = [logs, rotated_logs]
STAMPS = [f"2026-11-{day:02}T06-00-00" for day in range(1, 9)]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The directory of the log, which is allowed."""
    place = tmp_path / "log"
    place.mkdir()
    return place


def rules(**values: Any) -> LogRules:
    """Rules that do nothing else than these values say."""
    return LogRules(**{**vars(NEVER), **values})


def first_line(began: datetime) -> bytes:
    """The start of a log, as mongod 4.4 and later write it."""
    return f'{{"t":{{"$date":"{began.isoformat(timespec="milliseconds")}"}},"s":"I","msg":"..."}}\n'.encode()


class StandIn:
    """A server that rotates its logs as mongod does, and records the commands."""

    def __init__(self, *paths: Path, is_reopened: bool = False, error: Exception | None = None) -> None:
        self.commands: list[int | str] = []
        self._paths, self._is_reopened, self._error = paths, is_reopened, error
        for path in paths:
            path.write_bytes(first_line(NOW - timedelta(hours=2)) + bytes(3 << 20))

    @property
    def logs(self) -> list[LogSettings]:
        """Its settings: the first log is the server's, the second the audit log."""
        return [
            LogSettings(kind, path, self._is_reopened)
            for kind, path in zip(LogKind, self._paths, strict=False)
        ]

    def rotate(self, value: int | str) -> None:
        """Carry out the command."""
        self.commands.append(value)
        if self._error is not None:
            raise self._error
        for kind, path in zip(LogKind, self._paths, strict=False):
            if value in {1, kind.value}:
                if not self._is_reopened:
                    path.rename(f"{path}.2026-11-29T12-00-00")
                path.write_bytes(first_line(NOW))


def tend(server: StandIn, rule: LogRules, now: datetime = NOW, rotate: RotateLogs | None = None) -> LogWork:
    """Tend the logs of a server that runs."""
    allowed = [log.path.parent for log in server.logs]
    return tend_logs(server.logs, rule, allowed, now, rotate or server.rotate)


def tidied(directory: Path, rule: LogRules, allowed: Path | None = None) -> LogWork:
    """Tend the log `mongod.log` of a server that does not run."""
    log = LogSettings(LogKind.SERVER, directory / "mongod.log", is_reopened=False)
    return tend_logs([log], rule, [allowed or directory], NOW, None)


def write_rotated(directory: Path, stamps: Sequence[str] = STAMPS, size: int = 1000) -> None:
    """Write a log and its rotated logs."""
    for name in ["mongod.log", *(f"mongod.log.{stamp}" for stamp in stamps)]:
        (directory / name).write_bytes(name.encode().ljust(size, b"."))


def names(directory: Path) -> list[str]:
    """The ends of the names of rotated logs, and other names in full."""
    return sorted(path.name.removeprefix("mongod.log.") for path in directory.iterdir())


class _AskedServer:
    """A server that rotates its logs on the command."""

    def __init__(self, logs: StandIn) -> None:
        self._logs = logs

    def ask(self, command: Mapping[str, Any]) -> Mapping[str, Any]:
        self._logs.rotate(command["logRotate"])
        return {"ok": 1.0}


class TestProcess:
    """The logs of a process as it is observed."""

    STATED: Mapping[str, Any] = {"sizeThresholdMB": 1, "timeThresholdHrs": 0, "numTotal": 1}

    def settings(self, path: Path, destination: str = "file") -> dict[str, str]:
        """The settings of a server with this log."""
        return dict(flat_settings({"systemLog": {"destination": destination, "path": str(path)}}))

    def tended(self, server: StandIn, directory: Path, process: ObservedProcess, pid: int | None) -> LogWork:
        """Tend the logs of the process."""
        asked = cast("ManagedServer", _AskedServer(server))
        return tend_process(SeenProcess(process, pid), self.STATED, asked, [directory], NOW)

    def test_the_log_with_which_the_server_runs_is_rotated(self, directory: Path) -> None:
        server, later = StandIn(directory / "mongod.log"), directory / "later.log"
        running = ObservedProcess(
            is_running=True, settings=self.settings(directory / "mongod.log"), file=self.settings(later)
        )
        work = self.tended(server, directory, running, 5)
        assert (work.problems, work.rotated) == ([], [directory / "mongod.log"])
        assert work.deleted == [directory / "mongod.log.2026-11-29T12-00-00"]
        assert names(directory) == ["mongod.log"]

    @each(
        ("changes", "pid"),
        [
            ({"is_running": True, "settings": None}, 5),
            ({"is_running": True}, None),
            ({"is_running": None, "settings": None}, 5),
            ({"is_running": False, "file": None}, None),
        ],
    )
    def test_nothing_happens_while_logs_or_process_are_not_known(
        self, changes: dict[str, Any], pid: int | None, directory: Path
    ) -> None:
        settings = self.settings(directory / "mongod.log")
        process = ObservedProcess(**{"settings": settings, "file": settings, **changes})
        server = StandIn(directory / "mongod.log")
        write_rotated(directory)
        before = names(directory)
        work = self.tended(server, directory, process, pid)
        assert len(work.problems) == 1
        assert (server.commands, names(directory)) == ([], before)

    def test_the_logs_of_a_stopped_server_are_deleted_without_a_command(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log")
        write_rotated(directory)
        stopped = ObservedProcess(is_running=False, file=self.settings(directory / "mongod.log"))
        work = self.tended(server, directory, stopped, None)
        assert (server.commands, work.problems, names(directory)) == ([], [], ["mongod.log"])

    @each(("destination", "has_problem"), [("console", True), ("syslog", False)])
    def test_a_log_that_nobody_rotates_is_said(
        self, destination: str, has_problem: bool, directory: Path
    ) -> None:
        server = StandIn(directory / "mongod.log")
        settings = self.settings(directory / "mongod.log", destination)
        work = self.tended(server, directory, ObservedProcess(is_running=True, settings=settings), 5)
        assert (bool(work.problems), server.commands) == (has_problem, [])


class TestSettings:
    """What the document says."""

    def test_values_that_a_document_leaves_out_are_the_defaults_of_the_schema(self) -> None:
        fields = SCHEMA["$defs"]["logRotate"]["properties"]
        assert {name: fields[name]["default"] for name in DEFAULTS} == DEFAULTS
        assert read_rules({"sizeThresholdMB": 10.5, "timeThresholdHrs": 24, "numTotal": None}) == LogRules(
            10.5, 24, 5, 0.02, 0
        )

    @each(
        ("arguments", "expected"),
        [
            ({}, []),
            ({"systemLog": {"destination": "syslog", "path": "/a"}}, []),
            ({"systemLog": {"destination": "file"}}, []),
            ({"systemLog": None, "auditLog": {"destination": "console"}}, []),
            (
                {"systemLog": {"destination": "file", "path": "/a", "logRotate": "rename"}},
                [LogSettings(LogKind.SERVER, Path("/a"), is_reopened=False)],
            ),
            (
                {
                    "systemLog": {"destination": "file", "path": "/a", "logRotate": "reopen"},
                    "auditLog": {"destination": "file", "path": "/b", "format": "BSON"},
                },
                [
                    LogSettings(LogKind.SERVER, Path("/a"), is_reopened=True),
                    LogSettings(LogKind.AUDIT, Path("/b"), is_reopened=True),
                ],
            ),
        ],
    )
    def test_only_logs_in_files_are_tended(
        self, arguments: Mapping[str, Any], expected: list[LogSettings]
    ) -> None:
        assert log_settings(dict(flat_settings(arguments))) == expected


class TestRotation:
    """When the server is asked to rotate."""

    @each(
        ("rule", "is_due"),
        [
            (rules(), False),
            (rules(megabytes=3), True),
            (rules(megabytes=3.001), False),
            (rules(megabytes=-1), False),
            (rules(megabytes=float("inf")), False),
            (rules(hours=2), True),
            (rules(hours=3), False),
            (rules(hours=-1), False),
            (rules(hours=10**30), False),
            (rules(megabytes=4, hours=1), True),
        ],
    )
    def test_a_log_is_rotated_by_size_or_age(self, directory: Path, rule: LogRules, *, is_due: bool) -> None:
        for path in directory.iterdir():
            path.unlink()
        server = StandIn(directory / "mongod.log")
        work = tend(server, rule)
        assert (server.commands, bool(work.rotated), work.problems) == ([1] if is_due else [], is_due, [])

    @each(
        ("start", "hours"),
        [
            (b'{"t":{"$date":"2026-11-29T10:00:00.000Z"}}', 2),
            (b'{"t":{"$date":"2026-11-29T11:00:00.000+01:00"}}', 2),
            (b"2026-11-29T10:00:00.000+0000 I CONTROL", 2),
            (b'\n\n{ "atype": "a", "ts": { "$date": "2026-11-29T10:00:00+00:00" } }', 2),
            (b"\x00binary 2026-11-31T10:00:00Z", 6),
            (b"no time", 6),
        ],
    )
    def test_a_log_began_with_its_first_line_or_the_last_rotation(
        self, directory: Path, start: bytes, hours: int
    ) -> None:
        server = StandIn(directory / "mongod.log")
        (directory / "mongod.log").write_bytes(start)
        (directory / "mongod.log.2026-11-29T06-00-00").touch()
        tend(server, rules(hours=hours + 1))
        assert server.commands == []
        tend(server, rules(hours=hours))
        assert server.commands == [1]
        (directory / "mongod.log.2026-11-29T12-00-00").unlink()

    def test_a_log_of_unknown_age_is_rotated_once(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log")
        (directory / "mongod.log").write_bytes(b"no time")
        tend(server, rules(hours=24))
        (directory / "mongod.log").write_bytes(b"again no time")
        tend(server, rules(hours=24))
        assert server.commands == [1]

    @each("content", [b"", first_line(NOW + timedelta(hours=1))])
    def test_neither_an_empty_log_nor_a_log_of_the_future_is_old(
        self, directory: Path, content: bytes
    ) -> None:
        server = StandIn(directory / "mongod.log")
        (directory / "mongod.log").write_bytes(content)
        tend(server, rules(hours=1, megabytes=1))
        assert server.commands == []

    def test_each_of_two_logs_is_rotated_when_it_is_due(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log", directory / "audit.log")
        (directory / "audit.log").write_bytes(first_line(NOW))
        assert tend(server, rules(megabytes=3)).rotated == [directory / "mongod.log"]
        assert server.commands == ["server"]
        assert names(directory) == ["2026-11-29T12-00-00", "audit.log", "mongod.log"]

    def test_two_logs_that_are_due_are_rotated_at_once(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log", directory / "audit.log")
        assert tend(server, rules(megabytes=3)).rotated == [directory / "mongod.log", directory / "audit.log"]
        assert server.commands == [1]

    def test_a_log_that_the_server_reopens_is_renamed_first(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log", is_reopened=True)
        before = (directory / "mongod.log").read_bytes()
        assert tend(server, rules(hours=2)).problems == []
        assert names(directory) == ["2026-11-29T12-00-00", "mongod.log"]
        assert (directory / "mongod.log.2026-11-29T12-00-00").read_bytes() == before

    @each("is_reopened", [False, True])
    @each(
        "error",
        [OperationFailure("secret", 37), AutoReconnect("secret"), InvalidBSON("secret")],
        ids=lambda e: type(e).__name__,
    )
    def test_a_server_that_refuses_is_noted_and_its_log_stays(
        self, directory: Path, error: Exception, *, is_reopened: bool
    ) -> None:
        server = StandIn(directory / "mongod.log", is_reopened=is_reopened, error=error)
        (problem,) = tend(server, rules(hours=2)).problems
        assert (names(directory), "secret" in problem) == (["mongod.log"], False)

    def test_a_server_that_does_nothing_is_noted(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log")
        work = tend(server, rules(hours=2), rotate=lambda _: None)
        assert (work.rotated, len(work.problems)) == ([], 1)

    def test_an_agent_that_was_killed_before_the_command_goes_on(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log", is_reopened=True)
        (directory / "mongod.log").rename(directory / "mongod.log.2026-11-29T11-59-59")
        # The server still writes to the renamed file, so it is not compressed before the command.
        refused = tend(server, rules(uncompressed=1), rotate=lambda _: None)
        assert (names(directory), len(refused.problems)) == (["2026-11-29T11-59-59"], 2)
        assert tend(server, rules(uncompressed=1)).problems == []
        assert names(directory) == ["2026-11-29T11-59-59.gz", "mongod.log"]

    def test_a_log_that_is_missing_is_noted(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log")
        (directory / "mongod.log").unlink()
        assert tend(server, rules(hours=2)).problems != []
        assert server.commands == []

    def test_a_log_is_not_rotated_twice_in_a_second(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log", is_reopened=True)
        (directory / "mongod.log.2026-11-29T12-00-00").write_bytes(b"kept")
        assert len(tend(server, rules(hours=2)).problems) == 1
        assert (directory / "mongod.log.2026-11-29T12-00-00").read_bytes() == b"kept"

    def test_of_two_agents_at_once_one_rotates(self, directory: Path) -> None:
        server = StandIn(directory / "mongod.log")
        second: list[LogWork] = []

        def rotate(value: int | str) -> None:
            second.append(tend(server, rules(hours=2), rotate=lambda _: pytest.fail("both rotate")))
            server.rotate(value)

        assert tend(server, rules(hours=2), rotate=rotate).problems == []
        assert [(work.rotated, len(work.problems)) for work in second] == [([], 2)]


class TestTidying:
    """Which rotated logs are compressed and deleted."""

    @each(
        ("number", "plain"), [(5, 4), (1, 0), (0, 0), (-3, 0), (2, 1), (9, 8), (10**30, 8), (float("inf"), 8)]
    )
    def test_the_newest_stay_uncompressed_with_the_current_log(
        self, directory: Path, number: float, plain: int
    ) -> None:
        for path in directory.iterdir():
            path.unlink()
        write_rotated(directory)
        work = tidied(directory, rules(uncompressed=number))
        oldest = STAMPS[: len(STAMPS) - plain]
        assert names(directory) == sorted(
            [*(f"{stamp}.gz" for stamp in oldest), *STAMPS[len(oldest) :], "mongod.log"]
        )
        assert (len(work.compressed), work.deleted, work.problems) == (len(oldest), [], [])
        assert tidied(directory, rules(uncompressed=number)) == LogWork()

    def test_a_compressed_log_has_content_mode_and_time_of_the_log(self, directory: Path) -> None:
        write_rotated(directory, STAMPS[:1])
        plain = directory / f"mongod.log.{STAMPS[0]}"
        content = plain.read_bytes()
        plain.chmod(0o640)
        os.utime(plain, (1_700_000_000, 1_700_000_000))
        (path,) = tidied(directory, rules(uncompressed=1)).compressed
        status = path.stat()
        assert gzip.decompress(path.read_bytes()) == content
        assert (status.st_mode & 0o777, status.st_mtime) == (0o640, 1_700_000_000)

    @each(("total", "left"), [(0, 8), (-1, 8), (1, 0), (4, 3), (9, 8), (10**30, 8)])
    def test_more_logs_than_the_total_are_deleted_the_oldest_first(
        self, directory: Path, total: float, left: int
    ) -> None:
        for path in directory.iterdir():
            path.unlink()
        write_rotated(directory)
        work = tidied(directory, rules(total=total))
        kept = STAMPS[len(STAMPS) - left :]
        assert names(directory) == sorted([*kept, "mongod.log"])
        assert [path.name for path in work.deleted] == [
            f"mongod.log.{stamp}" for stamp in STAMPS if stamp not in kept
        ]

    @each(("kilobytes", "left"), [(0, 8), (-1, 8), (9, 8), (8, 7), (3, 2), (1, 0), (0.5, 0)])
    def test_logs_that_need_more_than_their_share_of_the_disk_are_deleted(
        self, directory: Path, kilobytes: float, left: int
    ) -> None:
        for path in directory.iterdir():
            path.unlink()
        write_rotated(directory, size=1000)
        share = kilobytes * 1001 / shutil.disk_usage(directory).total
        tidied(directory, rules(share=share))
        assert names(directory) == sorted([*STAMPS[len(STAMPS) - left :], "mongod.log"])

    def test_logs_are_compressed_before_their_share_is_compared(self, directory: Path) -> None:
        write_rotated(directory, size=100_000)
        share = 150_000 / shutil.disk_usage(directory).total
        work = tidied(directory, rules(uncompressed=1, share=share))
        assert (len(work.compressed), work.deleted) == (8, [])

    def test_other_files_stay(self, directory: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.write_bytes(b"kept")
        others = [
            "mongod.log",
            "mongod.log.1",
            "mongod.log.gz",
            "mongod.log.2026-11-01",
            "mongod.log.2026-11-31T06-00-00",
            "mongod.log.2026-11-01T06-00-00.bz2",
            "mongod.log.2026-11-01T06-00-00.gz.old",
            "mongod.log.2026-11-01T06-00-00\n",
            "amongod.log.2026-11-01T06-00-00",
            "mongodXlog.2026-11-01T06-00-00",
            "mongod.log2026-11-01T06-00-00",
            "other.log.2026-11-01T06-00-00",
            "mongod.log.backup.2026-11-01T06-00-00",
        ]
        for name in others:
            (directory / name).write_bytes(b"kept")
        (directory / "mongod.log.2026-11-02T06-00-00").symlink_to(outside)
        (directory / "mongod.log.2026-11-03T06-00-00").mkdir()
        os.mkfifo(directory / "mongod.log.2026-11-04T06-00-00")
        before = names(directory)
        work = tidied(directory, rules(uncompressed=1, total=1, share=1e-30))
        assert (names(directory), work) == (before, LogWork())
        assert outside.read_bytes() == b"kept"

    @each("place", ["elsewhere", "link", "relative"])
    def test_other_directories_than_the_allowed_are_left_alone(self, tmp_path: Path, place: str) -> None:
        allowed, elsewhere = tmp_path / "allowed", tmp_path / "elsewhere"
        for path in (allowed, elsewhere):
            path.mkdir(exist_ok=True)
        write_rotated(elsewhere)
        if place == "link":
            (allowed / "link").symlink_to(elsewhere)
        directories = {"link": allowed / "link", "elsewhere": elsewhere, "relative": Path()}
        work = tidied(directories[place], rules(uncompressed=1, total=1), allowed)
        assert (names(elsewhere), len(work.problems)) == (sorted([*STAMPS, "mongod.log"]), 1)

    def test_a_log_outside_does_not_hinder_the_others(self, directory: Path, tmp_path: Path) -> None:
        write_rotated(directory)
        logs = [
            LogSettings(LogKind.AUDIT, tmp_path / "audit.log", is_reopened=False),
            LogSettings(LogKind.SERVER, directory / "mongod.log", is_reopened=False),
        ]
        work = tend_logs(logs, rules(total=1), [directory], NOW, None)
        assert (len(work.deleted), len(work.problems)) == (8, 1)

    @each("step", ["part", "renamed"])
    def test_an_agent_that_was_killed_while_it_compressed_goes_on(self, directory: Path, step: str) -> None:
        for path in directory.iterdir():
            path.unlink()
        write_rotated(directory, STAMPS[:2])
        content = (directory / f"mongod.log.{STAMPS[0]}").read_bytes()
        end = ".gz.tmp" if step == "part" else ".gz"
        (directory / f"mongod.log.{STAMPS[0]}{end}").write_bytes(b"a part" if step == "part" else b"whole")
        tidied(directory, rules(uncompressed=2))
        assert names(directory) == [f"{STAMPS[0]}.gz", STAMPS[1], "mongod.log"]
        assert gzip.decompress((directory / f"mongod.log.{STAMPS[0]}.gz").read_bytes()) == content

    def test_a_part_whose_log_is_gone_is_removed(self, directory: Path) -> None:
        write_rotated(directory, [])
        (directory / f"mongod.log.{STAMPS[0]}.gz.tmp").touch()
        tidied(directory, rules())
        assert names(directory) == ["mongod.log"]

    def test_a_log_that_still_changes_is_not_compressed(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_rotated(directory, STAMPS[:1])
        plain = directory / f"mongod.log.{STAMPS[0]}"
        copy: Callable[..., None] = shutil.copyfileobj

        def copying(*arguments: Any) -> None:
            copy(*arguments)
            with plain.open("ab") as file:
                file.write(b"more")

        monkeypatch.setattr(shutil, "copyfileobj", copying)
        work = tidied(directory, rules(uncompressed=1))
        assert (names(directory), len(work.problems)) == ([STAMPS[0], "mongod.log"], 1)


@pytest.mark.slow
@pytest.mark.parametrize("is_reopened", [False, True])
def test_after_a_kill_at_any_line_the_next_round_comes_to_the_same_end(
    directory: Path, *, is_reopened: bool
) -> None:
    rule = rules(hours=2, uncompressed=1, total=5)
    kept = [*STAMPS[-3:], "2026-11-29T12-00-00"]

    def begin() -> StandIn:
        shutil.rmtree(directory)
        directory.mkdir()
        write_rotated(directory)
        return StandIn(directory / "mongod.log", is_reopened=is_reopened)

    server = begin()
    lines = lines_of(MODULES, lambda: tend(server, rule))
    assert len(lines) > 50
    for line in lines[:: 1 if LONG else 5]:
        server = begin()
        log = (directory / "mongod.log").read_bytes()
        kill_at(line, MODULES, lambda: tend(server, rule))  # noqa: B023 - it is called at once
        # A log that the server has rotated is not due again.
        assert tend(server, rule).problems == [], line
        assert names(directory) == sorted([*(f"{stamp}.gz" for stamp in kept), "mongod.log"]), line
        rotated = gzip.decompress((directory / f"mongod.log.{kept[-1]}.gz").read_bytes())
        assert rotated == log, line
