"""Keeps reports in files until they are sent: in order, limited in bytes and age, and never in part.

A file `<number>-<key>.json` contains a report exactly as it is sent. The number gives the order, the key is
the Idempotency-Key, and the modification time is when the report was added. A file is written under another
name and renamed once it is on the disk. `Sender` sends the reports, oldest first, each report once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import random
import re
import stat
import threading
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from automation.agent.client import Client, NoChallenge, PlatformAnswer, Unreachable, clock_words
from automation.agent.faults import log_unexpected
from automation.agent.files import UNFINISHED, write_whole
from automation.agent.report import (
    OBSERVED,
    WAITING,
    with_hostname,
    with_time,
    with_waiting,
    without,
    without_measurements,
    without_time,
)

log = logging.getLogger("opsapi.agent")

OLDEST_SECONDS = (24 * 60 - 5) * 60
"""The platform rejects reports that are older than a day."""
OLDEST_UNTIMED_SECONDS = 55 * 60
"""An older platform accepts no time of observation, and rejects samples that are older than an hour."""

LARGEST_BYTES = 200_000_000
ROUND_SECONDS = 1.0
MOST_IN_MEMORY = 20
"""Maximum number of reports in memory while the disk cannot be written."""

_WRONG_CLOCK = (
    "The clock of the agent is wrong: the platform rejects the times of its measurements."
    " Set the clock of the agent's machine."
)

_NAME = re.compile(r"([0-9]{15})-([0-9a-f]{32})\.json")


class SpoolInUse(Exception):  # noqa: N818 - what the directory is
    """Another agent uses the directory."""


@dataclass(frozen=True)
class Waiting:
    """A waiting report: the name of its file, also for a report in memory."""

    name: str

    @property
    def key(self) -> str:
        return self.name[16:48]


class Spool:
    """A directory of reports. Thread-safe; a single process can use the directory."""

    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float],
        *,
        largest: int = LARGEST_BYTES,
        oldest: float = OLDEST_SECONDS,
    ) -> None:
        """`clock` returns seconds since 1970; `largest` is in bytes, `oldest` in seconds.

        Raises: SpoolInUse: another process uses the directory. OSError: the directory cannot be created or
        written, belongs to another user, or is open to others.
        """
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_owner(directory)
        self._directory, self._clock = directory, clock
        self._largest, self._oldest = largest, oldest
        self._guard = threading.Lock()
        self._lock = _locked(directory / "lock")
        for left in directory.iterdir():
            if left.name.endswith(UNFINISHED) and _NAME.fullmatch(left.name[: -len(UNFINISHED)]):
                left.unlink()
        files = {path.name: path.stat() for path in directory.iterdir() if _NAME.fullmatch(path.name)}
        self._sizes = {name: status.st_size for name, status in files.items()}
        self._since = {name: status.st_mtime for name, status in files.items()}
        self._unwritten: dict[str, bytes] = {}
        self._unchecked = set(files)
        self._last = max((int(name[:15]) for name in self._sizes), default=0)

    def close(self) -> None:
        """Release the directory."""
        os.close(self._lock)

    def __len__(self) -> int:
        with self._guard:
            return len(self._sizes) + len(self._unwritten)

    def put(self, body: bytes) -> None:
        """Add a report. If the spool is full, the oldest reports are dropped.

        While the disk cannot be written, the newest reports wait in memory and are lost when the agent ends.
        """
        with self._guard:
            # Numbers increase even if the clock is set back.
            self._last = max(self._last + 1, int(self._clock() * 1000))
            name = f"{self._last:015d}-{uuid.uuid4().hex}.json"
            while self._sizes and sum(self._sizes.values()) + len(body) > self._largest:
                self._drop(min(self._sizes), f"the spool is full ({self._largest} bytes)")
            self._since[name] = self._clock()
            try:
                self._write(name, body)
                self._sizes[name] = len(body)
            except OSError as error:
                log.error("spool: a report stays in memory: %s", error.strerror)
                with contextlib.suppress(OSError):
                    (self._directory / name).unlink()  # exists if only the sync of the directory failed
                self._unwritten[name] = body
                for old in sorted(self._unwritten)[:-MOST_IN_MEMORY]:
                    self._drop(old, f"{MOST_IN_MEMORY} newer reports wait in memory")

    def first(self, oldest: float = OLDEST_SECONDS) -> tuple[Waiting, bytes] | None:
        """The oldest report that is not too old, and its body; None if no report waits.

        `oldest`: the maximum age in seconds.

        Raises: OSError: the report cannot be read now; it stays.
        """
        with self._guard:
            for name in sorted([*self._sizes, *self._unwritten]):
                if self._clock() - self._since[name] > min(oldest, self._oldest):
                    self._drop(name, "too old for the platform")
                    continue
                body = self._unwritten.get(name) or self._read(name)
                if body is not None:
                    return Waiting(name), body
        return None

    def newer(self, waiting: Waiting) -> int:
        """How many reports of later rounds wait. The reports of a round are added within a second."""
        with self._guard:
            own = self._since.get(waiting.name, self._clock())
            return sum(
                name > waiting.name and abs(since - own) > ROUND_SECONDS
                for name, since in self._since.items()
            )

    def since(self, waiting: Waiting) -> float:
        """When the report was added, in seconds since 1970."""
        with self._guard:
            return self._since.get(waiting.name, self._clock())

    def replace(self, waiting: Waiting, body: bytes) -> None:
        """Replace the body of a report and keep its key.

        Raises: OSError: the disk cannot be written; the old body stays.
        """
        with self._guard:
            if waiting.name in self._unwritten:
                self._unwritten[waiting.name] = body
            elif waiting.name in self._sizes:
                self._write(waiting.name, body)
                self._sizes[waiting.name] = len(body)

    def remove(self, waiting: Waiting) -> None:
        """Remove a report that was sent or rejected."""
        with self._guard:
            self._forget(waiting.name)

    def _read(self, name: str) -> bytes | None:
        """The body. A damaged file is dropped, and the result is None. Raises OSError for any other fault."""
        try:
            body = (self._directory / name).read_bytes()
            if name in self._unchecked or len(body) != self._sizes.get(name):
                json.loads(body)
            self._unchecked.discard(name)
        except (FileNotFoundError, ValueError) as error:
            self._drop(name, f"it cannot be read ({type(error).__name__})")
            return None
        return body

    def _drop(self, name: str, why: str) -> None:
        log.warning("spool: report %s is dropped: %s", name, why)
        self._forget(name)

    def _forget(self, name: str) -> None:
        self._unwritten.pop(name, None)
        self._since.pop(name, None)
        if self._sizes.pop(name, None) is not None:
            with contextlib.suppress(OSError):
                (self._directory / name).unlink()

    def _write(self, name: str, body: bytes) -> None:
        # The modification time is the age: numbers also increase while the clock is wrong.
        write_whole(self._directory / name, body, modified=self._since[name])


def check_owner(directory: Path) -> None:
    """Raise OSError if other users can access the directory: they could read, add or delete reports."""
    status = directory.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError("it belongs to another user: choose a directory that belongs to the agent")
    if status.st_mode & 0o077:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        raise PermissionError(f"it is open to other users (mode {mode}): chmod 700 {directory}")


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise SpoolInUse(f"another agent uses {path.parent}: give each agent its own directory") from None
    return descriptor


FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
_MOST_REDUCTIONS = 50
_REFUSED = frozenset({400, 413, 415, 422})
"""The platform would reject a repeat again."""
_DONE_BEFORE = "IDEMPOTENCY_KEY_REUSED"
"""The platform has accepted the report, and its answer was lost."""
_SETTINGS = frozenset({401, 403, 404, 405})
"""The key, the project or the URL is wrong and may be corrected."""
_OTHER_PATH = "INVALID_AUTHORIZATION_URI"
"""A proxy in front of the platform rewrites paths. An operator can correct this, so reports wait."""


class Sender:
    """A thread that sends reports until it is stopped.

    An older platform rejects metrics or fields that it does not know and names them. The report is sent again
    without them, and later reports leave them out (`unknown`) until the agent restarts. This is simpler than
    asking for `metricNames` first, and also works for reports that waited during an upgrade of the platform.

    Each attempt says how many reports of later rounds wait at that moment. So a repeat can differ from the
    report that the platform has already accepted. The platform then refuses the Idempotency-Key, and the
    report counts as sent.
    """

    def __init__(
        self, client: Client, spool: Spool, hostname: str, on_sent: Callable[[], None] = lambda: None
    ) -> None:
        """`hostname`: the name of the agent. The thread calls `on_sent` after each accepted report."""
        self._client, self._spool, self._on_sent = client, spool, on_sent
        self._hostname = hostname
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
        self._unknown: frozenset[str] = frozenset()
        self._reductions: dict[str, int] = {}
        self._untimed: set[str] = set()
        self._failure = ""
        self._has_wrong_clock = False
        self.sent = 0

    @property
    def unknown(self) -> Collection[str]:
        """Names that the platform does not know: metrics, or the fields labels, engine, observed, waiting."""
        return self._unknown

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Wake up: the spool has a new report."""
        self._wake.set()

    def stop(self, seconds: float) -> None:
        """Stop after the current request, waiting at most `seconds`. Other reports stay in the spool."""
        self._stop.set()
        self._wake.set()
        self._thread.join(seconds)

    def drain(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until everything is sent, at most `seconds` and not after `stop`.

        Returns whether the spool is empty.
        """
        end = time.monotonic() + seconds
        while len(self._spool) and time.monotonic() < end and not stop.wait(0.02):
            pass
        return not len(self._spool)

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            self._wake.clear()
            try:
                is_untimed = OBSERVED in self._unknown
                waiting = self._spool.first(OLDEST_UNTIMED_SECONDS if is_untimed else OLDEST_SECONDS)
                if waiting is None:
                    if not self._stop.is_set():  # A stop before `clear` woke nobody.
                        self._wake.wait()
                    continue
                wait = self._send(*waiting)
            except OSError as error:
                self._fails(f"the spool cannot be read: {error.strerror}")
                wait = 0.0
            except Exception as error:  # noqa: BLE001 - an error in our code must not stop the reports.
                log_unexpected("sender", error)
                wait = pause
            if wait is None:
                pause = FIRST_PAUSE
                continue
            self._stop.wait(wait or pause * random.uniform(0.75, 1.25))  # noqa: S311 - spreads repeats, is no secret
            pause = min(pause * 2, LONGEST_PAUSE)

    def _send(self, waiting: Waiting, body: bytes) -> float | None:
        """Send a report. Returns None if it is done, otherwise the seconds to wait, 0 for the usual pause."""
        try:
            answer = self._client.report(self._with_times(waiting, body), waiting.key)
        except (Unreachable, NoChallenge) as error:
            self._fails(f"the platform does not answer: {error}")
            return 0.0
        if answer.accepted or answer.code == _DONE_BEFORE:
            self._works()
            self.sent += 1
            if answer.accepted and waiting.name not in self._reductions:
                self._clocks_agree()
            self._done(waiting)
            self._on_sent()
            return None
        is_setting = answer.status in _SETTINGS or answer.code == _OTHER_PATH
        if answer.status in _REFUSED and not is_setting:
            self._works()
            return self._refused(waiting, body, answer)
        if is_setting:
            self._fails(f"the platform rejects the API key, the project or the URL: {answer.detail}")
            return answer.retry_after or LONGEST_PAUSE
        self._fails(f"the platform does not accept reports now: {answer.detail}")
        return answer.retry_after or 0.0

    def _with_times(self, waiting: Waiting, body: bytes) -> bytes:
        """The report as it is sent now, under the current name of the agent."""
        body = with_hostname(body, self._hostname)
        is_timed = OBSERVED not in self._unknown and waiting.name not in self._untimed
        body = with_time(body, self._spool.since(waiting)) if is_timed else without_time(body)
        return body if WAITING in self._unknown else with_waiting(body, self._spool.newer(waiting))

    def _refused(self, waiting: Waiting, body: bytes, answer: PlatformAnswer) -> float | None:
        """Send the report without the rejected parts, or drop it, so that it does not block the others."""
        reductions = self._reductions.get(waiting.name, 0)
        reduced, unknown = self._reduced(waiting, body, answer)
        if fresh := unknown - self._unknown:
            names = ", ".join(sorted(fresh))
            log.warning("this older platform does not know %s: restart the agent after you upgrade it", names)
            self._unknown |= fresh
        if reduced is None or reductions >= _MOST_REDUCTIONS:
            log.error("the platform rejects report %s, which is dropped: %s", waiting.key, answer.detail)
            self._done(waiting)
            return None
        if not unknown:
            if all(field == OBSERVED or field.endswith(".timestamp") for field in answer.bad_fields):
                # The platform lists only some of many faults. The clocks differ, and hosts must not look down
                # because of that.
                self._clocks_differ(answer)
                reduced = without_measurements(reduced, None if "problem" in self._unknown else _WRONG_CLOCK)
            else:
                log.error("the platform rejects part of report %s: %s", waiting.key, answer.detail)
        self._reductions[waiting.name] = reductions + 1
        try:
            # Store it before sending: a repeat after a restart needs the same body.
            self._spool.replace(waiting, reduced)
        except OSError as error:
            self._fails(f"the spool cannot be written: {error.strerror}")
            return 0.0
        return None

    def _reduced(
        self, waiting: Waiting, body: bytes, answer: PlatformAnswer
    ) -> tuple[bytes | None, frozenset[str]]:
        """The report without the rejected parts, and the names that the platform does not know.

        A platform that knows times of observation rejects a time if the clock of this machine is wrong. Then
        only the newest report is sent, without its time. An older report without its time would count as the
        newest.
        """
        if answer.status != 400:
            return None, frozenset()
        of_report = {OBSERVED, WAITING} & set(answer.bad_fields)
        unknown = frozenset(of_report & set(answer.unknown_fields))
        if OBSERVED in of_report:
            if OBSERVED not in unknown and len(self._spool) > 1:
                return None, unknown
            body = without_time(body)
            self._untimed.add(waiting.name)
        others = [name for name in answer.bad_fields if name not in of_report]
        if of_report and not others:
            return body, unknown
        reduced, names = without(body, others)
        return reduced, unknown | names

    def _clocks_differ(self, answer: PlatformAnswer) -> None:
        """Log it once, until the platform accepts the times of a report again."""
        if self._has_wrong_clock:
            return
        self._has_wrong_clock = True
        clock = clock_words(answer.date) if answer.date is not None else f"wrong ({answer.detail})"
        todo = "correct it, for example with NTP. Until then, measurements are not stored"
        log.error("the clock of this machine is %s: %s", clock, todo)

    def _clocks_agree(self) -> None:
        if self._has_wrong_clock:
            log.info("the clocks agree again")
        self._has_wrong_clock = False

    def _done(self, waiting: Waiting) -> None:
        self._untimed.discard(waiting.name)
        self._reductions.pop(waiting.name, None)
        self._spool.remove(waiting)

    def _fails(self, why: str) -> None:
        if why != self._failure:
            log.error("%s; reports wait in the spool", why)
        self._failure = why

    def _works(self) -> None:
        if self._failure:
            log.info("the platform accepts reports again")
        self._failure = ""
