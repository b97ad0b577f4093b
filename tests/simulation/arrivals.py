"""Observations of hosts, and the arrival of their reports: in order, late, twice, mixed up, with wrong
clocks.

A seed determines a plan. `Model` has the expected alerts: the newest observation that has arrived decides,
and while other reports of an agent wait, alerts about its hosts do not change.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from automation.reports.rules import NEWEST

BEGINNING = datetime(2030, 6, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MINUTES = 24
LIMIT = 10.0
"""A value above it is an alert."""

Kind = Literal["HOST_DOWN", "OUTSIDE_METRIC_THRESHOLD"]
KINDS: tuple[Kind, ...] = ("HOST_DOWN", "OUTSIDE_METRIC_THRESHOLD")
PRIMARY = "db1"
"""The primary of the replica set of all hosts."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What an agent saw of a host. `value` is None if it was not measured."""

    host: str
    at: datetime
    reachable: bool
    value: float | None

    def holds(self, kind: Kind) -> bool | None:
        """Whether the condition holds; None if the observation says nothing about it."""
        if kind == "HOST_DOWN":
            return not self.reachable
        return None if self.value is None else self.value > LIMIT


@dataclass(frozen=True, slots=True)
class LateReport:
    """The arrival of a report: its contents and its time."""

    agent: str
    at: datetime
    observed: datetime
    seen: tuple[Seen, ...]
    waiting: int | None


@dataclass(frozen=True, slots=True)
class LateReportPlan:
    """All arrivals, in order. `is_alone`: each host has one sender, whose reports arrive in order."""

    seed: int
    arrivals: tuple[LateReport, ...]
    works_after: frozenset[int]
    """The arrivals after which a worker runs."""
    is_alone: bool
    changes_after: int
    """The arrival after which configurations are added and changed."""
    works_again_after: int
    """The first arrival after which a worker runs again."""


def draw(seed: int) -> LateReportPlan:
    """Draw a plan. Even seeds have a sender for each host, others have several, with wrong clocks."""
    rng = random.Random(seed)
    is_alone = seed % 2 == 0
    arrivals: list[LateReport] = []
    hosts = ["db1", "db2", "db3"]
    for number in range(2 if is_alone else 3):
        mine = hosts[number::2] if is_alone else rng.sample(hosts, 2)
        arrivals += _arrivals(rng, f"agent{number}", number, mine, is_alone)
    arrivals.sort(key=lambda arrival: arrival.at)
    works = frozenset(place for place in range(len(arrivals)) if rng.random() < 0.7)
    changes = rng.randrange(len(arrivals) - 1)
    works_again = min(changes + rng.randint(0, 8), len(arrivals) - 1)
    return LateReportPlan(seed, tuple(arrivals), works, is_alone, changes, works_again)


def _arrivals(
    rng: random.Random, agent: str, number: int, hosts: list[str], is_alone: bool
) -> Iterator[LateReport]:
    # The API refuses reports that are more than NEWEST ahead.
    ahead = timedelta(seconds=0 if is_alone else rng.choice([0, 0, -90, 200]))
    outages = [(start, start + rng.randint(2, 8)) for start in rng.sample(range(MINUTES - 6), 2)]
    spool: list[LateReport] = []
    states = dict.fromkeys(hosts, (True, 0.0))
    for minute in range(MINUTES):
        # No two agents observe in the same second.
        at = BEGINNING + minute * MINUTE + timedelta(seconds=7 * number + 1)
        if not is_alone and rng.random() < 0.05:
            ahead = min(ahead + timedelta(seconds=rng.choice([-30, 30, 60])), NEWEST - MINUTE)
        for host in hosts:
            if rng.random() < 0.3:
                states[host] = (rng.random() < 0.5, rng.choice([0.0, 5.0, 20.0]))
        seen = tuple(
            Seen(host, at + ahead, states[host][0], states[host][1] if states[host][0] else None)
            for host in hosts
        )
        spool.append(LateReport(agent, at, at + ahead, seen, 0))
        if any(start <= minute < end for start, end in outages) and minute < MINUTES - 1:
            continue
        for place, report in enumerate(spool):
            # Sent one after the other, within the second.
            moment = at + timedelta(milliseconds=5 * (place + 1))
            waiting = len(spool) - 1 - place
            sent = LateReport(agent, moment, report.observed, report.seen, waiting)
            yield sent
            if not is_alone and rng.random() < 0.15:
                late = moment + timedelta(seconds=rng.randint(1, 300))
                yield LateReport(agent, late, report.observed, report.seen, None)
        spool = []


@dataclass(slots=True)
class ModelAlert:
    """An open alert: since when, and since when its end waits for newer reports."""

    created: datetime
    over: datetime | None = None


@dataclass(slots=True)
class Model:
    """The alerts that follow from the reports that have arrived."""

    known: dict[tuple[str, Kind], Seen] = field(default_factory=dict)
    open: dict[tuple[str, Kind], datetime] = field(default_factory=dict)
    closed: list[tuple[str, Kind, datetime, datetime]] = field(default_factory=list)
    held: dict[str, list[Seen]] = field(default_factory=dict)
    waits: dict[str, datetime] = field(default_factory=dict)
    """The agents with waiting reports, and the newest observation that said so."""

    def arrive(self, arrival: LateReport) -> None:
        """Take a report."""
        observed = min(arrival.observed, arrival.at)
        newest = [seen for seen in arrival.seen if self._learn(seen, observed, arrival.at)]
        if arrival.waiting:
            self.held.setdefault(arrival.agent, []).extend(newest)
        else:
            released = self.held.pop(arrival.agent, []) if arrival.waiting is not None else []
            self._decide([*released, *newest])

    def state(self) -> dict[tuple[str, Kind], bool]:
        """Whether each condition holds by the newest observation that has arrived."""
        return {key: bool(seen.holds(key[1])) for key, seen in self.known.items()}

    def of_set(self) -> Iterator[str]:
        """The conditions of the replica set that hold by the newest observations of its members."""
        are_up = {host: seen.reachable for (host, kind), seen in self.known.items() if kind == "HOST_DOWN"}
        if are_up and not are_up.get(PRIMARY):
            yield "NO_PRIMARY"
        if not all(are_up.values()):
            yield "TOO_MANY_UNHEALTHY_MEMBERS"

    def _learn(self, seen: Seen, observed: datetime, now: datetime) -> bool:
        """Whether no newer observation of the host has arrived."""
        is_newest = False
        for kind in KINDS:
            if seen.holds(kind) is None:
                continue
            moment = observed if kind == "HOST_DOWN" else min(seen.at, now)
            before = self.known.get((seen.host, kind))
            if before is None or moment.replace(microsecond=0) >= before.at:
                at = moment.replace(microsecond=0)
                self.known[seen.host, kind] = Seen(seen.host, at, seen.reachable, seen.value)
                is_newest = True
        return is_newest

    def _decide(self, observations: list[Seen]) -> None:
        """Decide by the last observation of each condition; it began with the last change before it."""
        series: dict[tuple[str, Kind], list[tuple[datetime, bool]]] = {}
        for seen in observations:
            for kind in KINDS:
                if (holds := seen.holds(kind)) is not None:
                    series.setdefault((seen.host, kind), []).append((seen.at, holds))
        for key, states in series.items():
            holds, began = states[-1][1], states[-1][0]
            for at, state in reversed(states):
                if state is not holds:
                    break
                began = at
            if holds and key not in self.open:
                self.open[key] = began
            elif not holds and key in self.open:
                self.closed.append((*key, self.open.pop(key), began))
