"""CPU time of processes: what work costs, however busy the machine is with other things."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.benchmarks.memory import kind_of
from tests.processes.platform import command_line, descendants

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: Iterable[int]) -> float:
    """The processor time of the running processes and their descendants, in seconds."""
    return sum(ticks(_stat(pid)) for root in roots for pid in (root, *descendants(root))) / _TICKS_PER_SECOND


def cpu_seconds_by_kind(root: int) -> Mapping[str, float]:
    """As `cpu_seconds`, for each kind of process: PostgreSQL, web, worker, supervisor."""
    found: dict[str, float] = defaultdict(float)
    for pid in (root, *descendants(root)):
        found[kind_of(command_line(pid))] += ticks(_stat(pid)) / _TICKS_PER_SECOND
    return found


def ticks(stat: str) -> int:
    """User and system time in clock ticks, from the text of `/proc/<pid>/stat` (proc(5)); 0 for none."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended after it was listed
        return ""
