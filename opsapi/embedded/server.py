"""Starts and stops the embedded PostgreSQL, forwards its log, and ends processes of an earlier start."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.cluster import DatabaseCluster, find_binaries
from opsapi.embedded.layout import Layout
from opsapi.embedded.owner import Owner, server_owner
from opsapi.secret_files import make_private_directory

log = logging.getLogger("opsapi.embedded")
server_log = logging.getLogger("postgres")

LEVELS = {
    "LOG": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.ERROR,
    "PANIC": logging.CRITICAL,
}
CONNECTION_ENDED = "terminating connection due to administrator command"
"""What a connection logs as FATAL that is open, or was closed a moment ago, when the server shuts down."""


class ServerLog:
    """Reads `stream` to its end in a thread: a full pipe would block the server."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._last_line = self._last_error = ""
        self.panicked: float | None = None
        """The time of a PANIC of the server, on the monotonic clock: it must end then."""
        self.shuts_down = False
        """Whether the platform shuts the server down: it then ends open connections, which is no error."""
        self._stream = stream
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def wait_end(self) -> None:
        """Wait until the last line of an ended server is forwarded, at most a second."""
        self._thread.join(timeout=1.0)

    def last_words(self) -> str:
        """Why the server has ended: its last error, otherwise its last line."""
        self.wait_end()
        return self._last_error or self._last_line or "it printed nothing"

    def _pass_on(self) -> None:
        with self._stream:
            for line in self._stream:
                level, text = parsed(line.decode(errors="replace").strip())
                if self.shuts_down and text == CONNECTION_ENDED:
                    level = logging.INFO
                self._last_line = text
                if level == logging.CRITICAL and self.panicked is None:
                    self.panicked = time.monotonic()
                if level >= logging.ERROR:
                    self._last_error = text
                server_log.log(level, "%s", text)


def parsed(line: str) -> tuple[int, str]:
    """Level and text of a log line; a line without a known severity is forwarded completely."""
    severity, separator, text = line.partition(":  ")
    return (LEVELS[severity], text) if separator and severity in LEVELS else (logging.INFO, line)


# Signals for an orphan, with seconds to wait: fast shutdown, immediate shutdown, kill.
FAST, IMMEDIATE, FORCED = signal.SIGINT, signal.SIGQUIT, signal.SIGKILL
PATIENCE = ((FAST, 10.0), (IMMEDIATE, 5.0), (FORCED, 5.0))
PAUSE = 0.02


@dataclass(frozen=True)
class ServerProcesses:
    """The processes of the server at `layout` that runs `binary`.

    Use it with the rights of the server's owner.
    """

    layout: Layout
    binary: Path

    def alive(self) -> frozenset[int]:
        """Return the process IDs of the server and its children, including orphans.

        Raises: EmbeddedDatabaseError: a PostgreSQL other than `binary` runs in the data directory.
        """
        home = self.layout.home.resolve()
        programs = {
            int(entry.name): _program(entry) for entry in Path("/proc").iterdir() if _is_in(entry, home)
        }
        for number, program in programs.items():
            if program is not None and program.name == "postgres" and program != self.binary:
                raise EmbeddedDatabaseError(
                    f"another PostgreSQL, process {number} ({program}), runs in {home}"
                )
        return frozenset(number for number, program in programs.items() if program == self.binary)

    def postmaster(self) -> int | None:
        """Return the process of the pid file; None if the file is missing, truncated or stale."""
        number = _first_number(self.layout.pid_file)
        return number if number in self.alive() else None

    def end(self) -> None:
        """End the processes of an earlier start, and wait for them.

        Raises: EmbeddedDatabaseError: a process survives SIGKILL.
        """
        for signum, seconds in PATIENCE:
            receivers = self._receivers(signum)
            _signal(receivers, signum)
            if self._gone_within(seconds if receivers else 0.0):
                return
        raise EmbeddedDatabaseError(f"processes {sorted(self.alive())} of an earlier start do not stop")

    def _receivers(self, signum: signal.Signals) -> frozenset[int]:
        if signum is not FAST:
            return self.alive()
        # Children interpret SIGINT differently; they follow their postmaster, or notice that it has ended.
        postmaster = self.postmaster()
        return frozenset() if postmaster is None else frozenset({postmaster})

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while alive := self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE)
        return not alive


def _is_in(entry: Path, home: Path) -> bool:
    """Whether the process works in a directory directly below `home`, like every server process."""
    if not entry.name.isdigit():
        return False
    try:
        return (entry / "cwd").readlink().parent == home
    except OSError:  # The process has ended meanwhile, or belongs to another user.
        return False


def _program(entry: Path) -> Path | None:
    try:
        # An upgrade may have replaced the file of the running program.
        return Path(str((entry / "exe").readlink()).removesuffix(" (deleted)"))
    except OSError:  # The process has ended meanwhile, or belongs to another user.
        return None


def _first_number(pid_file: Path) -> int | None:
    try:
        first = pid_file.read_bytes()[:64].split(b"\n")[0].strip()
    except FileNotFoundError:
        return None
    return int(first) if first.isdigit() else None


def _signal(numbers: frozenset[int], signum: signal.Signals) -> None:
    for number in numbers:
        try:
            os.kill(number, signum)
        except ProcessLookupError:  # The process ended before it got the signal.
            continue


SAY_EVERY = 5.0
# After a PANIC the server kills its processes within 5 s and ends. It may hang instead.
PANIC_PATIENCE = 30.0
# Line 8 of the pid file says whether the server accepts connections (PostgreSQL, pidfile.h).
STATUS_LINE = 7


class Server:
    """The server of a data directory. The caller holds the lock of the directory.

    Start it from the main thread: the server shuts down when that thread ends.
    """

    def __init__(self, layout: Layout, *, durable: bool = True, binaries: Path | None = None) -> None:
        """`binaries`: the directory of other server programs than the installed ones."""
        self.layout = layout
        self._durable = durable
        self._binaries = binaries
        self._owner: Owner | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._log: ServerLog | None = None

    @property
    def pid(self) -> int | None:
        """The process ID of the running server."""
        return self._process.pid if self._process else None

    def check(self) -> None:
        """Check that the user and the directories are usable.

        Other failures to start may be temporary.

        Raises: EmbeddedDatabaseError, ImproperlyConfigured: they are not usable.
        """
        self._owner = owner = server_owner()
        binaries = self._binaries or find_binaries()
        owner.require_access(binaries / "postgres")
        self._prepare_directories(owner)
        DatabaseCluster(self.layout, owner, binaries, self._durable).require_version()

    def start(self) -> None:
        """End the processes of an earlier start, create the cluster if it is missing, and start the server.

        The server may still be recovering when this returns.

        Raises: EmbeddedDatabaseError, ImproperlyConfigured: the server cannot be started.
        """
        self.check()
        owner, binaries = server_owner(), self._binaries or find_binaries()
        with owner.acting():
            ServerProcesses(self.layout, binaries / "postgres").end()
        cluster = DatabaseCluster(self.layout, owner, binaries, self._durable)
        if not cluster.exists():
            log.info("creating the database in %s", self.layout.home)
            cluster.create()
        cluster.remove_stale_locks()
        cluster.configure()
        self._process = cluster.start()
        self._log = ServerLog(self._process.stderr) if self._process.stderr else None

    def wait_ready(self, give_up: Callable[[], bool] = lambda: False) -> None:
        """Return when the server accepts connections or `give_up()` is true. Recovery may take long.

        Raises: EmbeddedDatabaseError: the server ended first; with its last output.
        """
        began = logged = time.monotonic()
        while not self._is_ready() and not give_up():
            if self.poll() is not None:
                words = self._log.last_words() if self._log else ""
                raise EmbeddedDatabaseError(f"PostgreSQL stopped while starting: {words}")
            if time.monotonic() - logged >= SAY_EVERY:
                logged = time.monotonic()
                log.info("PostgreSQL has been recovering or starting for %d s", logged - began)
            time.sleep(PAUSE)

    @property
    def is_running(self) -> bool:
        """Whether the server was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def poll(self) -> int | None:
        """Return the exit status if the server has ended; None while it runs or before it was started.

        A server that hangs after a PANIC is killed. The next start ends its other processes and recovers.
        """
        if self._process is None:
            return None
        if self._process.poll() is None and self._hangs():
            log.error("PostgreSQL did not stop within %g s after a PANIC and is killed", PANIC_PATIENCE)
            self._process.kill()
            self._process.wait()
        return self._process.poll()

    def stop(self, seconds: float = 60.0) -> None:
        """Shut down fast; after `seconds` immediately, after which the next start recovers."""
        if self._process is None:
            return
        if self._log:
            self._log.shuts_down = True
        for signum, patience in ((signal.SIGINT, seconds), (signal.SIGQUIT, 5.0), (signal.SIGKILL, None)):
            self._process.send_signal(signum)
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                log.warning("PostgreSQL did not stop within %g s after %s", patience, signum.name)
            else:
                break
        if self._log:
            self._log.wait_end()
        self._process = None

    def _hangs(self) -> bool:
        panicked = self._log.panicked if self._log else None
        return panicked is not None and time.monotonic() - panicked > PANIC_PATIENCE

    def _prepare_directories(self, owner: Owner) -> None:
        make_private_directory(self.layout.data_dir)
        owner.require_access(self.layout.home)
        for directory in {self.layout.home, self.layout.socket_dir}:
            _make_owned(directory, owner)

    def _is_ready(self) -> bool:
        if self._owner is None or self._process is None:
            return False
        with self._owner.acting():
            lines = _lines(self.layout.pid_file)
        ours = bool(lines) and lines[0].strip() == str(self._process.pid)
        return ours and len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == "ready"


def _make_owned(directory: Path, owner: Owner) -> None:
    """Create `directory` with mode 0700 for the owner.

    Raises: EmbeddedDatabaseError: it cannot be created, or belongs to another user.
    """
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        # Also if root created the directory and crashed before changing its owner.
        if owner.is_lent and directory.lstat().st_uid == os.geteuid() and not any(directory.iterdir()):
            os.chown(directory, owner.uid, owner.gid, follow_symlinks=False)
    except OSError as error:
        raise EmbeddedDatabaseError(f"{directory}: cannot be created: {error.strerror}") from None
    _refuse_foreign(directory, owner)


def _refuse_foreign(directory: Path, owner: Owner) -> None:
    status = directory.lstat()
    if not directory.is_dir() or directory.is_symlink():
        raise EmbeddedDatabaseError(f"{directory}: is not a directory")
    if status.st_uid != owner.uid:
        raise EmbeddedDatabaseError(
            f"{directory}: belongs to user id {status.st_uid}, not to {owner.name}, which PostgreSQL runs as:"
            " start as its owner or choose another OPSAPI_DATA_DIR"
        )
    if status.st_mode & 0o077:
        raise EmbeddedDatabaseError(
            f"{directory}: mode {status.st_mode & 0o777:04o} gives other users access; set mode 0700"
        )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []
