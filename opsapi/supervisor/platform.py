"""Runs the platform in the foreground: starts and ends database, web server and worker in order."""

import fcntl
import logging
import os
import select
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import TextIO

from django.conf import settings

from opsapi import metric_files, program
from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.cluster import find_binaries
from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from opsapi.embedded.upgrade import finish_upgrade
from opsapi.own_url import own_url
from opsapi.secret_files import make_private_directory
from opsapi.supervisor import StartError
from opsapi.supervisor.keeper import LONGEST_DELAY, Child, Keeper, exit_words, restart_delay
from opsapi.supervisor.listener import LISTENER_VARIABLE, READY_VARIABLE, check_tls, listen

# A supervisor may not have noticed yet that its parent was killed. A stopping supervisor writes STOPPING.
PATIENCE_SECONDS = 3.0
STOPPING_PATIENCE_SECONDS = 15.0
STOPPING = "stopping"
PAUSE = 0.05


class DirectoryLock:
    """A lock on a directory (flock(2)). It ends with this process, however the process ends."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Acquire the lock. Raises StartError: another process holds it, or the directory is not writable."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StartError(f"{self._path}: cannot be written: {error.strerror}") from None
        began = time.monotonic()
        while not _locked(file):
            holder = os.pread(file, 64, 0).decode(errors="replace").strip()
            patience = STOPPING_PATIENCE_SECONDS if holder.endswith(STOPPING) else PATIENCE_SECONDS
            if time.monotonic() - began > patience:
                os.close(file)
                raise StartError(f"{self._path.parent} is in use by a running platform, process {holder}")
            time.sleep(PAUSE)
        self._file = file
        self._write(str(os.getpid()))

    def say_stopping(self) -> None:
        """Write into the lock file that this process is stopping, so that another start waits longer."""
        self._write(f"{os.getpid()} {STOPPING}")

    def release(self) -> None:
        """Release the lock before the process ends."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, text: str) -> None:
        if self._file is not None:
            with suppress(OSError):  # On a full disk, the lock works without the text.
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, f"{text}\n".encode(), 0)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Maximum seconds until the end of the parent is noticed.
LONGEST_SLEEP = 0.5


class Wakeup:
    """Waits for signals. Create it once, in the main thread."""

    def __init__(self, parent: int | None = None) -> None:
        """`parent`: a process whose end is also a request to stop."""
        self._signalled = self._hung_up = self._reload = False
        self._parent = parent
        self._had_terminal = _has_terminal()
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for signum in STOP_SIGNALS:
            signal.signal(signum, self._request_stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup makes a process ignore it.
            signal.signal(signal.SIGHUP, self._request_reload)
        signal.signal(signal.SIGCHLD, _notice)

    def is_stop_requested(self) -> bool:
        """Whether a stop signal was received, or the parent or the terminal has ended."""
        # PR_SET_PDEATHSIG does not suffice: it is lost whenever root acts as another user (prctl(2)).
        if self._signalled or (self._parent is not None and os.getppid() != self._parent):
            return True
        # The system sends SIGHUP when a terminal is closed, possibly before the terminal is gone.
        return self._hung_up and self._had_terminal and not _has_terminal()

    def take_reload(self) -> bool:
        """Whether SIGHUP was received since the last call."""
        taken, self._reload = self._reload, False
        return taken

    def wait(self, seconds: float, *more: int) -> set[int]:
        """Sleep for at most half a second, until a signal or until a descriptor of `more` is readable.

        Return the readable descriptors.
        """
        seconds = min(max(seconds, 0.0), LONGEST_SLEEP)
        ready, _, _ = select.select([self._read, *more], [], [], seconds)
        if self._read in ready:
            os.read(self._read, 4096)
        return set(ready) - {self._read}

    def _request_stop(self, _signum: int, _frame: FrameType | None) -> None:
        self._signalled = True

    def _request_reload(self, _signum: int, _frame: FrameType | None) -> None:
        self._hung_up = self._reload = True


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _notice(_signum: int, _frame: FrameType | None) -> None:
    """Do nothing; without a handler, the signal would not wake the process."""


log = logging.getLogger("opsapi.supervisor")

_UNKNOWN_FAULT = "the preparation of the database failed; the lines above say why"
_WEB_CONFIG = "python:opsapi.gunicorn_conf"
# Everything must end within ten seconds.
WEB_SECONDS, WORKER_SECONDS, DATABASE_SECONDS = 4.0, 3.0, 2.0


class Platform:
    """A run of the platform with its settings. Its processes end in the opposite order of their start."""

    def __init__(self, output: TextIO, *, parent: int | None) -> None:
        """`output` gets a message when the platform is ready. The run ends with the process `parent`."""
        self._output = output
        self._data_dir: Path = settings.OPSAPI_DATA_DIR
        self._wakeup = Wakeup(parent)
        self._keepers: list[Keeper] = []
        self._web: Child | None = None
        self._metric_files: dict[str, str] = {}

    def run(self) -> None:
        """Run until SIGTERM or SIGINT, or until the parent or the terminal ends.

        SIGHUP replaces the web processes: the new processes read the TLS certificate again.
        A database or a preparation that dies is started again.

        Raises: StartError, EmbeddedDatabaseError, ImproperlyConfigured: the settings or the machine prevent
        the start.
        """
        check_tls(*(_file(name) for name in (settings.OPSAPI_TLS_CERT, settings.OPSAPI_TLS_KEY)))
        make_private_directory(self._data_dir)
        lock = DirectoryLock(self._data_dir)
        lock.acquire()
        self._metric_files = metric_files.prepare(self._data_dir)
        listener = listen(*settings.OPSAPI_BIND)
        with ExitStack() as ends:
            ends.callback(metric_files.remove, self._data_dir)
            if settings.OPSAPI_EMBEDDED_DATABASE:
                self._start_database(ends)
            advice = "" if self._wakeup.is_stop_requested() else self._prepare()
            if not self._wakeup.is_stop_requested():
                self._start_worker(ends)
                ready = self._start_web(ends, listener.fileno())
                ends.callback(listener.close)  # Otherwise clients would wait there in vain.
                self._watch(ready, advice)
            lock.say_stopping()
            log.info("stopping")
        log.info("stopped")

    def _start_database(self, ends: ExitStack) -> None:
        """Start the database, and return when it accepts connections or a stop is requested."""
        layout, binaries = Layout(self._data_dir), find_binaries(settings.OPSAPI_POSTGRESQL_BIN)
        server = Server(layout, binaries=binaries)
        server.check()
        finish_upgrade(layout, binaries=binaries)
        ends.callback(server.stop, DATABASE_SECONDS)
        self._keepers.append(Keeper("PostgreSQL", server))
        while not self._wakeup.is_stop_requested():
            pause = self._look()
            if not server.is_running:
                self._wakeup.wait(pause)
                continue
            with suppress(EmbeddedDatabaseError):  # The next look logs its end.
                server.wait_ready(self._wakeup.is_stop_requested)
                return

    def _prepare(self) -> str:
        """Check and migrate the database in a child, which a stop can end. Return advice for the operator.

        Raises: StartError: the preparation failed; with the reason that the child wrote to stdout. What
        PostgreSQL logs while it shuts down comes before the message.
        """
        for deaths in count(1):
            child = Child(
                "preparation", program.arguments("prepare", "--keep-trying"), stdout=subprocess.PIPE
            )
            child.start()
            while (status := child.poll()) is None and not self._wakeup.is_stop_requested():
                self._wakeup.wait(self._look())
            child.stop(1.0)
            said = child.read_output()
            if not status:
                break
            if status > 0:
                raise StartError(said.strip() or _UNKNOWN_FAULT)
            self._pause_after(status, deaths)
        return said

    def _pause_after(self, status: int, deaths: int) -> None:
        """Pause after the preparation was killed, longer each time."""
        pause = restart_delay(deaths)
        log.error("preparation failed (%s), trying again in %g s", exit_words(status), pause)
        until = time.monotonic() + pause
        while time.monotonic() < until and not self._wakeup.is_stop_requested():
            self._wakeup.wait(min(self._look(), until - time.monotonic()))

    def _start_worker(self, ends: ExitStack) -> None:
        worker = Child("worker", program.arguments("run_worker"), environment=self._metric_files)
        self._keep(worker, ends, WORKER_SECONDS)

    def _start_web(self, ends: ExitStack, listener: int) -> int:
        """Return a descriptor that becomes readable when the server answers requests."""
        ready, ready_end = os.pipe2(os.O_CLOEXEC)
        self._web = Child(
            "web server",
            program.module("gunicorn", "--chdir", str(program.base_dir()), "--config", _WEB_CONFIG),
            environment={
                LISTENER_VARIABLE: str(listener),
                READY_VARIABLE: str(ready_end),
                **self._metric_files,
            },
            descriptors=(listener, ready_end),
        )
        self._keep(self._web, ends, WEB_SECONDS)
        return ready

    def _keep(self, child: Child, ends: ExitStack, seconds: float) -> None:
        ends.callback(child.stop, seconds)
        self._keepers.append(Keeper(child.name, child))

    def _watch(self, ready: int, advice: str) -> None:
        announced = False
        while not self._wakeup.is_stop_requested():
            if self._wakeup.wait(self._look(), ready):
                os.read(ready, 4096)
                if not announced:
                    self._announce(advice)
                announced = True
            # The signal would end a web server that is still starting, which reads the files anyway.
            if self._wakeup.take_reload() and announced:
                self._reload_web()

    def _reload_web(self) -> None:
        if self._web is not None and not self._wakeup.is_stop_requested():
            log.info("reloading: new web processes replace the present ones")
            self._web.send(signal.SIGHUP)

    def _look(self) -> float:
        """Start the processes that are due. Return the seconds until the next look."""
        now = time.monotonic()
        return min((keeper.look(now) for keeper in self._keepers), default=LONGEST_DELAY)

    def _announce(self, advice: str) -> None:
        self._output.write(f"Ops API is ready: {own_url()}/\n{advice}")
        self._output.flush()


def _file(name: str) -> Path | None:
    return settings.BASE_DIR / name if name else None
