"""CPU time of processes: what work costs, however busy the machine is with other things."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tests.benchmarks.memory import kind_of
from tests.benchmarks.process_times import process_seconds
from tests.processes.platform import command_line, descendants


def cpu_seconds(roots: Iterable[int]) -> float:
    """The processor time of the running processes and their descendants, in seconds."""
    return sum(process_seconds(pid) for root in roots for pid in (root, *descendants(root)))


def cpu_seconds_by_kind(root: int) -> Mapping[str, float]:
    """As `cpu_seconds`, for each kind of process: PostgreSQL, web, worker, supervisor."""
    found: dict[str, float] = defaultdict(float)
    for pid in (root, *descendants(root)):
        found[kind_of(command_line(pid))] += process_seconds(pid)
    return found
