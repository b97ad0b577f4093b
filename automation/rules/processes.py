"""How far each process has come, of the wanted and the reported processes. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The version of the configuration a process has reached; 0 before any was reported."""

    name: str
    hostname: str
    goal_version: int
    error: str | None = None


def process_states(wanted: Iterable[tuple[str, str]], reported: Iterable[ProcessState]) -> list[ProcessState]:
    """By name: the processes the document names, by name and hostname, and the others that are reported.

    One that nobody has reported yet has reached nothing: whoever waits for all of them waits for it too.
    """
    states = {name: ProcessState(name, hostname, 0) for name, hostname in wanted}
    states |= {one.name: one for one in reported}
    return sorted(states.values(), key=lambda one: one.name)
