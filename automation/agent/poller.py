"""Rounds: every host is asked in a thread of its own, and a late one delays neither others nor the round."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from automation.agent.addresses import Address
from automation.agent.engine import Engine, Reading, Target

MOST_SPREAD = 5.0
"""Seconds over which the starts of a round are spread."""

LONGEST_ROUND = 10.0
"""Seconds after which a round ends without those that are late."""


@dataclass(frozen=True)
class Round:
    """What a round found, in so many seconds; `late` hosts are reported when they have answered."""

    readings: Sequence[Reading]
    late: int
    seconds: float


class Poller:
    """Asks the hosts of all engines. One thread uses it."""

    def __init__(self, engines: Sequence[Engine], interval: float, stop: threading.Event) -> None:
        """`interval` in seconds, from the start of a round to the start of the next."""
        self._engines, self._stop = engines, stop
        self._spread = min(interval / 4, MOST_SPREAD)
        self._deadline = min(interval * 0.9, LONGEST_ROUND + self._spread)
        self._answers: queue.Queue[tuple[Engine, Target, Any]] = queue.Queue()
        self._running: dict[Address, Target] = {}

    def round(self) -> Round:
        """Ask every host that is not still being asked, and return what those said that answered in time."""
        began = time.monotonic()
        for engine in self._engines:
            for target in engine.targets():
                self._start(engine, target, _place(target.address) * self._spread)
        while self._running and not self._stop.is_set():
            left = began + self._deadline - time.monotonic()
            if left <= 0:
                break
            try:
                # Short, so that the agent stops at once when it is asked to.
                engine, target, answer = self._answers.get(timeout=min(left, 0.2))
            except queue.Empty:
                continue
            self._take(engine, target, answer)
        readings = [reading for engine in self._engines for reading in engine.readings()]
        return Round(readings, len(self._running), time.monotonic() - began)

    def _take(self, engine: Engine, target: Target, answer: Any) -> None:
        self._running.pop(target.address, None)
        for found in engine.learn(target, answer):
            self._start(engine, found, 0.0)

    def _start(self, engine: Engine, target: Target, delay: float) -> None:
        if target.address in self._running:
            return
        self._running[target.address] = target
        run: Callable[[], None] = lambda: self._poll(engine, target, delay)  # noqa: E731
        threading.Thread(target=run, name=str(target.address), daemon=True).start()

    def _poll(self, engine: Engine, target: Target, delay: float) -> None:
        if not self._stop.wait(delay):
            self._answers.put((engine, target, target.poll()))


def _place(address: Address) -> float:
    """A number from 0 to 1 that is always the same for a host, so that its samples keep their distance."""
    return int.from_bytes(hashlib.sha256(str(address).encode()).digest()[:2], "big") / 65536
