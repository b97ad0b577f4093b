"""Sends the reports in the spool, oldest first, each report once."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Collection

from automation.agent.client import Client, PlatformAnswer, Unreachable, clock_words
from automation.agent.digest import NoChallenge
from automation.agent.faults import log_unforeseen
from automation.agent.report import without, without_measurements
from automation.agent.spool import Spool, Waiting

log = logging.getLogger("opsapi.agent")

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
_MOST_REDUCTIONS = 50
_ACCEPTED = frozenset({200, 202})
_REFUSED = frozenset({400, 413, 415, 422})
"""The platform would reject a repeat again."""
_SETTINGS = frozenset({401, 403, 404, 405})
"""The key, the project or the URL is wrong and may be corrected."""


class Sender:
    """A thread that sends reports until it is stopped.

    An older platform rejects metrics or labels that it does not know and names them. The report is sent again
    without them, and later reports leave them out (`unknown`) until the agent restarts. This is simpler than
    asking for `metricNames` first, and also works for reports that waited during an upgrade of the platform.
    """

    def __init__(self, client: Client, spool: Spool) -> None:
        """Work starts with `start`."""
        self._client, self._spool = client, spool
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
        self._unknown: frozenset[str] = frozenset()
        self._reductions: dict[str, int] = {}
        self._failure = ""
        self.sent = 0

    @property
    def unknown(self) -> Collection[str]:
        """Names of metrics that the platform does not know, and "labels" if it knows no labels."""
        return self._unknown

    def start(self) -> None:
        """Start to send."""
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
                waiting = self._spool.first()
                if waiting is None:
                    if not self._stop.is_set():  # A stop before `clear` woke nobody.
                        self._wake.wait()
                    continue
                wait = self._send(*waiting)
            except OSError as error:
                self._fails(f"the spool cannot be read: {error.strerror}")
                wait = 0.0
            except Exception as error:  # noqa: BLE001 - an error in our code must not stop the reports.
                log_unforeseen("sender", error)
                wait = pause
            if wait is None:
                pause = FIRST_PAUSE
                continue
            self._stop.wait(wait or pause * random.uniform(0.75, 1.25))  # noqa: S311 - spreads repeats, is no secret
            pause = min(pause * 2, LONGEST_PAUSE)

    def _send(self, waiting: Waiting, body: bytes) -> float | None:
        """Send a report. Returns None if it is done, otherwise the seconds to wait, 0 for the usual pause."""
        try:
            answer = self._client.report(body, waiting.key)
        except (Unreachable, NoChallenge) as error:
            self._fails(f"the platform does not answer: {error}")
            return 0.0
        if answer.status in _ACCEPTED:
            self._works()
            self.sent += 1
            self._done(waiting)
            return None
        if answer.status in _REFUSED:
            self._works()
            return self._refused(waiting, body, answer)
        if answer.status in _SETTINGS:
            self._fails(f"the platform rejects the API key, the project or the URL: {answer.detail}")
            return answer.retry_after or LONGEST_PAUSE
        self._fails(f"the platform does not accept reports now: {answer.detail}")
        return answer.retry_after or 0.0

    def _refused(self, waiting: Waiting, body: bytes, answer: PlatformAnswer) -> float | None:
        """Send the report without the rejected parts, or drop it, so that it does not block the others."""
        reductions = self._reductions.get(waiting.name, 0)
        reduced, unknown = without(body, answer.bad_fields) if answer.status == 400 else (None, frozenset())
        if fresh := unknown - self._unknown:
            names = ", ".join(sorted(fresh))
            log.warning("this older platform does not know %s: restart the agent after you upgrade it", names)
            self._unknown |= fresh
        if reduced is None or reductions >= _MOST_REDUCTIONS:
            log.error("the platform rejects report %s, which is dropped: %s", waiting.key, answer.detail)
            self._done(waiting)
            return None
        if not unknown:
            log.error("the platform rejects part of report %s: %s", waiting.key, answer.detail)
            if all(field.endswith(".timestamp") for field in answer.bad_fields):
                # The platform lists only some of many faults. The clocks differ, and hosts must not look down
                # because of that.
                self._report_clock(answer)
                reduced = without_measurements(body)
        self._reductions[waiting.name] = reductions + 1
        try:
            # Store it before sending: a repeat after a restart needs the same body.
            self._spool.replace(waiting, reduced)
        except OSError as error:
            self._fails(f"the spool cannot be written: {error.strerror}")
            return 0.0
        return None

    def _done(self, waiting: Waiting) -> None:
        self._reductions.pop(waiting.name, None)
        self._spool.remove(waiting)

    def _report_clock(self, answer: PlatformAnswer) -> None:
        if answer.date is not None:
            log.error(
                "the clock of this machine is %s: correct it, for example with NTP", clock_words(answer.date)
            )

    def _fails(self, why: str) -> None:
        if why != self._failure:
            log.error("%s; reports wait in the spool", why)
        self._failure = why

    def _works(self) -> None:
        if self._failure:
            log.info("the platform accepts reports again")
        self._failure = ""
