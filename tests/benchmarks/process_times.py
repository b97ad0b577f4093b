"""The processor time of a process, from `/proc`. Pure but for that: both sides of a measurement import it."""

import os
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def process_seconds(pid: int) -> float:
    """The processor time of a process, in seconds; 0 if it has ended."""
    return ticks(_stat(pid)) / _TICKS_PER_SECOND


def ticks(stat: str) -> int:
    """User and system time in clock ticks, from the text of `/proc/<pid>/stat` (proc(5)); 0 for none."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended after it was listed
        return ""
