"""The real platform as processes, for end-to-end tests: started, asked, killed and started again."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import requests

from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from tests.eventually import eventually, is_running
from tests.integration.embedded.sql import connect, first_value
from tests.shared import made_once

ROOT = Path(__file__).resolve().parent.parent.parent
AS_INSTALLED = Path(__file__).resolve().parent / "as_installed"
"""In the path of its processes: what is not installed on a server is not there."""
READY = "Ops API is ready"
# No limits of the platform's: a busy machine takes many times what an idle one does.
STOP_SECONDS = 120.0
_END_SECONDS = 10.0
PORTS = range(20_000, 32_000)
_claims: list[socket.socket] = []


class RunningPlatform:
    """One installation: a data directory, a port, and `manage.py serve` when it runs."""

    def __init__(self, directory: Path, **environment: str) -> None:
        """`environment` overrides what the installation is started with."""
        self.directory = directory
        self.data_dir = directory / "var"
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "OPSAPI_DATA_DIR": str(self.data_dir),
            "OPSAPI_BIND": f"127.0.0.1:{self.port}",
            "OPSAPI_WORKERS": "1",
            "OPSAPI_THREADS": "4",
            "PYTHONPATH": str(AS_INSTALLED),
            **environment,
        }
        self.program = [sys.executable, str(ROOT / "manage.py")]
        self.start_command: list[str] = []
        """How to start it, if not by `serve` of the program."""
        self.process: subprocess.Popen[bytes] | None = None
        self._output = directory / "output.txt"
        self._log = directory / "log.txt"
        self._connection: psycopg.Connection[Any] | None = None

    @property
    def output(self) -> str:
        """What the last start wrote to stdout."""
        return self._output.read_text()

    @property
    def log(self) -> str:
        """What the last start wrote to stderr."""
        return self._log.read_text()

    @property
    def pid(self) -> int:
        """The supervisor."""
        assert self.process is not None
        return self.process.pid

    def launch(self, *before: str) -> None:
        """Starts it without waiting, by way of the command `before`."""
        command = [*before, *(self.start_command or [*self.program, "serve"])]
        with self._output.open("wb") as output, self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, stdout=output, stderr=log, start_new_session=True
            )

    def start(self) -> None:
        """Starts it and waits until it says that it is ready."""
        self.launch()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Until it says that it is ready; AssertionError with its log when it ends first."""
        eventually(lambda: READY in self.output or self._has_ended(), message=READY)
        assert READY in self.output, self.log

    def fail_to_start(self) -> str:
        """Starts it, waits for it to end with an error, and returns all of stderr."""
        self.launch()
        eventually(self._has_ended, message="end")
        assert self.process is not None
        assert self.process.returncode not in (0, None)
        return self.log

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop, waits for it and everything it started, and returns the exit status."""
        assert self.process is not None
        processes = descendants(self.pid)
        self.process.send_signal(signum)
        status = self.process.wait(STOP_SECONDS)
        with suppress(AssertionError):  # A process that was killed takes a moment to end on a busy machine.
            eventually(lambda: not any(map(is_running, processes)), _END_SECONDS)
        left = [f"{pid} {command_line(pid)}" for pid in processes if is_running(pid)]
        assert not left, f"still running: {left}"
        return status

    def kill(self) -> None:
        """SIGKILL to the supervisor alone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Leaves nothing behind, whatever the test did."""
        if self._connection is not None:
            self._connection.close()
        if self.process is not None and self.process.poll() is None:
            processes = descendants(self.pid)
            self.kill()
            for pid in filter(is_running, processes):
                with suppress(ProcessLookupError):  # it ends with its parent
                    os.kill(pid, signal.SIGTERM)
            eventually(lambda: not any(map(is_running, processes)), message="all processes end")

    def get(self, path: str) -> requests.Response:
        """GET without credentials, on a new connection."""
        return requests.get(self.base_url + path, timeout=60)

    def answers(self) -> bool:
        """Whether the API answers."""
        try:
            return self.get("/health/live").status_code == 200
        except requests.RequestException:
            return False

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`manage.py` of this installation."""
        command = [*self.program, *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def ask(self, statement: str) -> Any:
        """One value from the embedded database, over a connection that is kept for many questions."""
        try:
            return first_value(self._connected(), statement)
        except psycopg.OperationalError:  # the database was restarted
            return first_value(self._connected(), statement)

    def child(self, role: str) -> int:
        """The process id of `postgres`, `gunicorn`, `run_worker` or `gunicorn worker`."""
        found = self.find_child(role)
        assert found is not None, f"no {role} is running"
        return found

    @property
    def is_up(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and not self._has_ended()

    def find_child(self, role: str) -> int | None:
        """The same; None while there is none."""
        name, _, below = role.partition(" ")
        found = [pid for pid in children(self.pid) if name in command_line(pid)]
        if below and found:
            found = children(found[0])
        return found[0] if found else None

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = connect(Layout(self.data_dir))
        return self._connection

    def _has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None


@contextmanager
def installation(**environment: str) -> Iterator[RunningPlatform]:
    """A platform in a directory of its own, which is removed with everything that runs in it."""
    directory = Path(tempfile.mkdtemp(prefix="opsapi-platform-"))
    directory.chmod(0o711)  # for root the database runs as another user, who must get through
    platform = RunningPlatform(directory, **environment)
    try:
        yield platform
    finally:
        platform.end()
        shutil.rmtree(directory)


@contextmanager
def prepared_installation(**environment: str) -> Iterator[RunningPlatform]:
    """An `installation` with an empty, migrated database.

    The first process of a test run prepares a data directory and all copy it: a start takes half the time.
    """
    with installation(**environment) as platform:
        copy_prepared(platform.data_dir)
        yield platform


def copy_prepared(data_dir: Path) -> None:
    """Fill a data directory with a migrated database."""
    template = made_once("prepared_installation", _prepare)
    data_dir.mkdir(mode=0o711, exist_ok=True)
    _copy(template, data_dir)


def _prepare(template: Path) -> None:
    """Its database is created and migrated; no web process or worker has ever run."""
    with installation() as platform:
        platform.data_dir.mkdir(mode=0o711)
        server = Server(Layout(platform.data_dir))
        server.start()
        try:
            server.wait_ready()
            done = platform.manage("prepare")
            assert done.returncode == 0, done.stderr
        finally:
            server.stop()
        _copy(platform.data_dir, template)


def _copy(source: Path, target: Path) -> None:
    """What is in a directory, with owners and modes, which the database looks at."""
    subprocess.run(["cp", "--archive", f"{source}/.", str(target)], check=True)


def free_port() -> int:
    """A port that nobody has, and that no other test is given while this process lives.

    It is outside the range of outgoing connections: the system could use it before the installation listens.
    """
    for offset in range(len(PORTS)):
        port = PORTS[(os.getpid() * 97 + len(_claims) + offset) % len(PORTS)]
        if _is_free(port) and _claim(port):
            return port
    raise AssertionError(f"none of the ports {PORTS} is free")


def _is_free(port: int) -> bool:
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def _claim(port: int) -> bool:
    """Takes a name that one process of the machine can have, and that is free when it ends in any way."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0opsapi-test-port-{port}")
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def children(pid: int) -> list[int]:
    """Process ids of the direct children of a process."""
    try:
        return [int(number) for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def descendants(pid: int) -> list[int]:
    """Process ids of a process's children, theirs, and so on."""
    direct = children(pid)
    return [*direct, *(below for child in direct for below in descendants(child))]


def command_line(pid: int) -> str:
    """The command of a process, its arguments separated by spaces."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def assert_one_line(stderr: str, *words: str) -> None:
    """One line that says what is wrong; no traceback."""
    lines = [line for line in stderr.splitlines() if not line.startswith("20") or " ERROR " in line]
    assert len(lines) == 1, stderr
    for word in words:
        assert word in lines[0]
