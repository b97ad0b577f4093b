"""CPU time of processes: what work costs, however busy the machine is with other things."""

import os
from collections.abc import Iterable
from pathlib import Path

from tests.processes.platform import descendants

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: Iterable[int]) -> float:
    """Seconds that processes and all below them have run so far; those that have ended are left out."""
    return sum(ticks(_stat(pid)) for root in roots for pid in (root, *descendants(root))) / _TICKS_PER_SECOND


def ticks(stat: str) -> int:
    """User and system time in clock ticks, from the text of `/proc/<pid>/stat` (proc(5)); 0 for none."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended after it was listed
        return ""
