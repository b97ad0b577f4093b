"""Measured values by buckets of time: count, mean, minimum and maximum of each. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from automation.choices import Aggregate

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

_MOST: Final = float(np.finfo(np.float64).max)
_P95: Final = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The buckets of a series that have values, in the order of time.

    `buckets`: the start of each, in seconds since 1970.
    """

    buckets: Integers
    counts: Integers
    means: Doubles
    minimums: Doubles
    maximums: Doubles

    def __len__(self) -> int:
        return len(self.buckets)

    def within(self, first: int, last: int) -> "Points":
        """The buckets that start from `first` to `last`, inclusive."""
        if len(self) and first <= self.buckets[0] and self.buckets[-1] <= last:
            return self
        begin, end = np.searchsorted(self.buckets, first), np.searchsorted(self.buckets, last, "right")
        return Points(*(column[begin:end] for column in _columns(self)))


NO_POINTS: Final = Points(
    np.empty(0, np.int64), np.empty(0, np.int64), *(np.empty(0, np.float64) for _ in range(3))
)


def points_of(seconds: Integers, values: Doubles, span: int) -> Points:
    """Points of values that were measured at these seconds since 1970. `span`: the length of a bucket."""
    return _grouped(seconds // span * span, np.ones(len(values), np.int64), values, values, values)


def merged(parts: Sequence[Points], span: int) -> Points:
    """Points of parts of a series, in buckets that are as long as theirs or longer."""
    columns = [np.concatenate(column) for column in zip(*map(_columns, [NO_POINTS, *parts]), strict=True)]
    buckets, counts, means, minimums, maximums = columns
    return _grouped(buckets // span * span, counts, means, minimums, maximums)


def aggregated(series: Sequence[Points], aggregate: Aggregate) -> Points:
    """The aggregate over series in each bucket: of their means, of their minimums and of their maximums.

    A series counts in the buckets in which it has values. An aggregate beyond all doubles is the largest one.
    """
    found = [np.concatenate(column) for column in zip(*map(_columns, [NO_POINTS, *series]), strict=True)]
    buckets, counts, means, minimums, maximums = found
    order = np.argsort(buckets, kind="stable")
    starts = _starts(buckets[order])
    if not len(starts):
        return NO_POINTS
    over = _AGGREGATES[aggregate]
    return Points(
        buckets[order][starts],
        np.add.reduceat(counts[order], starts),
        *(over(column[order], starts) for column in (means, minimums, maximums)),
    )


def _columns(points: Points) -> tuple[NDArray[Any], ...]:
    return points.buckets, points.counts, points.means, points.minimums, points.maximums


def _grouped(
    buckets: Integers, counts: Integers, means: Doubles, minimums: Doubles, maximums: Doubles
) -> Points:
    order = np.argsort(buckets, kind="stable")
    starts = _starts(buckets[order])
    if not len(starts):
        return NO_POINTS
    lowest = np.minimum.reduceat(minimums[order], starts)
    highest = np.maximum.reduceat(maximums[order], starts)
    totals = np.add.reduceat(counts[order], starts)
    return Points(
        buckets[order][starts],
        totals,
        _means(means[order], counts[order], starts, lowest, highest),
        lowest,
        highest,
    )


def _starts(ordered: Integers) -> Integers:
    """The places at which another bucket begins."""
    return np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))


def _means(values: Doubles, counts: Integers, starts: Integers, lowest: Doubles, highest: Doubles) -> Doubles:
    """The weighted mean of each group. The mean of equal numbers is that number.

    The distances from the lowest number are added. If they are beyond all doubles, shares are added instead.
    """
    lengths = np.diff(starts, append=len(values))
    totals = np.add.reduceat(counts, starts)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = (values - np.repeat(lowest, lengths)) * counts
        means = lowest + np.add.reduceat(distances, starts) / totals
        shares = np.add.reduceat(values * (counts / np.repeat(totals, lengths)), starts)
    return np.clip(np.where(np.isfinite(means), means, shares), lowest, highest)


def _sum(values: Doubles, starts: Integers) -> Doubles:
    with np.errstate(over="ignore"):
        sums: Doubles = np.add.reduceat(values, starts)
    return np.clip(sums, -_MOST, _MOST)


def _average(values: Doubles, starts: Integers) -> Doubles:
    lowest, highest = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return _means(values, np.ones(len(values), np.int64), starts, lowest, highest)


def _percentile(values: Doubles, starts: Integers) -> Doubles:
    """The 95th percentile, between the two nearest values in proportion."""
    lengths = np.diff(starts, append=len(values))
    groups = np.repeat(np.arange(len(starts)), lengths)
    ordered = values[np.lexsort((values, groups))]
    places = (lengths - 1) * _P95
    below = np.floor(places).astype(np.int64)
    share = places - below
    lower, upper = ordered[starts + below], ordered[starts + np.minimum(below + 1, lengths - 1)]
    with np.errstate(over="ignore"):
        percentiles: Doubles = lower + (upper - lower) * share
    return np.clip(percentiles, lower, upper)


_AGGREGATES: Mapping[Aggregate, Callable[[Doubles, Integers], Doubles]] = {
    Aggregate.SUM: _sum,
    Aggregate.AVG: _average,
    Aggregate.MAX: np.maximum.reduceat,
    Aggregate.MIN: np.minimum.reduceat,
    Aggregate.P95: _percentile,
}
