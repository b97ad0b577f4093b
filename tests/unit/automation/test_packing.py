"""Readings in their packed form: every number and time comes back as it was."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automation.measurements.packing import (
    TIMES,
    Column,
    PackedBlock,
    Times,
    packed,
    unpacked_column,
    unpacked_times,
)
from tests.benchmarks.measured_day import measured_day
from tests.hostile.budget import tries

LONGEST = 2**53
ANY_DOUBLE = st.floats(width=64)
DECIMALS = st.integers(-LONGEST, LONGEST).flatmap(
    lambda number: st.sampled_from([1, 10, 100, 1000, 10_000]).map(lambda scale: number / scale)
)
NUMBERS = st.one_of(
    st.lists(ANY_DOUBLE, min_size=1, max_size=40),
    st.lists(DECIMALS, min_size=1, max_size=40),
    st.lists(
        st.sampled_from([0.0, -0.0, 1.0, 0.1, float("inf"), float("nan"), 5e-324]), min_size=1, max_size=40
    ),
)
MOMENT = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
TIME = st.tuples(MOMENT, st.integers(-32_768, 32_767), st.integers(-300, 3600))


def times_of(rows: list[tuple[int, int, int]]) -> Times:
    reported, reports, ages = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Times(reported, reports, ages)


def minutes(rows: int) -> Times:
    return times_of([(place * 60_000_000, place % 3, 0) for place in range(rows)])


def part(block: PackedBlock, number: int) -> bytes:
    place = list(block.metrics).index(number)
    return block.octets[([0, *block.ends])[place] : block.ends[place]]


def bits(numbers: Any) -> bytes:
    """A zero has a sign, and NaN has a payload."""
    return np.asarray(numbers, np.float64).tobytes()


@tries(200)
@given(st.data(), NUMBERS)
def test_every_number_comes_back_with_all_its_bits(data: st.DataObject, numbers: list[float]) -> None:
    rows = len(numbers) + data.draw(st.integers(0, 20))
    places = np.array(sorted(data.draw(st.permutations(range(rows)))[: len(numbers)]))
    block = packed(minutes(rows), {7: Column(places, np.array(numbers))})
    column = unpacked_column(part(block, 7), block.rows)
    assert bits(column.values) == bits(numbers)
    assert column.places.tolist() == places.tolist()


@tries(100)
@given(st.lists(TIME, min_size=1, max_size=40))
def test_every_report_and_age_comes_back(rows: list[tuple[int, int, int]]) -> None:
    times = unpacked_times(part(packed(times_of(rows), {}), TIMES))
    assert (
        list(zip(times.reported.tolist(), times.reports.tolist(), times.ages.tolist(), strict=True)) == rows
    )
    assert times.moments.tolist() == [reported // 1_000_000 - age for reported, _, age in rows]


def test_each_metric_has_its_own_part() -> None:
    columns = {number: Column(np.arange(2), np.array([number, number + 0.5])) for number in (133, 1, 40)}
    block = packed(minutes(2), columns)
    assert block.metrics == [TIMES, 1, 40, 133]
    assert block.ends[-1] == len(block.octets)
    for number in columns:
        assert unpacked_column(part(block, number), 2).values.tolist() == [number, number + 0.5]


@pytest.mark.parametrize(("rounded", "most"), [(False, 2.0), (True, 1.3)])
def test_a_day_takes_fewer_bytes_than_the_goal(rounded: bool, most: float) -> None:
    """As reported, and with rates of five digits."""
    taken = values = 0
    for host in measured_day(hosts=4, rounded=rounded):
        columns = {number: Column(np.arange(len(host[0])), column) for number, column in enumerate(host, 1)}
        block = packed(minutes(len(host[0])), columns)
        taken, values = taken + len(block.octets), values + sum(len(column) for column in host)
    assert taken / values < most
