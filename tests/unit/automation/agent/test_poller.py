"""Rounds: hosts beside each other, and nobody waits for the late."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from automation.agent.addresses import Address
from automation.agent.engine import Reading
from automation.agent.poller import Poller


class Host:
    """A host that answers when it is let."""

    def __init__(self, name: str, answer: Callable[[], object] = lambda: None) -> None:
        self.address = Address(name, 1)
        self._answer = answer
        self.polls = 0

    def poll(self) -> str:
        """Answers its name."""
        self.polls += 1
        self._answer()
        return self.address.hostname


class Engine:
    """Hosts that are known, and hosts that one of them leads to."""

    def __init__(self, *hosts: Host, leads_to: Sequence[Host] = ()) -> None:
        self.hosts = list(hosts)
        self._leads_to = list(leads_to)
        self._answers: list[str] = []

    def targets(self) -> Sequence[Host]:
        """All hosts."""
        return self.hosts

    def learn(self, target: Any, answer: Any) -> Sequence[Host]:
        """The first answer leads to others."""
        self._answers.append(answer)
        found, self._leads_to = self._leads_to, []
        self.hosts += found
        return found

    def readings(self) -> Sequence[Reading]:
        """All answers."""
        found, self._answers = self._answers, []
        return [Reading(Address(name, 1), "STANDALONE", reachable=True) for name in sorted(found)]

    def close(self) -> None:
        """Nothing runs."""


def names(readings: Sequence[Reading]) -> list[str]:
    """Which hosts were read."""
    return [one.address.hostname for one in readings]


def test_hosts_that_are_found_are_asked_in_the_same_round() -> None:
    found = Poller([Engine(Host("a"), leads_to=[Host("b"), Host("c")])], 60, threading.Event()).round()
    assert (names(found.readings), found.late) == (["a", "b", "c"], 0)


def test_a_late_host_delays_no_other_and_is_told_in_the_next_round() -> None:
    release = threading.Event()
    late = Host("late", release.wait)
    poller = Poller([Engine(Host("a"), late)], 2, threading.Event())
    first = poller.round()
    assert (names(first.readings), first.late) == (["a"], 1)
    second = poller.round()
    assert (names(second.readings), second.late, late.polls) == (["a"], 1, 1)
    release.set()
    assert "late" in names(poller.round().readings)


def test_a_stop_ends_a_round() -> None:
    stop = threading.Event()
    release = threading.Event()

    def stop_and_wait() -> None:
        stop.set()
        release.wait()

    host = Host("a", stop_and_wait)
    found = Poller([Engine(host)], 60, stop).round()
    release.set()
    assert found.readings == []
