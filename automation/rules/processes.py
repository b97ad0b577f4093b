"""The progress of each process, from the wanted and the reported processes. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The version of the configuration that a process has reached; 0 before the first report."""

    name: str
    hostname: str
    goal_version: int
    error: str | None = None


def process_states(wanted: Iterable[tuple[str, str]], reported: Iterable[ProcessState]) -> list[ProcessState]:
    """By name: the processes of the document by name and hostname, and other reported processes.

    A process without a report has reached nothing, so a client that waits for all processes waits for it,
    too.
    """
    states = {name: ProcessState(name, hostname, 0) for name, hostname in wanted}
    states |= {process.name: process for process in reported}
    return sorted(states.values(), key=lambda process: process.name)
