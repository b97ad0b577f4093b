"""Whose request gets the next thread: callers take turns, and none of them has all threads."""

from collections import Counter, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Waiting = TypeVar("Waiting")


class CallerTurns(Generic[Waiting]):
    """Requests that wait for a thread, by caller; in the order of callers' turns."""

    def __init__(self, threads: int) -> None:
        """A quarter of the threads is kept for the other callers."""
        self._most = threads - threads // 4
        self._queues: dict[Hashable, deque[Waiting]] = {}
        self._served: Counter[Hashable] = Counter()
        self._free = threads

    def add(self, caller: Hashable, request: Waiting) -> None:
        """The request waits behind the others of its caller."""
        self._queues.setdefault(caller, deque()).append(request)

    def take(self) -> Waiting | None:
        """The oldest request of the caller whose turn it is, for a free thread; None when there is none."""
        may = (caller for caller in self._queues if self._served[caller] < self._most)
        if not self._free or (caller := next(may, None)) is None:
            return None
        queue = self._queues.pop(caller)
        request = queue.popleft()
        if queue:
            self._queues[caller] = queue  # behind the other callers
        self._served[caller] += 1
        self._free -= 1
        return request

    def done(self, caller: Hashable) -> None:
        """A request of the caller has given its thread back."""
        self._served -= Counter((caller,))  # which forgets callers without any
        self._free += 1
