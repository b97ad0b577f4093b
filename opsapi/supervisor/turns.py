"""Whose request gets the next thread: callers take turns, however many requests each of them sends."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Waiting = TypeVar("Waiting")


class Turns(Generic[Waiting]):
    """Requests that wait for a thread, by caller; in the order of callers' turns."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, deque[Waiting]] = {}

    def add(self, caller: Hashable, request: Waiting) -> None:
        """The request waits behind the others of its caller."""
        self._queues.setdefault(caller, deque()).append(request)

    def take(self) -> Waiting | None:
        """The oldest request of the caller whose turn it is; None when nothing waits."""
        if not self._queues:
            return None
        caller = next(iter(self._queues))
        queue = self._queues.pop(caller)
        request = queue.popleft()
        if queue:
            self._queues[caller] = queue  # behind the other callers
        return request
