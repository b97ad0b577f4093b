"""The sources of a metric's value, and how two samples produce it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import floor, isfinite, log10
from typing import NamedTuple

Numbers = Mapping[str, float]
"""Path → value. The first part of a path is the section of the server's answer."""


class RateKind(Enum):
    """How a value is computed."""

    GAUGE = "gauge"
    """The value as read."""
    RATE = "rate"
    """Increase of a counter per second."""
    SHARE = "share"
    """A value as a percentage of another value."""
    PER = "per"
    """Increase of a counter per increase of another counter."""
    BUSIEST = "busiest"
    """The highest rate among all matches of `*` in the path."""


class RateRow(NamedTuple):
    """A metric: `sources` are alternative paths; the value is divided by `by`, multiplied by `scale`."""

    metric: str
    kind: RateKind
    sources: tuple[str, ...]
    by: str | None = None
    scale: float = 1.0


def gauge(metric: str, *sources: str, scale: float = 1.0) -> RateRow:
    """A value as read."""
    return RateRow(metric, RateKind.GAUGE, sources, None, scale)


def rate(metric: str, *sources: str, scale: float = 1.0, by: str | None = None) -> RateRow:
    """The increase of a counter per second, divided by the value `by`."""
    return RateRow(metric, RateKind.RATE, sources, by, scale)


def share(metric: str, part: str, whole: str) -> RateRow:
    """A value as a percentage of another value."""
    return RateRow(metric, RateKind.SHARE, (part,), whole)


def per(metric: str, source: str, by: str, scale: float = 1.0) -> RateRow:
    """The increase of a counter per increase of the counter `by`."""
    return RateRow(metric, RateKind.PER, (source,), by, scale)


class Why(str, Enum):
    """Whether a metric was reported, or why not."""

    REPORTED = "reported"
    WAITS = "needs a second sample"
    IDLE = "nothing to divide by"
    ABSENT = "absent"
    REFUSED = "refused: missing role"
    FAILED = "the query failed"


_DIGITS, _DECIMALS = 5, 3
LONGEST_PAIR = 600.0
"""Seconds.

The increase since an older sample says nothing about now; another agent may have watched since.
"""


@dataclass(frozen=True)
class NumbersAt:
    """Numbers and the time of the sample: seconds since the start of the server, by its own clock.

    Counters of another `process` of the server have started again.
    """

    numbers: Numbers
    process: object
    seconds: float


class _Missing(Exception):  # noqa: N818 - what the value is
    """The metric has no value."""

    def __init__(self, why: Why) -> None:
        self.why = why


def values_of(
    rows: Iterable[RateRow], before: NumbersAt | None, now: NumbersAt, refused: Collection[str] = ()
) -> tuple[Mapping[str, float], Mapping[str, Why]]:
    """The available values by metric, and the state of every row.

    `refused` are sections that the server did not let us read. Two samples across a restart are not
    comparable.
    """
    pair = None
    if before and before.process == now.process and 0 < now.seconds - before.seconds <= LONGEST_PAIR:
        pair = before
    values: dict[str, float] = {}
    reasons: dict[str, Why] = {}
    for row in rows:
        try:
            values[row.metric] = _value(row, pair, now, refused)
            reasons[row.metric] = Why.REPORTED
        except _Missing as missing:
            reasons[row.metric] = missing.why
    return values, reasons


def _value(row: RateRow, before: NumbersAt | None, now: NumbersAt, refused: Collection[str]) -> float:
    source = _source(row, now.numbers, refused)
    if row.kind is RateKind.BUSIEST:
        value = max(_rate(path, before, now) for path in _matching(source, now.numbers))
    elif row.kind is RateKind.RATE:
        value = _rate(source, before, now) / (1.0 if row.by is None else _divisor(now.numbers.get(row.by)))
    elif row.kind is RateKind.PER:
        grown = _grown(source, before, now)
        value = grown / _divisor(_grown(row.by or "", before, now))
    elif row.kind is RateKind.SHARE:
        value = now.numbers[source] / _divisor(now.numbers.get(row.by or "")) * 100
    else:
        value = now.numbers[source]
    value *= row.scale
    if not isfinite(value):
        raise _Missing(Why.ABSENT)
    return value if row.kind is RateKind.GAUGE else rounded(value)


def rounded(value: float) -> float:
    """A computed value with five significant digits and at most three decimals.

    The other digits say nothing: they come from the division, and take most of the room in which the platform
    stores the value. A value that would become 0 keeps its first digit.
    """
    if not value:
        return value
    digits = _DIGITS - 1 - floor(log10(abs(value)))
    return round(value, min(digits, _DECIMALS)) or float(f"{value:.0e}")


def _source(row: RateRow, numbers: Numbers, refused: Collection[str]) -> str:
    """The first alternative that was read."""
    for path in row.sources:
        if path in numbers or ("*" in path and _matching(path, numbers)):
            return path
    is_refused = any(path.split("/")[0] in refused for path in row.sources)
    raise _Missing(Why.REFUSED if is_refused else Why.ABSENT)


def _matching(path: str, numbers: Numbers) -> list[str]:
    begin, star, end = path.partition("*")
    if not star:
        return [path] if path in numbers else []
    shortest = len(begin) + len(end)
    return [
        name for name in numbers if name.startswith(begin) and name.endswith(end) and len(name) >= shortest
    ]


def _grown(path: str, before: NumbersAt | None, now: NumbersAt) -> float:
    if path not in now.numbers:
        raise _Missing(Why.ABSENT)
    if before is None or path not in before.numbers or now.numbers[path] < before.numbers[path]:
        raise _Missing(Why.WAITS)  # A counter that decreased has been reset.
    return now.numbers[path] - before.numbers[path]


def _rate(path: str, before: NumbersAt | None, now: NumbersAt) -> float:
    grown = _grown(path, before, now)
    if before is None:
        raise _Missing(Why.WAITS)
    return grown / (now.seconds - before.seconds)


def _divisor(value: float | None) -> float:
    if value is None:
        raise _Missing(Why.ABSENT)
    if value <= 0:
        raise _Missing(Why.IDLE)
    return value
