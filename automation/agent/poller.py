"""Rounds: a thread polls a single host at a time, so that a slow host delays neither others nor the round."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from automation.agent.engine import DatabaseEngine, HostReading, HostToPoll, ServerAddress
from automation.agent.faults import log_unexpected

MOST_SPREAD = 5.0
"""Seconds over which the polls of a round are spread."""

LONGEST_ROUND = 10.0
"""Seconds after which a round ends without the late hosts."""

MOST_POLLS = 256
"""Maximum number of parallel polls; other hosts wait for an answer."""


IDLE_SECONDS = 10.0
"""Seconds after which a thread without a poll ends."""


@dataclass(frozen=True)
class PollRound:
    """The result of a round, with its duration in seconds. Late hosts are reported when they answer.

    `others` counts hosts of other agents; `found` counts the ones among them that were unknown before the
    round.
    """

    readings: Sequence[HostReading]
    late: int
    seconds: float
    others: int = 0
    found: int = 0


Choice = Callable[[ServerAddress], bool]
"""Whether this agent watches a host."""


_Poll = tuple[DatabaseEngine, HostToPoll, Callable[[], Any]]


class _Failed:
    """The answer of a poll that raised an exception."""


class Poller:
    """Polls the hosts of all engines. Not thread-safe."""

    def __init__(
        self,
        engines: Sequence[DatabaseEngine],
        interval: float,
        stop: threading.Event,
        most_polls: int = MOST_POLLS,
    ) -> None:
        """`interval` in seconds, from the start of a round to the start of the next round."""
        self._stop, self._most_polls = stop, most_polls
        self._answers: queue.SimpleQueue[tuple[DatabaseEngine, HostToPoll, Any]] = queue.SimpleQueue()
        self._polls: queue.SimpleQueue[_Poll] = queue.SimpleQueue()
        self._threads = 0
        self._guard = threading.Lock()  # of the number of threads
        self._running: set[ServerAddress] = set()
        self._due: list[tuple[float, int, DatabaseEngine, HostToPoll, Callable[[], Any]]] = []
        self._is_ours: Choice = lambda _: True
        self._known: set[ServerAddress] = set()
        self._found = 0
        self._waiting: set[ServerAddress] = set()
        self._number = itertools.count()
        self.change(engines, interval)

    def change(self, engines: Sequence[DatabaseEngine], interval: float) -> None:
        """Poll the hosts of these engines from the next round on.

        Running polls of other engines go on, and their hosts are polled again after them.
        """
        self._engines = engines
        self._spread = min(interval / 4, MOST_SPREAD)
        self._deadline = min(interval * 0.9, LONGEST_ROUND + self._spread)
        self._due = [entry for entry in self._due if entry[2] in engines]
        heapq.heapify(self._due)
        self._waiting = {entry[3].address for entry in self._due}

    def round(
        self, choose: Callable[[Sequence[ServerAddress]], Choice] = lambda _: lambda _: True
    ) -> PollRound:
        """Poll the hosts of this agent, and return the answers that arrive in time.

        A host that is still being polled is skipped. `choose` gets all hosts and returns which of them this
        agent watches; the others are only asked for the hosts that they name. A failure of an engine or of an
        answer is logged and affects no other host.
        """
        targets = [(engine, target) for engine in self._engines for target in _of(engine, engine.targets)]
        self._known = {target.address for _, target in targets}
        self._is_ours, self._found = choose([target.address for _, target in targets]), 0
        began = time.monotonic()
        for engine, target in targets:
            self._add(engine, target, began + _place(target.address) * self._spread)
        while (self._running or self._due) and not self._stop.is_set():
            now = time.monotonic()
            left = began + self._deadline - now
            if left <= 0:
                break
            self._start(now)
            # A short interval, so that the agent stops immediately when asked.
            wait = min(left, 0.2)
            if self._due and len(self._running) < self._most_polls:
                wait = min(wait, max(0.0, self._due[0][0] - now))
            try:
                engine, target, answer = self._answers.get(timeout=wait)
            except queue.Empty:
                continue
            self._take(engine, target, answer)
        readings = [
            reading
            for engine in self._engines
            for reading in _of(engine, engine.readings)
            if self._is_ours(reading.address)
        ]
        late = sum(map(self._is_ours, [*self._running, *self._waiting]))
        others = sum(not self._is_ours(address) for address in self._known)
        return PollRound(readings, late, time.monotonic() - began, others, self._found)

    def _take(self, engine: DatabaseEngine, target: HostToPoll, answer: Any) -> None:
        self._running.discard(target.address)
        if isinstance(answer, _Failed):
            return
        try:
            hosts = engine.learn(target, answer)
        except Exception as error:  # noqa: BLE001 - the answer of a server must not stop the agent.
            log_unexpected(target.address, error)
            return
        for fresh in hosts:
            if fresh.address not in self._known:
                self._known.add(fresh.address)
                self._found += not self._is_ours(fresh.address)
            self._add(engine, fresh, time.monotonic())

    def _add(self, engine: DatabaseEngine, target: HostToPoll, due: float) -> None:
        if target.address in self._running or target.address in self._waiting:
            return
        ask = target.poll if self._is_ours(target.address) else engine.look(target)
        if ask is not None:
            self._waiting.add(target.address)
            heapq.heappush(self._due, (due, next(self._number), engine, target, ask))

    def _start(self, now: float) -> None:
        """Poll the due hosts, up to the maximum of parallel polls."""
        while self._due and self._due[0][0] <= now and len(self._running) < self._most_polls:
            _, _, engine, target, ask = heapq.heappop(self._due)
            self._waiting.discard(target.address)
            self._running.add(target.address)
            try:
                self._give((engine, target, ask))
            except RuntimeError as error:  # The system allows no more threads.
                self._running.discard(target.address)
                log_unexpected(target.address, error)

    def _give(self, poll: _Poll) -> None:
        """Give a poll to a thread without a poll, or to a new thread. Raises RuntimeError: no new thread."""
        with self._guard:
            # Each running poll, this one included, has a thread of its own.
            if self._threads < len(self._running):
                threading.Thread(target=self._work, name="polls", daemon=True).start()
                self._threads += 1
            self._polls.put(poll)

    def _work(self) -> None:
        """Poll one host after the other, until there is none for a while."""
        while True:
            try:
                self._ask(*self._polls.get(timeout=IDLE_SECONDS))
            except queue.Empty:
                with self._guard:
                    if self._polls.empty():
                        self._threads -= 1
                        return

    def _ask(self, engine: DatabaseEngine, target: HostToPoll, ask: Callable[[], Any]) -> None:
        answer: Any = _Failed()
        try:
            answer = ask()
        except Exception as error:  # noqa: BLE001 - otherwise a host without an answer would never be polled again.
            log_unexpected(target.address, error)
        finally:
            self._answers.put((engine, target, answer))


def _of(engine: DatabaseEngine, ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """The hosts of an engine; none if the engine fails."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - the other engines continue.
        log_unexpected(type(engine).__name__, error)
        return ()


def _place(address: ServerAddress) -> float:
    """A number from 0 to 1 that is constant for a host, so that its samples keep their distance."""
    return int.from_bytes(hashlib.sha256(str(address).encode()).digest()[:2], "big") / 65536
