"""Processor time and peak memory of a platform's processes, and the delay of another project's messages."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.cpu import cpu_seconds_by_kind
from tests.benchmarks.memory import field, kind_of
from tests.eventually import eventually
from tests.processes.conftest import ProcessCaller
from tests.processes.platform import command_line, descendants
from tests.processes.scenario import WatchedProject

_MEASURED = frozenset({"web", "worker"})
_RESET_PEAK = "5"
"""Of `/proc/<pid>/clear_refs` (proc(5))."""
_KIBIBYTES = 1024
_PATIENCE = 60.0
"""Seconds. A message that does not arrive in this time counts as this late."""
_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds of all processes, and the largest growth of a web process or worker, in MiB."""

    cpu_seconds: float
    memory: float


class Meter:
    """Measures the processes of a platform from now on."""

    def __init__(self, root: int) -> None:
        """`root` is the process of the supervisor."""
        self._root = root
        self._before = {pid: self._begin(pid) for pid in self._measured()}
        self._cpu = sum(cpu_seconds_by_kind(root).values())

    def read(self) -> Cost:
        """The use since the beginning."""
        cpu = sum(cpu_seconds_by_kind(self._root).values()) - self._cpu
        growths = [_status(pid, "VmHWM") - before for pid, before in self._before.items()]
        return Cost(max(0.0, cpu), max((0, *growths)) / _KIBIBYTES)

    def _measured(self) -> list[int]:
        return [pid for pid in descendants(self._root) if kind_of(command_line(pid)) in _MEASURED]

    @staticmethod
    def _begin(pid: int) -> int:
        with suppress(OSError):  # without the right to reset it, the peak is that of the whole life
            Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
        return _status(pid, "VmRSS")


def _status(pid: int, name: str) -> int:
    try:
        return field(Path(f"/proc/{pid}/status").read_text(), name)
    except (FileNotFoundError, ProcessLookupError):  # it ended
        return 0


class OtherProject:
    """A project next to the expensive project. Its host goes down and comes up again and again."""

    def __init__(self, project: WatchedProject[ProcessCaller]) -> None:
        self._project = project
        self._reachable = True
        self._stopped = threading.Event()
        self.delays: list[float] = []
        """Seconds from the beginning of each report to the arrival of its message."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Reports in the block. `delays` has at least one entry afterwards."""
        self.delays = []
        self._stopped.clear()
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def _run(self) -> None:
        while True:
            self.delays.append(self._change())
            if self._stopped.wait(_PAUSE):
                return

    def _change(self) -> float:
        received = self._project.receiver.requests
        before, begun = len(received), time.monotonic()
        self._reachable = not self._reachable
        self._project.report(reachable=self._reachable)
        with suppress(AssertionError):
            eventually(lambda: len(received) > before, _PATIENCE, longest_pause=0.02)
        return time.monotonic() - begun
