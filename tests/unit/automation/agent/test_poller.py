"""Rounds: hosts next to each other, and nobody waits for the late."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from automation.agent import poller as polling
from automation.agent.engine import HostReading, ServerAddress
from automation.agent.poller import Poller
from automation.agent.rates import Why


class FakeHost:
    """A host that answers when it is let."""

    def __init__(self, name: str, answer: Callable[[], object] = lambda: None) -> None:
        self.address = ServerAddress(name, 1)
        self._answer = answer
        self.polls = 0

    def poll(self) -> str:
        """Answers its name."""
        self.polls += 1
        self._answer()
        return self.address.hostname


class LookAnswer(str):
    """The answer of a host that another agent watches."""

    __slots__ = ()


class FakeEngine:
    """Hosts that are known, and hosts that one of them leads to."""

    role = "watcher"

    def __init__(self, *hosts: FakeHost, leads_to: Sequence[FakeHost] = ()) -> None:
        self.hosts = list(hosts)
        self._leads_to = list(leads_to)
        self._answers: list[str] = []
        self.looked_at: list[str] = []

    def targets(self) -> Sequence[FakeHost]:
        """All hosts."""
        return self.hosts

    def look(self, target: Any) -> Callable[[], Any] | None:
        """What it says is all that is wanted."""
        return lambda: LookAnswer(target.poll())

    def sets(self) -> Mapping[ServerAddress, str]:
        """Each is alone."""
        return {}

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """Nothing is measured."""
        return {}

    def learn(self, target: Any, answer: Any) -> Sequence[FakeHost]:
        """The first answer leads to others."""
        if isinstance(answer, LookAnswer):
            self.looked_at.append(str(answer))
        else:
            self._answers.append(answer)
        found, self._leads_to = self._leads_to, []
        self.hosts += found
        return found

    def readings(self) -> Sequence[HostReading]:
        """All answers."""
        found, self._answers = self._answers, []
        return [HostReading(ServerAddress(name, 1), "STANDALONE", reachable=True) for name in sorted(found)]

    def close(self) -> None:
        """Nothing runs."""


def names(readings: Sequence[HostReading]) -> list[str]:
    """Which hosts were read."""
    return [reading.address.hostname for reading in readings]


def test_hosts_that_are_found_are_asked_in_the_same_round() -> None:
    found = Poller(
        [FakeEngine(FakeHost("a"), leads_to=[FakeHost("b"), FakeHost("c")])], 60, threading.Event()
    ).round()
    assert (names(found.readings), found.late) == (["a", "b", "c"], 0)


@pytest.mark.slow
def test_a_late_host_delays_no_other_and_is_reported_in_the_next_round() -> None:
    release = threading.Event()
    late = FakeHost("late", release.wait)
    poller = Poller([FakeEngine(FakeHost("a"), late)], 2, threading.Event())
    first = poller.round()
    assert (names(first.readings), first.late) == (["a"], 1)
    second = poller.round()
    assert (names(second.readings), second.late, late.polls) == (["a"], 1, 1)
    release.set()
    assert "late" in names(poller.round().readings)


def test_a_stop_ends_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "LONGEST_ROUND", float("inf"))
    monkeypatch.setattr(polling, "MOST_SPREAD", 0.0)
    stop = threading.Event()
    release = threading.Event()

    def stop_and_wait() -> None:
        stop.set()
        release.wait()

    poller = Poller([FakeEngine(FakeHost("a", stop_and_wait))], float("inf"), stop)
    ended = threading.Event()

    def run() -> None:
        poller.round()
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    is_over = ended.wait(30)
    release.set()
    assert is_over


def raise_fault() -> None:
    """A fault of a host."""
    raise ValueError("mongodb://user:secret-word@db1")


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> float:
    """The period of rounds that end when every host has answered, however busy the machine is."""
    monkeypatch.setattr(polling, "LONGEST_ROUND", float("inf"))
    monkeypatch.setattr(polling, "MOST_SPREAD", 0.0)
    return float("inf")


def test_a_host_whose_poll_raises_is_asked_again(endless: float, caplog: pytest.LogCaptureFixture) -> None:
    broken = FakeHost("broken", raise_fault)
    poller = Poller([FakeEngine(broken, FakeHost("a"))], endless, threading.Event())
    assert (names(poller.round().readings), poller.round().late, broken.polls) == (["a"], 0, 2)
    assert "ValueError" in caplog.text
    assert "secret-word" not in caplog.text


class Broken(FakeEngine):
    """An engine that fails with the answer of one host, or altogether."""

    is_broken = False

    def learn(self, target: Any, answer: Any) -> Sequence[FakeHost]:
        """Fails with the host named so."""
        if answer == "hostile":
            raise TypeError("'int' object is not iterable")
        return super().learn(target, answer)

    def readings(self) -> Sequence[HostReading]:
        """Fails if the test asks for it."""
        if self.is_broken:
            raise ValueError("cannot convert float NaN to integer")
        return super().readings()


def test_an_answer_that_cannot_be_read_loses_no_other_host(endless: float) -> None:
    poller = Poller([Broken(FakeHost("hostile"), FakeHost("a"), FakeHost("b"))], endless, threading.Event())
    found = poller.round()
    assert (names(found.readings), found.late) == (["a", "b"], 0)


def test_an_engine_that_fails_loses_no_other_engine(endless: float) -> None:
    broken = Broken(FakeHost("a"))
    broken.is_broken = True
    poller = Poller([broken, FakeEngine(FakeHost("b"))], endless, threading.Event())
    assert names(poller.round().readings) == ["b"]


@pytest.mark.slow
def test_no_more_hosts_are_asked_at_a_time_than_allowed() -> None:
    guard = threading.Lock()
    asked: list[int] = [0, 0]

    def count() -> None:
        with guard:
            asked[0] += 1
            asked[1] = max(asked)
        turn.wait(0.01)
        with guard:
            asked[0] -= 1

    turn = threading.Event()
    hosts = [FakeHost(f"db{number}", count) for number in range(12)]
    engine = FakeEngine(hosts[0], leads_to=hosts[1:])
    found = Poller([engine], 60, threading.Event(), most_polls=3).round()
    assert (len(found.readings), found.late) == (12, 0)
    assert asked[1] <= 3


def test_polls_that_follow_each_other_share_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "IDLE_SECONDS", 60.0)
    threads: list[threading.Thread] = []
    hosts = [
        FakeHost(f"db{number}", lambda: threads.append(threading.current_thread())) for number in range(5)
    ]
    engine = FakeEngine(hosts[0], leads_to=hosts[1:])
    poller = Poller([engine], 3_600, threading.Event(), most_polls=1)
    poller.round()
    assert len(threads) == 5
    assert len(set(threads)) == 1


def test_a_thread_without_a_poll_ends_and_the_next_round_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "IDLE_SECONDS", 0.0)
    threads: list[threading.Thread] = []
    poller = Poller(
        [FakeEngine(FakeHost("a", lambda: threads.append(threading.current_thread())))], 2, threading.Event()
    )
    for _ in range(2):
        assert names(poller.round().readings) == ["a"]
        threads[-1].join()
    assert len(set(threads)) == 2


def only(*chosen: str) -> Callable[[Sequence[ServerAddress]], Callable[[ServerAddress], bool]]:
    """Hosts of these names are ours."""
    return lambda _: lambda address: address.hostname in chosen


@pytest.mark.slow
def test_hosts_that_another_agent_watches_are_looked_at_and_not_reported() -> None:
    first, second = FakeHost("a"), FakeHost("b")
    engine = FakeEngine(first, second, leads_to=[FakeHost("c")])
    found = Poller([engine], 60, threading.Event()).round(only("b"))
    assert (names(found.readings), found.others, found.found) == (["b"], 2, 1)
    assert sorted(engine.looked_at) == ["a", "c"]


@pytest.mark.slow
def test_a_host_that_is_not_ours_any_more_is_not_reported_when_it_answers_late() -> None:
    release = threading.Event()
    poller = Poller([FakeEngine(FakeHost("late", release.wait))], 2, threading.Event())
    assert poller.round().late == 1
    release.set()
    assert names(poller.round(only()).readings) == []


@pytest.mark.slow
def test_all_hosts_are_offered_before_any_is_asked() -> None:
    hosts = [FakeHost("a"), FakeHost("b")]
    offered: list[list[ServerAddress]] = []

    def choose(addresses: Sequence[ServerAddress]) -> Callable[[ServerAddress], bool]:
        offered.append(list(addresses))
        assert not any(host.polls for host in hosts)
        return lambda _: True

    Poller([FakeEngine(*hosts)], 60, threading.Event()).round(choose)
    assert offered == [[host.address for host in hosts]]
