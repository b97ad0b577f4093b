"""Rollups as bytes."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from automation.measurements.points import Points, points_of
from automation.measurements.rollup_packing import (
    DIGITS,
    LEVELS,
    WHOLE_DIGITS,
    packed_points,
    unpacked_points,
)
from tests.each import each
from tests.hostile.budget import tries

BEGIN, SPAN = 4_096_656_000, 300
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.integers(-(10**7), 10**7).map(float),
    st.sampled_from([0.0, -0.0, 1e15, -1e15, 1e-12, 99_999.5, 999_995.0, 2.0**53, 1e-300]),
)
SAMPLES = st.lists(st.tuples(st.integers(-3_600, 86_699), NUMBERS), min_size=1, max_size=30)


def points(samples: list[tuple[int, float]]) -> Points:
    seconds, values = zip(*samples, strict=True)
    return points_of(BEGIN + np.array(seconds, np.int64), np.array(values, np.float64), SPAN)


def error_of(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The largest relative error of a number that is rounded with these."""
    is_whole = np.array_equal(numbers, np.rint(numbers))
    return 0.5 * 10.0 ** (1 - (WHOLE_DIGITS if is_whole else DIGITS))


@tries(200)
@given(st.dictionaries(st.integers(1, 300), SAMPLES, min_size=1, max_size=5))
def test_rollups_come_back_within_the_stated_rounding(series: dict[int, list[tuple[int, float]]]) -> None:
    stored = {metric: points(samples) for metric, samples in series.items()}
    block = packed_points(stored, begin=BEGIN, span=SPAN)
    found = dict(unpacked_points(block, stored, begin=BEGIN, span=SPAN))
    assert found.keys() == stored.keys()
    for metric, given_points in stored.items():
        read = found[metric]
        assert read.buckets.tolist() == given_points.buckets.tolist()
        assert read.counts.tolist() == given_points.counts.tolist()
        error = error_of(np.concatenate([given_points.minimums, given_points.maximums]))
        columns = (given_points.minimums, given_points.means, given_points.maximums)
        for number, (low, mean, high) in enumerate(zip(*map(np.ndarray.tolist, columns), strict=True)):
            room = 1.001 * error * max(abs(low), abs(high))
            assert math.isclose(read.minimums[number], low, rel_tol=1.001 * error)
            assert math.isclose(read.maximums[number], high, rel_tol=1.001 * error)
            assert abs(read.means[number] - mean) <= (high / 2 - low / 2) / LEVELS * 1.001 + 2 * room
            assert read.minimums[number] <= read.means[number] <= read.maximums[number]


@each(
    ("values", "minimum", "mean", "maximum"),
    [
        ([7.0] * 5, 7.0, 7.0, 7.0),
        ([0.1] * 5, 0.1, 0.1, 0.1),
        ([1234.5], 1234.0, 1234.0, 1234.0),
        ([98765.0, 98766.0], 98765.0, 98765 + 32 / 63, 98766.0),
        ([123_456.0], 123_460.0, 123_460.0, 123_460.0),
        ([0.0, 63.0, 1.0, 0.0, 0.0], 0.0, 13.0, 63.0),
        ([1.7e308, 5e-324], 5e-324, 8.5e307, 1.7e308),
    ],
)
def test_numbers_keep_their_digits(values: list[float], minimum: float, mean: float, maximum: float) -> None:
    block = packed_points({1: points([(0, value) for value in values])}, begin=BEGIN, span=SPAN)
    [(_, found)] = unpacked_points(block, [1], begin=BEGIN, span=SPAN)
    assert (found.minimums[0], found.maximums[0]) == (minimum, maximum)
    assert math.isclose(found.means[0], mean)


def test_a_part_is_unpacked_without_the_others() -> None:
    stored = {metric: points([(0, metric * 1.0), (metric * 300, 0.5)]) for metric in (3, 5, 300)}
    block = packed_points(stored, begin=BEGIN, span=SPAN)
    assert [metric for metric, _ in unpacked_points(block, [5, 6], begin=BEGIN, span=SPAN)] == [5]


def test_a_steady_day_takes_few_bytes() -> None:
    steady = points([(second, 512.0) for second in range(0, 86_400, 60)])
    octets = len(packed_points({1: steady}, begin=BEGIN, span=SPAN))
    assert octets < 50
    assert len(packed_points({1: steady, 2: steady}, begin=BEGIN, span=SPAN)) < octets + 20
