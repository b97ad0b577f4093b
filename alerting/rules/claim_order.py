"""Which of the notifications that are due go out next (docs/architecture.md, "Delivery"). Pure.

Projects take turns, so a backlog delays its own project only. A destination has few messages in hand, and
one until it has answered. A request that has lasted for YOUNG no longer holds a slot: however many receivers
hang, a slot is free for a message to another one. `slots * BURST` bounds them all, and a project holds no
more of them than are left, so that some are always left for a project that has none.
"""

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

YOUNG = timedelta(seconds=1)
"""After this time a request no longer holds one of the slots."""
BURST = 8
"""So many times the slots are in hand at most, old requests included."""
AT_ONE_DESTINATION = 4
AT_ONE_HOST = 64
"""Requests of one project in hand at one host."""
DOUBTFUL_AT_ONE_HOST = 4
"""Of these, to destinations that fail or have never answered: so few slots a dead mail server costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A notification that may go out: due, and the first for its destination and subject.

    `steady`: its destination took the last message and asked for no pause. `host_down`: no connection could
    be made to its host; `tried` is when its destination was last tried.
    """

    id: str
    destination: str
    project: str | None
    host: str
    due: datetime
    steady: bool
    host_down: bool = False
    tried: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InHand:
    """A notification that some worker sends now, since `began`; `mine`: this worker."""

    destination: str
    project: str | None
    host: str
    began: datetime
    steady: bool
    mine: bool


def choose(
    candidates: Iterable[Candidate], in_hand: Sequence[InHand], *, slots: int, now: datetime
) -> list[str]:
    """The ids of the notifications to send next, the most urgent first."""
    round_ = _Round(in_hand, slots, now)
    queues: dict[str | None, deque[Candidate]] = {}
    for candidate in sorted(_one_for_each_host_down(candidates), key=lambda one: one.due):
        queues.setdefault(candidate.project, deque()).append(candidate)
    turns = [(round_.held[project], queue[0].due, project or "", queue) for project, queue in queues.items()]
    heapq.heapify(turns)
    chosen: list[str] = []
    while turns and len(chosen) < round_.free:
        _, _, name, queue = heapq.heappop(turns)
        candidate = queue.popleft()
        if round_.takes(candidate):
            chosen.append(candidate.id)
        if queue:
            heapq.heappush(turns, (round_.held[candidate.project], queue[0].due, name, queue))
    return chosen


class _Round:
    """What is in hand, counted; grows with what is chosen."""

    def __init__(self, in_hand: Sequence[InHand], slots: int, now: datetime) -> None:
        mine = [one for one in in_hand if one.mine]
        self.young = Counter(one.project for one in mine if now - one.began < YOUNG)
        self.held = Counter(one.project for one in mine)
        self._left = slots * BURST - len(mine)
        self.free = min(slots - self.young.total(), self._left)
        self._of_project = max(1, slots // 2)
        self._destinations = Counter(one.destination for one in in_hand)
        self._hosts = Counter(one.host for one in in_hand)
        self._at_host = Counter((one.project, one.host) for one in in_hand)
        self._doubtful_at_host = Counter((one.project, one.host) for one in in_hand if not one.steady)

    def takes(self, one: Candidate) -> bool:
        """Whether it may go out beside the rest; counts it when it does."""
        place = (one.project, one.host)
        if (
            self._destinations[one.destination] >= (AT_ONE_DESTINATION if one.steady else 1)
            or self.young[one.project] >= self._of_project
            or self.held[one.project] >= self._left
            or (one.host_down and self._hosts[one.host])
            or self._at_host[place] >= AT_ONE_HOST
            or (not one.steady and self._doubtful_at_host[place] >= DOUBTFUL_AT_ONE_HOST)
        ):
            return False
        self._destinations[one.destination] += 1
        self.young[one.project] += 1
        self.held[one.project] += 1
        self._left -= 1
        self._hosts[one.host] += 1
        self._at_host[place] += 1
        self._doubtful_at_host[place] += not one.steady
        return True


def _one_for_each_host_down(candidates: Iterable[Candidate]) -> list[Candidate]:
    """All of them, but of each host that is down only one: of another destination each time."""
    probes: dict[str, Candidate] = {}
    rest = []
    for one in candidates:
        if not one.host_down:
            rest.append(one)
            continue
        known = probes.setdefault(one.host, one)
        if _waits_longer(one, known):
            probes[one.host] = one
    return rest + list(probes.values())


def _waits_longer(one: Candidate, other: Candidate) -> bool:
    """Whose turn it is: a destination never tried has waited since its message was due."""
    return (one.tried or one.due, one.due) < (other.tried or other.due, other.due)
