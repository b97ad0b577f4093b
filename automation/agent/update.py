"""Replaces the file of the agent by the platform's, when the project says so and the versions differ.

The settings of the platform offer a file: its version, checksum and size. The agent downloads it, compares
the checksum, and runs its `--check`, while the rounds go on. Then the new file reports in a trial (`trial`),
while this process waits. Only a file that has sent a report gets the name of the program (`program`).

An agent tries at most one file an hour, at its own minute of the hour. So the agents of a fleet neither
download at the same time nor stop at the same time because of a wrong file, and a failed update is not
repeated without a pause.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import logging
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Callable
from urllib.parse import urlsplit

from automation.agent.client import Client, Refused, Unreachable
from automation.agent.faults import log_unexpected, printable
from automation.agent.files import write_whole
from automation.agent.program import LARGEST_BYTES, Program, has_sha256
from automation.agent.settings import PREFIX, Settings
from automation.agent.trial import TrialFailed

log = logging.getLogger("opsapi.agent")

FILE = "update"
"""The last trial, in the spool directory."""
NAME = "opsapi-agent.pyz"

PERIOD = 3600.0
"""Seconds in which all agents get their turn, and the least time between two tries of an agent."""
SHORTEST_TRIAL, LONGEST_TRIAL = 30.0, 180.0
"""Bounds of three intervals, in seconds. The platform considers a host down after four minutes."""
CHECK_SECONDS = 300.0
"""How long `--check` of a file may take. It connects to all servers."""
LARGEST_OUTPUT = 1_000_000
LONGEST_PROBLEM = 500
_JOIN_SECONDS = 2.0

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,50}")
_FAILED = "FAILED"
_INTERRUPTED = "the agent was stopped during its trial"


@dataclass(frozen=True)
class Offer:
    """The agent of the platform: its version, its SHA-256 in hexadecimal, and its bytes."""

    version: str
    sha256: str
    size: int


def read_offer(document: object) -> Offer | None:
    """The offer of an answer. Raises: ValueError: it is not readable."""
    if document is None:
        return None
    offer = document if isinstance(document, dict) else {}
    version, sha256, size = (offer.get(name) for name in ("version", "sha256", "size"))
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise ValueError("has no version")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("has no SHA-256")
    if not isinstance(size, int) or not 0 < size <= LARGEST_BYTES:
        raise ValueError(f"has no size of at most {LARGEST_BYTES} bytes")
    return Offer(version, sha256, size)


@dataclass(frozen=True)
class Try:
    """A try of a file: when it began, in seconds since 1970, and why it failed; empty if it did not."""

    version: str
    sha256: str
    began: float
    problem: str


class NotTaken(Exception):  # noqa: N818 - it is a result
    """The new file is not used; the message says why."""


@dataclass(frozen=True)
class CheckRun:
    """The exit status of `--check`, None if it took too long, and the lines that it printed."""

    status: int | None
    lines: Sequence[str]


Check = Callable[[Sequence[str]], CheckRun]
RunTrial = Callable[[Sequence[str], float], bool]
"""Runs a command in a trial of some seconds at most, as `trial.run_trial`."""


class CheckRuns:
    """Runs `--check` of a file. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def run(self, command: Sequence[str]) -> CheckRun:
        """Run a command to its end, at most CHECK_SECONDS. Raises: NotTaken: it cannot run."""
        with self._guard:
            if self._is_closed:
                raise NotTaken("the agent stops")
            try:
                process = self._running = subprocess.Popen(  # noqa: S603 - a file of the platform
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
            except OSError as error:
                raise NotTaken(f"it cannot run: {error.strerror}") from None
        late = threading.Event()

        def ends_late() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(CHECK_SECONDS, ends_late)
        timer.daemon = True
        timer.start()
        with process:
            octets = b"" if process.stdout is None else process.stdout.read(LARGEST_OUTPUT)
            if len(octets) == LARGEST_OUTPUT:
                process.kill()
            status = process.wait()
        timer.cancel()
        return CheckRun(None if late.is_set() else status, octets.decode(errors="replace").splitlines())

    def close(self) -> None:
        """Kill the command that runs."""
        with self._guard:
            self._is_closed = True
            if self._running is not None:
                self._running.kill()


def _is_safe(url: str) -> bool:
    """Whether an answer of the URL is protected on the way: the URL has TLS, or leads to this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def why_not(settings: Settings, program: Program | None) -> str:
    """Why an agent with these settings of its machine never replaces its file; empty if it does.

    `program` is None if the agent is installed as a package.
    """
    if not settings.update:
        return f"{PREFIX}UPDATE is off on the agent's machine"
    if program is None:
        return "the agent is not a single file: update its package or its image"
    if not _is_safe(settings.url):
        return f"{PREFIX}URL has no TLS, so the file could be replaced on the way"
    return program.fault()


class Updates:
    """Decides when to take the platform's file, and prepares it in a thread.

    The thread of the rounds calls all methods.
    """

    def __init__(
        self,
        program: Program | None,
        settings: Settings,
        version: str,
        client: Client,
        *,
        monotonic: Callable[[], float],
        clock: Callable[[], float],
        check: Check | None = None,
    ) -> None:
        """`program` is None if the agent is installed as a package. `version` is of the present file.

        `clock` returns seconds since 1970. Only the thread of the preparation uses `client`.
        """
        self._program, self._settings, self._version, self._client = program, settings, version, client
        self._monotonic, self._clock = monotonic, clock
        self._runs = CheckRuns()
        self._check = check or self._runs.run
        self._path = settings.spool_dir / FILE
        self._offer: Offer | None = None
        self._due = 0.0
        self._obstacle = ""
        self._last = self._stored()
        self._free_from = monotonic() + self._pause()
        self._ready: Offer | None = None
        self._thread: threading.Thread | None = None
        if program is not None and not program.fault():
            program.forget_new()  # Of a process that was killed.

    @property
    def problem(self) -> str:
        """Why this agent does not have the version that the platform offers; empty if nothing prevents it."""
        if self._offer is None:
            return ""
        if self._obstacle:
            return self._shown(self._offer.version, self._obstacle)
        last = self._last
        failed = last is not None and last.problem and last.sha256 == self._offer.sha256
        return self._shown(last.version, last.problem) if last is not None and failed else ""

    def follow(self, offer: Offer | None) -> None:
        """Take note of the file that the platform offers now."""
        wanted = None if offer is None or offer.version == self._version else offer
        obstacle = "" if wanted is None else why_not(self._settings, self._program)
        if wanted is not None and obstacle and (obstacle, wanted) != (self._obstacle, self._offer):
            log.warning("update: %s", self._shown(wanted.version, obstacle))
        self._obstacle = obstacle
        if wanted != self._offer:
            self._offer = wanted
            self._due = 0.0 if wanted is None else self._monotonic() + self._turn(wanted)

    def work(self) -> bool:
        """Prepare the file when its turn has come. Returns whether a file is ready for its trial."""
        self._thread = self._thread if self._thread and self._thread.is_alive() else None
        if self._ready is not None and self._ready != self._offer:
            self._ready = None
        now = self._monotonic()
        is_idle = self._thread is None and self._ready is None and not self._obstacle
        if self._offer and self._program and is_idle and now >= max(self._due, self._free_from):
            self._free_from = now + PERIOD
            arguments = [self._program, self._offer]
            self._thread = threading.Thread(target=self._prepare, args=arguments, name="update", daemon=True)
            self._thread.start()
        return self._ready is not None

    def close(self) -> None:
        """End a preparation. The new file stays if it is ready."""
        self._runs.close()
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)

    def hand_over(self, run_trial: RunTrial, interval: float) -> bool:
        """Try the new file, and put it in the place of the program if it works. `interval` is of the rounds.

        Returns whether the trial came to its end; False if the agent shall stop.
        """
        program, offer = self._program, self._ready
        if program is None or offer is None:
            return True
        self._ready = None
        seconds = max(SHORTEST_TRIAL, min(3.0 * interval, LONGEST_TRIAL))
        try:
            # Before the trial: a file that kills this process is not tried again at once.
            self._note(offer, _INTERRUPTED)
            _compare(program, offer)
            log.info("update: version %s reports on trial, at most %.0f seconds", offer.version, seconds)
            if not run_trial(program.command(is_new=True), seconds):
                self._forget_note()
                return False
            _compare(program, offer)
            program.take_new()
            self._note(offer, "")
            log.info(
                "update: version %s has sent a report and replaces version %s", offer.version, self._version
            )
        except (TrialFailed, NotTaken) as error:
            self._fails(offer, str(error), is_noted=True)
        except OSError as error:
            self._fails(offer, f"a file cannot be written: {error.strerror}", is_noted=True)
        finally:
            program.forget_new()
        return True

    def _turn(self, offer: Offer) -> float:
        """Seconds until the minute of the hour that belongs to this agent."""
        octets = hashlib.sha256(f"{self._settings.hostname} {offer.sha256}".encode()).digest()
        slot = int.from_bytes(octets[:8], "big") / 2**64 * PERIOD
        return (slot - self._clock()) % PERIOD

    def _prepare(self, program: Program, offer: Offer) -> None:
        try:
            self._fetch(program, offer)
            self._ready = offer
        except (NotTaken, Refused) as error:
            self._fails(offer, str(error))
        except Unreachable as error:
            self._fails(offer, f"it cannot be downloaded: {error}")
        except OSError as error:
            self._fails(offer, f"a file cannot be written: {error.strerror}")
        except Exception as error:  # noqa: BLE001 - an error in our code must not stop the monitoring.
            log_unexpected("update", error)
            self._fails(offer, f"unexpected {type(error).__name__}, see the log of the agent")

    def _fetch(self, program: Program, offer: Offer) -> None:
        if program.is_file(offer.sha256):
            raise NotTaken("the file on the disk is already this version: restart the agent")
        log.info("update: version %s is downloaded", offer.version)
        octets = self._client.download(NAME, offer.size + 1)
        if len(octets) != offer.size or not has_sha256(octets, offer.sha256):
            raise NotTaken("the checksum of the downloaded file is wrong")
        program.keep_new(octets)
        try:
            self._try_check(program)
        except BaseException:
            program.forget_new()
            raise

    def _try_check(self, program: Program) -> None:
        """Raises: NotTaken: `--check` of the new file fails at a step that works with the present file."""
        new = self._check(program.command("--check", is_new=True))
        if new.status == 0:
            return
        failed = [line for line in new.lines if line.startswith(_FAILED)]
        if new.status is None:
            raise NotTaken(f"--check did not end within {CHECK_SECONDS:.0f} seconds")
        if new.status == 1 and failed:
            # A server that is down fails with each file.
            known = self._check(program.command("--check"))
            failed = [line for line in failed if line not in known.lines]
            if not failed:
                return
        raise NotTaken(f"--check fails: {failed[0] if failed else f'it ended with status {new.status}'}")

    def _shown(self, version: str, problem: str) -> str:
        text = f"version {version} is not used: {problem}".replace(self._settings.private_key, "***")
        return printable(text, LONGEST_PROBLEM) or ""

    def _fails(self, offer: Offer, problem: str, *, is_noted: bool = False) -> None:
        self._last = Try(offer.version, offer.sha256, self._clock(), problem)
        log.error("update: %s; the next try is in an hour", self._shown(offer.version, problem))
        if is_noted:
            with contextlib.suppress(OSError):  # The disk has the note that the trial was interrupted.
                self._write(self._last)

    def _note(self, offer: Offer, problem: str) -> None:
        self._last = Try(offer.version, offer.sha256, self._clock(), problem)
        self._write(self._last)

    def _write(self, tried: Try) -> None:
        write_whole(self._path, json.dumps(asdict(tried)).encode())

    def _forget_note(self) -> None:
        self._last = None
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _stored(self) -> Try | None:
        try:
            kept: Mapping[str, Any] = json.loads(self._path.read_bytes())
            return Try(str(kept["version"]), str(kept["sha256"]), float(kept["began"]), str(kept["problem"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _pause(self) -> float:
        """Seconds until the first try: a trial is not repeated by a restart."""
        if self._last is None:
            return 0.0
        passed = self._clock() - self._last.began
        # A try in the future: the clock was set back.
        return max(0.0, PERIOD - passed) if passed >= 0 else PERIOD


def _compare(program: Program, offer: Offer) -> None:
    if not program.has_new(offer.sha256):
        raise NotTaken("the downloaded file was changed on the disk")
