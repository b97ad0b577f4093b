"""Values in buckets of time, of one series and of several."""

import math
from fractions import Fraction
from statistics import quantiles

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automation.choices import Aggregate
from automation.measurements.points import Points, aggregated, merged, points_of
from tests.each import each
from tests.hostile.budget import tries

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SAMPLES = st.lists(st.tuples(st.integers(-4000, 4000), FINITE), max_size=30)
LARGEST = 1.7e308
Samples = list[tuple[int, float]]


def points(samples: Samples, span: int) -> Points:
    seconds, values = zip(*samples, strict=True) if samples else ((), ())
    return points_of(np.array(seconds, np.int64), np.array(values, np.float64), span)


def rows(found: Points) -> list[tuple[int, int, float, float, float]]:
    columns = (found.buckets, found.counts, found.means, found.minimums, found.maximums)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@tries(100)
@given(SAMPLES, st.sampled_from([1, 60, 3600]))
def test_a_point_has_count_mean_minimum_and_maximum_of_its_bucket(samples: Samples, span: int) -> None:
    buckets: dict[int, list[float]] = {}
    for second, value in samples:
        buckets.setdefault(second // span * span, []).append(value)
    found = rows(points(samples, span))
    assert [bucket for bucket, *_ in found] == sorted(buckets)
    for bucket, count, mean, minimum, maximum in found:
        values = buckets[bucket]
        assert (count, minimum, maximum) == (len(values), min(values), max(values))
        assert minimum <= mean <= maximum
        error = Fraction(mean) * len(values) - sum(map(Fraction, values), Fraction())
        assert abs(error) <= Fraction(max(map(abs, values))) * len(values) / 10**12


@tries(50)
@given(SAMPLES, st.integers(0, 30), st.sampled_from([60, 300]))
def test_parts_that_are_merged_are_as_the_whole(samples: Samples, cut: int, span: int) -> None:
    whole = rows(points(samples, 3600))
    parts = rows(merged([points(samples[:cut], span), points(samples[cut:], span)], 3600))
    assert [row[:2] + row[3:] for row in parts] == [row[:2] + row[3:] for row in whole]
    for part, row in zip(parts, whole, strict=True):
        assert math.isclose(part[2], row[2], rel_tol=1e-9, abs_tol=max(map(abs, row[3:])) * 1e-9)


@each("values", [[0.1] * 3, [LARGEST] * 3, [-LARGEST] * 2, [5e-324] * 3, [2.0**53 + 2] * 7])
def test_the_mean_of_equal_numbers_is_that_number(values: list[float]) -> None:
    [(_, _, mean, _, _)] = rows(points([(0, value) for value in values], 60))
    assert mean == values[0]


@each(
    ("aggregate", "values"),
    [
        (Aggregate.SUM, (6.0, 3.0, 60.0)),
        (Aggregate.AVG, (2.0, 1.0, 20.0)),
        (Aggregate.MAX, (3.0, 2.0, 30.0)),
        (Aggregate.MIN, (1.0, 0.0, 10.0)),
        (Aggregate.P95, (2.9, 1.9, 29.0)),
    ],
)
def test_each_number_is_aggregated_over_the_series(
    aggregate: Aggregate, values: tuple[float, float, float]
) -> None:
    series = [
        Points(
            np.array([60, 120 + number]),
            np.array([5, 5]),
            *(np.array([value, 0.0]) for value in (number, number - 1.0, number * 10.0)),
        )
        for number in (1, 2, 3)
    ]
    first, *others = rows(aggregated(series, aggregate))
    assert first[0] == 60
    assert first[2:] == pytest.approx(values)
    assert [row[0] for row in others] == [121, 122, 123]


@tries(50)
@given(st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=40))
def test_the_percentile_is_interpolated(values: list[float]) -> None:
    [(_, _, found, _, _)] = rows(aggregated([points([(0, value)], 60) for value in values], Aggregate.P95))
    assert math.isclose(found, quantiles(values, n=20, method="inclusive")[-1], abs_tol=1e-9)


@each("aggregate", list(Aggregate))
def test_an_aggregate_of_the_largest_numbers_is_a_number(aggregate: Aggregate) -> None:
    series = [points([(0, value)], 60) for value in (LARGEST, LARGEST, -LARGEST, LARGEST)]
    [(_, _, value, _, _)] = rows(aggregated(series, aggregate))
    assert math.isfinite(value)


@each("aggregate", list(Aggregate))
def test_an_aggregate_of_nothing_is_empty(aggregate: Aggregate) -> None:
    assert rows(aggregated([], aggregate)) == rows(aggregated([points([], 60)], aggregate)) == []
