"""Hosts that fail and return while the platform stops, or while its clock jumps by hours.

A seed determines a plan: the state of each host at each minute, when the platform runs, and its clock. The
invariants are about the messages: nobody hears of what is over, and everybody hears of what goes on.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto

from integrations.choices import MessageKind

BEGINNING = datetime(2025, 6, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
STEP = 20 * SECOND
"""A worker works once in this time."""
MINUTES = 56
QUIET = 14
"""In the last minutes the platform runs with the right clock, so all messages are sent."""
HOSTS = ("db1", "db2", "db3")
MOST_SECONDS_UNHEARD = 100
"""The most seconds until an agent sends its reports after the platform returns: it counts as heard."""


class Trouble(Enum):
    """What happens to the platform."""

    STOPS = auto()
    """It stops. Its agents keep their reports, and send them one after another."""
    STOPS_WITHOUT_SPOOL = auto()
    """It stops. Its agents forget their reports."""
    CLOCK = auto()
    """Its clock jumps by hours, in both directions. Its agents do not send the time of observation."""


@dataclass(frozen=True, slots=True)
class ArrivingReport:
    """The arrival of an agent's report: when it was observed, and the reports that wait behind it."""

    host: str
    at: datetime
    observed: datetime
    reachable: bool
    waiting: int | None


@dataclass(frozen=True, slots=True)
class AbsencePlan:
    """A run. `states`: whether each host is reachable, minute by minute. All times are true times.

    `restarts`: whether each stop ends the processes. Otherwise the machine is suspended.
    """

    seed: int
    trouble: Trouble
    states: Mapping[str, Sequence[bool]]
    stops: Sequence[tuple[datetime, datetime]]
    restarts: bool
    reports: Sequence[ArrivingReport]
    jumps: Sequence[tuple[datetime, timedelta]]
    """From when on the clock of the platform is ahead by how much."""

    def runs(self, at: datetime) -> bool:
        """Whether the platform runs."""
        return not any(begin <= at < end for begin, end in self.stops)

    def clock(self, at: datetime) -> datetime:
        """The time that the platform believes it is."""
        return at + next((ahead for begin, ahead in reversed(self.jumps) if begin <= at), timedelta())

    def is_down(self, host: str, at: datetime) -> bool:
        """Whether the host is down by the last observation before this time."""
        minutes = [minute for minute in range(MINUTES) if observed(minute, HOSTS.index(host)) <= at]
        return bool(minutes) and not self.states[host][minutes[-1]]

    def outages(self, host: str) -> Iterator[tuple[datetime, datetime | None]]:
        """When each outage began and ended by the reports. Of reports that wait, the last decides."""
        down_since, together = None, list[ArrivingReport]()
        for report in self.reports:
            if report.host != host:
                continue
            together.append(report)
            if report.waiting:
                continue
            changed = _last_change(together)
            together = []
            if report.reachable and down_since is not None:
                yield down_since, changed
                down_since = None
            elif not report.reachable and down_since is None:
                down_since = changed
        if down_since is not None:
            yield down_since, None


def _last_change(reports: Sequence[ArrivingReport]) -> datetime:
    """Since when the host is as the last of these reports says."""
    last = reports[-1]
    for report in reversed(reports):
        if report.reachable is not last.reachable:
            break
        last = report
    return last.observed


def observed(minute: int, place: int) -> datetime:
    """When the agent of a host observes it: no two agents in the same second."""
    return BEGINNING + minute * MINUTE + (7 * place + 1) * SECOND


def draw_absence(seed: int) -> AbsencePlan:
    """Draw a plan. The trouble follows from the seed."""
    rng = random.Random(seed)
    trouble = list(Trouble)[seed % 3]
    states = {host: list(_states(rng)) for host in HOSTS}
    stops = _stops(rng) if trouble is not Trouble.CLOCK else []
    reports = sorted(
        (
            report
            for place, host in enumerate(HOSTS)
            for report in _reports(rng, place, states[host], stops, trouble)
        ),
        key=lambda report: report.at,
    )
    jumps = list(_jumps(rng)) if trouble is Trouble.CLOCK else []
    return AbsencePlan(
        seed=seed,
        trouble=trouble,
        states=states,
        stops=stops,
        restarts=rng.random() < 0.5,
        reports=reports,
        jumps=jumps,
    )


def _states(rng: random.Random) -> Iterator[bool]:
    is_up, until = True, rng.randint(2, 8)
    for minute in range(MINUTES):
        if minute == until:
            is_up, until = not is_up, minute + rng.choice([1, 2, 3, 6, 12])
        yield is_up


def _stops(rng: random.Random) -> list[tuple[datetime, datetime]]:
    first = rng.randint(4, 12)
    second = first + rng.randint(14, 18)
    return [
        (
            BEGINNING + begin * MINUTE + rng.randint(2, 58) * SECOND,
            BEGINNING + (begin + rng.randint(2, 11)) * MINUTE,
        )
        for begin in (first, second)
    ]


def _reports(
    rng: random.Random,
    place: int,
    states: Sequence[bool],
    stops: Sequence[tuple[datetime, datetime]],
    trouble: Trouble,
) -> Iterator[ArrivingReport]:
    """What the agent of a host sends, and when it arrives."""
    host = HOSTS[place]
    waits_until = {end: end + rng.randint(1, MOST_SECONDS_UNHEARD) * SECOND for _, end in stops}
    spool: list[tuple[datetime, bool]] = []
    for minute in range(MINUTES):
        at = observed(minute, place)
        if trouble is Trouble.CLOCK:
            yield ArrivingReport(host, at, at, states[minute], None)
            continue
        spool.append((at, states[minute]))
        if any(begin <= at < waits_until[end] for begin, end in stops):
            continue
        if trouble is Trouble.STOPS_WITHOUT_SPOOL:
            spool = spool[-1:]
        for number, (moment, reachable) in enumerate(spool):
            # One after another, so that a worker sees a part of them.
            sent = at + number * 2 * SECOND
            yield ArrivingReport(host, sent, moment, reachable, len(spool) - 1 - number)
        spool = []


def _jumps(rng: random.Random) -> Iterator[tuple[datetime, timedelta]]:
    minute = rng.randint(4, 10)
    for _ in range(rng.randint(1, 2)):
        ahead = rng.choice([-26, -5, -1, 1, 3, 25]) * timedelta(hours=1)
        yield BEGINNING + minute * MINUTE + 33 * SECOND, ahead
        minute += rng.randint(1, 9)
    yield BEGINNING + minute * MINUTE + 33 * SECOND, timedelta()


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message to a receiver: when, about which host and alert, and of which notification."""

    at: datetime
    host: str
    alert_id: str
    kind: MessageKind
    receiver: str
