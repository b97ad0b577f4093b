"""The agent replaces its file: when it does, when not, and that a file that works is always in its place."""

import hashlib
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from automation.agent import trial, update
from automation.agent.central import read_central
from automation.agent.client import Client, Refused, Unreachable
from automation.agent.program import Program
from automation.agent.settings import Settings
from automation.agent.trial import TrialFailed, UpdateTrial, run_trial
from automation.agent.update import (
    LONGEST_TRIAL,
    PERIOD,
    SHORTEST_TRIAL,
    CheckRun,
    CheckRuns,
    NotTaken,
    Offer,
    Updates,
    why_not,
)
from tests.each import each
from tests.eventually import eventually
from tests.unit.automation.agent.stand_ins import platform
from tests.unit.automation.agent.test_central import own

OLD, NEW = b"the old file", b"the new file"
WORKS = CheckRun(0, ["ok      settings"])


def offer_of(octets: bytes, version: str = "2.0") -> Offer:
    """The offer of a file."""
    return Offer(version, hashlib.sha256(octets).hexdigest(), len(octets))


OFFER = offer_of(NEW)


class DownloadClient:
    """A platform that serves this file, or raises an error."""

    def __init__(self, file: bytes | Exception) -> None:
        self.file, self.downloads = file, 0

    def download(self, name: str, largest: int) -> bytes:
        """The file, cut."""
        assert name == "opsapi-agent.pyz"
        self.downloads += 1
        if isinstance(self.file, Exception):
            raise self.file
        return self.file[:largest]


def begun(updates: Updates) -> bool:
    """Whether a preparation has begun, and has not ended at the last look."""
    return updates._thread is not None


class AgentMachine:
    """A machine with an agent, at a time of the test's."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.settings: Settings = own(directory / "spool", **settings)
        self.settings.spool_dir.mkdir(exist_ok=True)
        (directory / "bin").mkdir(exist_ok=True)
        self.path = directory / "bin" / "opsapi-agent.pyz"
        if not self.path.exists():
            self.path.write_bytes(OLD)
            self.path.chmod(0o755)
        self.program = Program(self.path, ["--config", "file"], ["python3"])
        self.client = DownloadClient(NEW)
        self.now = 1_800_000_000.0
        self.checks: list[Sequence[str]] = []
        self.results = {"new": WORKS, "old": WORKS}
        self.trials: list[tuple[Sequence[str], float]] = []

    def start(self, version: str = "1.0") -> Updates:
        """The agent starts, or starts again."""
        client: Any = self.client
        return Updates(
            self.program,
            self.settings,
            version,
            client,
            monotonic=lambda: self.now,
            clock=lambda: self.now,
            check=self._check,
        )

    def _check(self, command: Sequence[str]) -> CheckRun:
        self.checks.append(command)
        return self.results["new" if str(self.program.new_path) in command else "old"]

    def prepared(self, updates: Updates, offer: Offer = OFFER) -> bool:
        """The turn of the agent has come. Returns whether a file is ready for its trial."""
        updates.follow(offer)
        self.now += PERIOD
        updates.work()
        eventually(lambda: updates.work() or not begun(updates))
        return updates.work()

    def hands_over(self, updates: Updates, result: bool | BaseException = True, interval: float = 60) -> bool:
        """The trial, which ends so."""

        def runs(command: Sequence[str], seconds: float) -> bool:
            self.trials.append((command, seconds))
            assert self.path.read_bytes() == OLD
            if isinstance(result, BaseException):
                raise result
            return result

        return updates.hand_over(runs, interval)

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the directory."""
        return {path.name: path.read_bytes() for path in self.path.parent.iterdir()}


@pytest.fixture
def machine(tmp_path: Path) -> AgentMachine:
    """A machine whose agent can update itself."""
    return AgentMachine(tmp_path)


ONLY_OLD = {"opsapi-agent.pyz": OLD}
TAKEN = {"opsapi-agent.pyz": NEW, "opsapi-agent.pyz.old": OLD}


def test_a_new_file_takes_the_place_of_the_old_file_after_its_trial(machine: AgentMachine) -> None:
    updates = machine.start()
    assert machine.prepared(updates)
    assert machine.files == {**ONLY_OLD, "opsapi-agent.pyz.new": NEW}
    assert machine.checks == [["python3", f"{machine.path}.new", "--config", "file", "--check"]]
    assert machine.hands_over(updates)
    assert machine.trials == [(["python3", f"{machine.path}.new", "--config", "file"], 180.0)]
    assert machine.files == TAKEN
    assert {stat.S_IMODE(path.stat().st_mode) for path in machine.path.parent.iterdir()} == {0o755}
    again = machine.start("2.0")
    again.follow(OFFER)
    assert again.problem == ""


@each("offer", [None, offer_of(NEW, "1.0")], ids=["no offer", "the same version"])
def test_nothing_happens_without_another_version(machine: AgentMachine, offer: Offer | None) -> None:
    updates = machine.start()
    updates.follow(offer)
    machine.now += 2 * PERIOD
    assert not updates.work()
    assert (machine.client.downloads, updates.problem) == (0, "")


def test_an_offer_that_is_withdrawn_is_not_taken(machine: AgentMachine) -> None:
    updates = machine.start()
    assert machine.prepared(updates)
    updates.follow(None)
    assert not updates.work()


def test_an_older_version_is_taken_too(machine: AgentMachine) -> None:
    updates = machine.start("3.0")
    assert machine.prepared(updates)


class TestForbidden:
    """The machine does not allow it, and the platform gets the reason."""

    def test_by_the_settings_of_the_machine(self, tmp_path: Path) -> None:
        self.shows(AgentMachine(tmp_path, UPDATE="off"), "OPSAPI_AGENT_UPDATE is off")

    def test_without_tls(self, tmp_path: Path) -> None:
        self.shows(AgentMachine(tmp_path, URL="http://ops.example.com"), "no TLS")

    def test_in_a_directory_that_it_cannot_write(
        self, machine: AgentMachine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("os.access", lambda *_: False)
        self.shows(machine, f"cannot write the directory {machine.path.parent}")

    def test_in_a_directory_that_everybody_can_write(self, machine: AgentMachine) -> None:
        machine.path.parent.chmod(0o777)
        self.shows(machine, "every user can write")

    def test_as_a_package(self, machine: AgentMachine) -> None:
        package: Any = None
        machine.program = package
        self.shows(machine, "not a single file")

    def shows(self, machine: AgentMachine, reason: str) -> None:
        """The agent reports the reason and downloads nothing."""
        updates = machine.start()
        updates.follow(OFFER)
        machine.now += 2 * PERIOD
        assert not updates.work()
        assert reason in updates.problem
        assert "2.0" in updates.problem
        assert machine.client.downloads == 0
        updates.follow(None)
        assert updates.problem == ""


@each("url", ["https://ops.example.com", "http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost"])
def test_an_address_with_tls_or_on_this_machine_is_safe(machine: AgentMachine, url: str) -> None:
    assert why_not(replace(machine.settings, url=url), machine.program) == ""


class TestRefused:
    """A file that is not used leaves the old file alone, and its reason is shown."""

    @each(
        "file, reason",
        [
            (b"the new filE", "checksum"),
            (NEW + b"more", "checksum"),
            (NEW[:-1], "checksum"),
            (Unreachable("no route"), "no route"),
            (Refused("the platform answers 503"), "503"),
            (ZeroDivisionError(), "ZeroDivisionError"),
            (OSError(28, "No space left on device"), "No space"),
        ],
    )
    def test_by_its_download(self, machine: AgentMachine, file: bytes | Exception, reason: str) -> None:
        machine.client.file = file
        updates = machine.start()
        assert not machine.prepared(updates)
        assert reason in updates.problem
        assert (machine.checks, machine.files) == ([], ONLY_OLD)

    @each(
        "result, reason",
        [
            (CheckRun(1, ["ok      x", "FAILED  y: z"]), "FAILED y: z"),
            (CheckRun(1, ["FAILED  x: y", "FAILED  y: z"]), "FAILED y: z"),
            (CheckRun(1, []), "status 1"),
            (CheckRun(-11, ["ok      x"]), "status -11"),
            (CheckRun(None, ["ok      x"]), "did not end"),
            (CheckRun(1, ["FAILED  y: a-private-key"]), "FAILED y: ***"),
        ],
    )
    def test_by_its_check(self, machine: AgentMachine, result: CheckRun, reason: str) -> None:
        machine.results = {"new": result, "old": CheckRun(1, ["FAILED  x: y"])}
        updates = machine.start()
        assert not machine.prepared(updates)
        assert reason in " ".join(updates.problem.split())
        assert "a-private-key" not in updates.problem
        assert machine.files == ONLY_OLD

    def test_a_step_that_fails_with_both_files_is_no_reason(self, machine: AgentMachine) -> None:
        machine.results = dict.fromkeys(("new", "old"), CheckRun(1, ["FAILED  server db1: it is down"]))
        assert machine.prepared(machine.start())

    def test_it_is_tried_again_after_an_hour_or_a_restart(self, machine: AgentMachine) -> None:
        machine.results["new"] = CheckRun(2, [])
        updates = machine.start()
        assert not machine.prepared(updates)
        machine.now += PERIOD - 1
        assert not updates.work()
        assert machine.client.downloads == 1
        machine.results["new"] = WORKS
        assert machine.prepared(updates)
        again = machine.start()
        assert machine.files == ONLY_OLD
        assert machine.prepared(again)

    def test_a_changed_file_does_not_run(self, machine: AgentMachine) -> None:
        updates = machine.start()
        assert machine.prepared(updates)
        machine.program.new_path.write_bytes(b"another file")
        assert machine.hands_over(updates)
        assert (machine.trials, machine.files) == ([], ONLY_OLD)
        assert "changed" in updates.problem

    def test_a_file_that_is_there_already_needs_a_restart(self, machine: AgentMachine) -> None:
        machine.path.write_bytes(NEW)
        updates = machine.start()
        assert not machine.prepared(updates)
        assert "restart" in updates.problem
        assert machine.client.downloads == 0


class TestTrial:
    """The new file runs. It has the place of the old file only after its proof."""

    def test_a_failed_trial_is_shown_and_not_repeated_by_a_restart(self, machine: AgentMachine) -> None:
        updates = machine.start()
        assert machine.prepared(updates)
        assert machine.hands_over(updates, TrialFailed("it ended with status 3"))
        assert machine.files == ONLY_OLD
        again = machine.start()
        again.follow(OFFER)
        assert "it ended with status 3" in again.problem
        machine.now += PERIOD - 1
        assert not again.work()
        assert machine.client.downloads == 1
        assert machine.prepared(machine.start())

    def test_an_agent_that_dies_in_the_trial_does_not_repeat_it_at_once(self, machine: AgentMachine) -> None:
        updates = machine.start()
        assert machine.prepared(updates)
        with pytest.raises(KeyboardInterrupt):
            machine.hands_over(updates, KeyboardInterrupt())
        again = machine.start()
        again.follow(OFFER)
        assert "stopped during its trial" in again.problem
        machine.now += PERIOD - 1
        assert not again.work()
        assert not begun(again)
        assert machine.prepared(again)

    def test_after_a_clock_that_was_set_back_it_waits_for_an_hour_too(self, machine: AgentMachine) -> None:
        updates = machine.start()
        assert machine.prepared(updates)
        assert machine.hands_over(updates, TrialFailed("no report"))
        machine.now -= 10 * PERIOD
        again = machine.start()
        again.follow(OFFER)
        machine.now += PERIOD - 1
        assert not again.work()
        assert machine.client.downloads == 1
        assert machine.prepared(again)

    def test_an_agent_that_shall_stop_ends_the_trial_without_a_reason(self, machine: AgentMachine) -> None:
        updates = machine.start()
        assert machine.prepared(updates)
        assert not machine.hands_over(updates, result=False)
        assert machine.files == ONLY_OLD
        assert machine.prepared(machine.start())

    def test_a_file_that_was_taken_is_not_replaced_within_an_hour(self, machine: AgentMachine) -> None:
        updates = machine.start()
        assert machine.prepared(updates)
        assert machine.hands_over(updates)
        machine.client.file = OLD
        again = machine.start("2.0")
        again.follow(offer_of(OLD, "1.0"))
        machine.now += PERIOD - 1
        assert not again.work()
        assert machine.prepared(again, offer_of(OLD, "1.0"))

    @each("interval, seconds", [(2, SHORTEST_TRIAL), (20, 60), (60, 180), (180, LONGEST_TRIAL)])
    def test_it_takes_three_intervals_within_bounds(
        self, machine: AgentMachine, interval: float, seconds: float
    ) -> None:
        # Hosts count as down after four minutes, and starting takes time.
        updates = machine.start()
        machine.now += PERIOD
        assert machine.prepared(updates)
        assert machine.hands_over(updates, TrialFailed("x"), interval)
        assert machine.trials.pop()[1] == seconds

    def test_a_disk_that_cannot_be_written_leaves_the_old_file(
        self, machine: AgentMachine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        updates = machine.start()
        assert machine.prepared(updates)

        def fails(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("automation.agent.program.move", fails)
        assert machine.hands_over(updates)
        assert machine.files["opsapi-agent.pyz"] == OLD
        assert "No space" in updates.problem


def test_each_agent_has_its_own_turn_in_the_hour_also_after_a_restart(tmp_path: Path) -> None:
    turns = set()
    for number in range(20):
        machine = AgentMachine(tmp_path, HOSTNAME=f"agent{number}")
        wait = machine.start()._turn(OFFER)
        assert 0 <= wait < PERIOD
        turns.add(round(machine.now + wait))
        machine.now += wait / 2
        assert machine.start()._turn(OFFER) == pytest.approx(wait / 2, abs=0.01)
    assert len(turns) == 20


def test_nothing_happens_before_the_turn(machine: AgentMachine) -> None:
    updates = machine.start()
    updates.follow(OFFER)
    machine.now += updates._turn(OFFER) - 1
    updates.work()
    assert not begun(updates)
    machine.now += 2
    updates.work()
    assert begun(updates)
    eventually(updates.work)


_DIES = """
import os, pathlib, sys
from tests.unit.automation.agent.test_update import NEW, OLD, ONLY_OLD, OFFER, TAKEN, AgentMachine

def dies(number, directory):
    machine = AgentMachine(directory)
    updates = machine.start()
    updates._fetch(machine.program, OFFER)
    updates._ready = OFFER
    seen = 0
    def hook(event, arguments):
        nonlocal seen
        if event in {"open", "os.rename", "os.remove"} and str(directory) in str(arguments[0]):
            seen += 1
            if seen > number:
                os._exit(9)
    sys.addaudithook(hook)
    assert machine.hands_over(updates)
    os._exit(0)

for number in range(100):
    directory = pathlib.Path(sys.argv[1]) / str(number)
    directory.mkdir()
    pid = os.fork()
    if pid == 0:
        dies(number, directory)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    machine = AgentMachine(directory)
    assert machine.path.read_bytes() in {OLD, NEW}, number
    machine.start()
    left = machine.files
    assert "opsapi-agent.pyz.new" not in left, number
    if left["opsapi-agent.pyz"] == NEW:
        assert left["opsapi-agent.pyz.old"] == OLD, number
    if status == 0:
        assert left == TAKEN
        print(number)
        break
    assert status == 9, (number, status)
"""


@pytest.mark.slow
def test_a_process_that_dies_between_two_steps_leaves_a_file_that_works(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DIES, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 8


def child(program: str) -> list[str]:
    """A command that gets the option of the trial; `end` is its socket."""
    start = "import socket, sys, time; end = socket.socket(fileno=int(sys.argv[2])); "
    return [sys.executable, "-c", start + program]


class TestRunTrial:
    """Real children."""

    def test_a_child_that_proves_itself_is_stopped(self, tmp_path: Path) -> None:
        stopped = tmp_path / "stopped"
        program = f"end.sendall(b'1'); end.recv(1); open({str(stopped)!r}, 'w')"
        assert run_trial(child(program), 60, threading.Event())
        assert stopped.exists()

    @each(
        "program, reason", [("sys.exit(3)", "status 3"), ("import os; os.kill(os.getpid(), 9)", "signal 9")]
    )
    def test_a_child_that_ends_has_failed(self, program: str, reason: str) -> None:
        with pytest.raises(TrialFailed, match=reason):
            run_trial(child(program), 60, threading.Event())

    def test_a_child_that_hangs_is_killed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trial, "STOP_SECONDS", 0.0)
        with pytest.raises(TrialFailed, match="no report"):
            run_trial(child("time.sleep(600)"), 0.0, threading.Event())

    def test_a_program_that_cannot_run_has_failed(self) -> None:
        with pytest.raises(TrialFailed, match="cannot run"):
            run_trial(["/no/such/python"], 60, threading.Event())

    def test_it_ends_when_the_agent_shall_stop(self) -> None:
        stop = threading.Event()
        stop.set()
        assert not run_trial(child("end.recv(1)"), 60, stop)

    def test_a_child_that_ends_because_the_agent_shall_stop_has_not_failed(self) -> None:
        class LaterStop(threading.Event):
            """It is set after the first look."""

            def is_set(self) -> bool:
                before = super().is_set()
                self.set()
                return before

        assert not run_trial(child("sys.exit(0)"), 60, LaterStop())

    def test_a_child_proves_itself_once_and_stops_at_the_end_of_the_trial(self) -> None:
        ours, theirs = socket.socketpair()
        stop = threading.Event()
        trial_of_child = UpdateTrial(os.dup(theirs.fileno()))
        theirs.close()
        trial_of_child.watch(stop.set)
        trial_of_child.prove()
        trial_of_child.prove()
        assert ours.recv(9) == b"1"
        assert not stop.is_set()
        ours.close()
        assert stop.wait(60)
        assert trial_of_child.is_over
        trial_of_child._socket.close()


class TestCheckRuns:
    """Real processes."""

    def test_it_returns_status_and_lines(self) -> None:
        found = CheckRuns().run([sys.executable, "-c", "print('a'); print('b'); raise SystemExit(1)"])
        assert found == CheckRun(1, ["a", "b"])

    def test_a_process_that_takes_too_long_or_prints_too_much_is_killed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(update, "LARGEST_OUTPUT", 1000)
        endless = CheckRuns().run([sys.executable, "-c", "while True: print('a' * 100)"])
        assert endless.status == -9
        monkeypatch.setattr(update, "CHECK_SECONDS", 0.0)
        assert CheckRuns().run([sys.executable, "-c", "import time; time.sleep(600)"]).status is None

    def test_it_is_killed_when_the_agent_stops(self) -> None:
        runs = CheckRuns()
        found: list[CheckRun] = []
        thread = threading.Thread(
            target=lambda: found.append(runs.run([sys.executable, "-c", "import time; time.sleep(600)"]))
        )
        thread.start()
        eventually(lambda: runs._running)
        runs.close()
        thread.join()
        assert found[0].status == -9
        with pytest.raises(NotTaken):
            runs.run(["true"])


class TestDownload:
    """Over HTTP."""

    def client(self, url: str) -> Client:
        """A client of a platform."""
        return Client(url=url, group_id="0" * 24, public_key="A", private_key="b")

    def test_a_file_is_cut_at_its_largest_size(self) -> None:
        with platform(200, file=NEW) as (url, _):
            assert self.client(url).download("opsapi-agent.pyz", 100) == NEW
            assert self.client(url).download("opsapi-agent.pyz", 5) == NEW[:5]

    def test_a_refusal_is_no_file(self) -> None:
        with platform(200) as (url, _), pytest.raises(Refused, match="401"):
            self.client(url).download("opsapi-agent.pyz", 100)


@each(
    "document, is_read",
    [
        ({"version": "1.0", "sha256": "0" * 64, "size": 5}, True),
        (None, False),
        ([], False),
        ({}, False),
        ({"version": "1.0\n", "sha256": "0" * 64, "size": 5}, False),
        ({"version": "1.0", "sha256": "A" * 64, "size": 5}, False),
        ({"version": "1.0", "sha256": "0" * 64, "size": 0}, False),
        ({"version": "1.0", "sha256": "0" * 64, "size": 10**12}, False),
        ({"version": "1.0", "sha256": "0" * 64, "size": "5"}, False),
    ],
)
def test_only_a_whole_offer_is_read(document: object, is_read: bool) -> None:
    found = read_central({"version": "1", "agentFile": document})
    assert (found.update is not None) == is_read
    assert len(found.faults) == (document is not None and not is_read)
