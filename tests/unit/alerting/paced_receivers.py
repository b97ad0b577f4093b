"""Receivers that take a limited number of messages, and the destination of one, with a virtual clock."""

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from alerting.destinations.rules import PROBE_EVERY, PROBED_AFTER, Health, health_after
from alerting.engine.claim_rules import AT_ONE_DESTINATION
from integrations.channels.outcome import Outcome, next_attempt
from integrations.choices import DeliveryFault, DeliveryStatus

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)
BUSY = Outcome(DeliveryStatus.RETRY, "the receiver answered 429", 5, fault=DeliveryFault.DESTINATION)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Limit(Protocol):
    """How many messages a receiver takes; times are in seconds."""

    def takes(self, now: float) -> bool:
        """Whether it takes a message now, which then counts."""

    def wait(self, now: float) -> float:
        """How long until it takes the next."""


class Window:
    """At most `most` messages in any `seconds`."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self.taken: deque[float] = deque()

    def takes(self, now: float) -> bool:
        while self.taken and self.taken[0] <= now - self.seconds:
            self.taken.popleft()
        if len(self.taken) >= self.most:
            return False
        self.taken.append(now)
        return True

    def wait(self, now: float) -> float:
        return self.taken[0] + self.seconds - now


class FixedWindow(Window):
    """At most `most` messages in each period of `seconds`."""

    def takes(self, now: float) -> bool:
        if self.taken and self.taken[0] // self.seconds != now // self.seconds:
            self.taken.clear()
        if len(self.taken) >= self.most:
            return False
        self.taken.append(now)
        return True

    def wait(self, now: float) -> float:
        return self.seconds - now % self.seconds


class Bucket:
    """Bursts of `most`, refilled with `rate` messages a second."""

    def __init__(self, most: int, rate: float) -> None:
        self.most, self.rate = most, rate
        self.tokens, self.seen = float(most), 0.0

    def takes(self, now: float) -> bool:
        self.tokens = min(self.most, self.tokens + (now - self.seen) * self.rate)
        self.seen = now
        if self.tokens < 1 - 1e-9:
            return False
        self.tokens -= 1
        return True

    def wait(self, now: float) -> float:
        return (1 - self.tokens) / self.rate


def ideal(limit: Limit, messages: int) -> float:
    """The seconds that a sender needs if it knows the limit."""
    now = 0.0
    for _ in range(messages):
        while not limit.takes(now):
            now += max(limit.wait(now), 1e-6)
    return now


_Flying = tuple[float, int, int, bool, float, Outcome]
"""When a request ends, its message, the number of the attempt, whether the receiver takes others, when it
began, and the outcome."""


@dataclass
class PacedRun:
    """What became of messages.

    `accepted` and `refused` are times in seconds. `began` are the times of the first attempts by message.
    `longest_closed` is the longest time for which the destination was closed to every message.
    """

    accepted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    began: dict[int, float] = field(default_factory=dict)
    longest_closed: float = 0.0
    health: Health = field(default_factory=Health)

    @property
    def seconds(self) -> float:
        return self.accepted[-1]

    def note(self, health: Health, now: float) -> None:
        self.health = health
        if health.next_try:
            self.longest_closed = max(self.longest_closed, (health.next_try - at(now)).total_seconds())


def run(
    limit: Limit,
    messages: int,
    *,
    retry_after: bool,
    latency: float = 0.05,
    refusal: Outcome = BUSY,
    until: float = 3_600.0,
    resets: Callable[[float], Limit | None] = lambda _: None,
    later: Sequence[float] = (),
) -> PacedRun:
    """Send messages that are due at the start, and `later`, by the rules of pace and the limits of claims.

    A refused message waits for its own next attempt. The others are sent meanwhile.
    """
    run, health = PacedRun(), Health()
    waiting = [(due, number, 0) for number, due in enumerate([*[0.0] * messages, *later])]
    flying: list[_Flying] = []
    now = 0.0
    while (waiting or flying) and now < until:
        limit = resets(now) or limit
        while flying and flying[0][0] <= now:
            _, number, attempt, is_taking, began, outcome = heapq.heappop(flying)
            before, health = health, health_after(health, outcome, at(now), began=at(began))
            run.note(health, now)
            if outcome.status is DeliveryStatus.DELIVERED:
                run.accepted.append(now)
                if before.failures:
                    waiting = _due_by(waiting, now)
                continue
            run.refused.append(now)
            retried = next_attempt(1 if is_taking else attempt, at(0), at(now), outcome.retry_after, 0)
            assert retried is not None
            waiting.append(((retried - START).total_seconds(), number, attempt))
        waiting.sort()
        while waiting and waiting[0][0] <= now and (health.next_try is None or health.next_try <= at(now)):
            is_steady = not health.failures and health.answered is not None
            if len(flying) >= (AT_ONE_DESTINATION if is_steady else 1):
                break
            _, number, attempt = waiting.pop(0)
            arrived = now + latency / 2
            outcome = TAKEN
            if not limit.takes(arrived):
                asked = math.ceil(limit.wait(arrived)) if retry_after else None
                outcome = replace(refusal, retry_after=asked)
            run.began.setdefault(number, now)
            is_taking = not health.failures and health.accepted_since_slowed
            heapq.heappush(flying, (now + latency, number, attempt + 1, is_taking, now, outcome))
            health = _tried(health, at(now))
        now = _next(now, flying, waiting, health)
    return run


def _due_by(waiting: list[tuple[float, int, int]], latest: float) -> list[tuple[float, int, int]]:
    """`_due_at_once`."""
    return [(min(due, latest), number, attempt) for due, number, attempt in waiting]


def _tried(health: Health, now: datetime) -> Health:
    """`destinations_tried`."""
    gap = max(health.pace.gap, PROBE_EVERY if health.failures >= PROBED_AFTER else timedelta())
    next_try = max(health.next_try or now, now + gap) if gap else health.next_try
    return replace(health, tried=now, next_try=next_try)


def _next(
    now: float,
    flying: list[_Flying],
    waiting: list[tuple[float, int, int]],
    health: Health,
) -> float:
    times = [flying[0][0]] if flying else []
    if waiting:
        opens = (health.next_try - START).total_seconds() if health.next_try else now
        times.append(max(waiting[0][0], opens))
    later = [time for time in times if time > now]
    return min(later) if later else now + 0.001
