"""The age of a server's newest backup, by a marker: a file that the backup job writes when it has succeeded.

No server knows when its last backup succeeded. The job knows it.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from automation.agent.engine import CheckStep, HostReading, Sample, ServerAddress
from automation.agent.faults import Problems
from automation.agent.machine.server import LONGEST_CALL, HangingCalls, NotHere
from automation.agent.rates import Why

METRIC, UNKNOWN = "BACKUP_AGE", "BACKUP_UNKNOWN"
"""The age in hours, only if it is known, and whether it is unknown: 1 or 0."""

MOST_AHEAD = 300.0
"""Seconds that the time of a marker may lie in the future: clocks of machines differ."""

_AN_HOUR = 3600.0
_TODO = "let the backup job write it after each success, where the user of the agent can see it"


class BackupMarkers:
    """The markers of servers. Not thread-safe."""

    def __init__(
        self,
        paths: Mapping[ServerAddress, Path],
        clock: Callable[[], float] = time.time,
        longest: float = LONGEST_CALL,
    ) -> None:
        """`clock` returns seconds since 1970. A file system gets `longest` seconds for its answer."""
        self._markers = {address: _Marker(path, longest) for address, path in paths.items()}
        self._clock = clock
        self._problems = Problems()
        self._met: set[ServerAddress] = set()

    def added(self, readings: Sequence[HostReading]) -> Sequence[HostReading]:
        """The readings; of measured servers, with the age of their backup, or saying that it is unknown.

        If the job has removed a marker, the age counts from the time that the marker had last.
        """
        if not self._markers:
            return readings
        self._note_unmet(reading.address for reading in readings)
        return [self._with_age(reading) for reading in readings]

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """By server with a marker: whether its age was reported last time, or why not."""
        return {
            address: {METRIC: Why.FAILED if marker.written is None else Why.REPORTED, UNKNOWN: Why.REPORTED}
            for address, marker in self._markers.items()
            if marker.was_read
        }

    def steps(self) -> Iterator[CheckStep]:
        """Try each marker."""
        for address, marker in self._markers.items():
            now = self._clock()
            fault = marker.look(now)
            age = "" if fault or marker.written is None else f" is {marker.age(now):.1f} hours old"
            yield CheckStep(f"backup of {address}: {marker.path}{age}", f"{fault}: {_TODO}" if fault else "")

    def _with_age(self, reading: HostReading) -> HostReading:
        marker = self._markers.get(reading.address)
        if marker is None or not reading.reachable or reading.problem:
            return reading
        now = self._clock()
        fault = marker.look(now)
        line = f"{reading.address}: the backup marker {marker.path} {fault}: {_TODO}"
        self._problems.report(f"the backup marker of {reading.address}", fault, line)
        age, taken = marker.age(now), datetime.fromtimestamp(now, timezone.utc)
        values = {UNKNOWN: 1.0} if age is None else {METRIC: age, UNKNOWN: 0.0}
        samples = [Sample(metric, number, taken) for metric, number in values.items()]
        return replace(reading, samples=[*reading.samples, *samples])

    def _note_unmet(self, reported: Iterable[ServerAddress]) -> None:
        self._met.update(reported)
        for address in self._markers.keys() - self._met:
            line = f"OPSAPI_AGENT_BACKUP_MARKERS names {address}, which this agent does not report"
            self._problems.report(address, "not reported", line)


class _Marker:
    """A file; `written` is its time in seconds since 1970, None if it is unknown."""

    def __init__(self, path: Path, longest: float) -> None:
        self.path = path
        self.written: float | None = None
        self.was_read = False
        self._calls = HangingCalls(longest)

    def age(self, now: float) -> float | None:
        """The age in hours; None if it is unknown."""
        return None if self.written is None else max(0.0, now - self.written) / _AN_HOUR

    def look(self, now: float) -> str:
        """Read the time of the file. Returns why it cannot be used; empty if it can."""
        self.was_read = True
        known, self.written = self.written, None
        try:
            status = self._calls.answer(self.path.stat)
        except NotHere:
            return "does not answer: its file system hangs"
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                self.written = known  # No newer backup: some jobs remove the file while they run.
            return f"cannot be seen ({error.strerror})"
        if not stat.S_ISREG(status.st_mode):
            return "is no regular file"
        if status.st_mtime > now + MOST_AHEAD:
            return "has a time in the future"
        self.written = status.st_mtime
        return ""
