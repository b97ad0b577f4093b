"""Which notifications a worker sends next: the order of claims and their limits. Pure."""

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

YOUNG = timedelta(seconds=1)
"""The age from which a request no longer holds a slot."""
BURST = 8
"""The most requests in progress for each slot, old requests included."""
AT_ONE_DESTINATION = 16
AT_ONE_HOST = 64
"""The most requests of one project in progress at one host."""
DOUBTFUL_AT_ONE_HOST = 4
"""The most of these requests to destinations that fail or have never answered."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A notification that may be sent: due, and the first for its destination and subject.

    `sequence` orders notifications that are due at the same time. `steady`: its destination accepted the
    last message. `host_down`: its host accepted no connection; `tried` is when its destination was last
    tried. `gap` is the least time between two requests at its destination.
    """

    id: str
    destination: str
    project: str | None
    host: str
    due: datetime
    sequence: int
    steady: bool
    host_down: bool = False
    tried: datetime | None = None
    gap: timedelta = timedelta()


class LeasedNotification(NamedTuple):
    """The lease of a notification, and its destination. `leased` is None in rows of earlier versions."""

    destination: str
    project: str | None
    host: str
    until: datetime
    leased: datetime | None
    worker: int | None
    steady: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRequest:
    """A notification that a worker has been sending since `began`. `mine`: it is this worker."""

    destination: str
    project: str | None
    host: str
    began: datetime
    steady: bool
    mine: bool


def choose(
    candidates: Iterable[Candidate], running: Sequence[RunningRequest], *, slots: int, now: datetime
) -> list[str]:
    """Return the ids of the notifications to send next, the most urgent first."""
    counts = _Round(running, slots, now)
    queues: dict[str | None, deque[Candidate]] = {}
    # Messages to several people have the same number of creation.
    for candidate in sorted(
        _one_for_each_host_down(candidates), key=lambda waiting: (waiting.due, waiting.sequence, waiting.id)
    ):
        queues.setdefault(candidate.project, deque()).append(candidate)
    turns = [(counts.held[project], queue[0].due, project or "", queue) for project, queue in queues.items()]
    heapq.heapify(turns)
    chosen: list[str] = []
    while turns and len(chosen) < counts.free:
        _, _, name, queue = heapq.heappop(turns)
        candidate = queue.popleft()
        if counts.takes(candidate):
            chosen.append(candidate.id)
        if queue:
            heapq.heappush(turns, (counts.held[candidate.project], queue[0].due, name, queue))
    return chosen


def next_free_slot(began: Iterable[datetime], now: datetime) -> timedelta | None:
    """Return how long until the next request no longer holds a slot; None if none holds a slot."""
    return min((start + YOUNG - now for start in began if now - start < YOUNG), default=None)


class _Round:
    """Counts of the requests in progress, including the candidates chosen already."""

    def __init__(self, running: Sequence[RunningRequest], slots: int, now: datetime) -> None:
        mine = [request for request in running if request.mine]
        self.young = Counter(request.project for request in mine if now - request.began < YOUNG)
        self.held = Counter(request.project for request in mine)
        self._left = slots * BURST - len(mine)
        self._now = now
        self._last: dict[str, datetime] = {}
        for request in running:
            self._last[request.destination] = max(
                request.began, self._last.get(request.destination, request.began)
            )
        self.free = min(slots - self.young.total(), self._left)
        self._of_project = max(1, slots // 2)
        self._destinations = Counter(request.destination for request in running)
        self._of_host = slots * BURST * 3 // 4
        self._mine_at_host = Counter(request.host for request in mine)
        self._mine_at_place = Counter((request.project, request.host) for request in mine)
        self._hosts = Counter(request.host for request in running)
        self._at_host = Counter((request.project, request.host) for request in running)
        self._doubtful_at_host = Counter(
            (request.project, request.host) for request in running if not request.steady
        )

    def takes(self, candidate: Candidate) -> bool:
        """Return whether the limits allow the candidate, and count it if they do."""
        place = (candidate.project, candidate.host)
        if (
            self._destinations[candidate.destination] >= (AT_ONE_DESTINATION if candidate.steady else 1)
            or self._is_too_soon(candidate)
            or self.young[candidate.project] >= self._of_project
            or self.held[candidate.project] >= self._left
            or self._mine_at_place[place] >= self._of_host - self._mine_at_host[candidate.host]
            or (candidate.host_down and self._hosts[candidate.host])
            or self._at_host[place] >= AT_ONE_HOST
            or (not candidate.steady and self._doubtful_at_host[place] >= DOUBTFUL_AT_ONE_HOST)
        ):
            return False
        self._last[candidate.destination] = self._now
        self._destinations[candidate.destination] += 1
        self.young[candidate.project] += 1
        self.held[candidate.project] += 1
        self._left -= 1
        self._mine_at_host[candidate.host] += 1
        self._mine_at_place[place] += 1
        self._hosts[candidate.host] += 1
        self._at_host[place] += 1
        self._doubtful_at_host[place] += not candidate.steady
        return True

    def _is_too_soon(self, candidate: Candidate) -> bool:
        """Whether another request at its destination began less than its gap ago."""
        last = self._last.get(candidate.destination)
        return last is not None and self._now - last < candidate.gap


def _one_for_each_host_down(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep one candidate for each host that is down: of the destination tried longest ago."""
    probes: dict[str, Candidate] = {}
    rest = []
    for candidate in candidates:
        if not candidate.host_down:
            rest.append(candidate)
            continue
        known = probes.setdefault(candidate.host, candidate)
        if _waits_longer(candidate, known):
            probes[candidate.host] = candidate
    return rest + list(probes.values())


def _waits_longer(candidate: Candidate, other: Candidate) -> bool:
    """Whether its destination was tried longer ago; if never, it waits since its message was due."""
    return (candidate.tried or candidate.due, candidate.due) < (other.tried or other.due, other.due)
