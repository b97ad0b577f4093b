"""Values of metrics, computed from two samples."""

import pytest

from automation.agent.rates import LONGEST_PAIR, NumbersAt, RateKind, RateRow, Why, rounded, values_of
from tests.each import each

RATE = RateRow("R", RateKind.RATE, ("s/counter",))
GAUGE = RateRow("G", RateKind.GAUGE, ("s/new", "s/old"), scale=2)
SHARE = RateRow("S", RateKind.SHARE, ("s/part",), "s/whole")
PER = RateRow("P", RateKind.PER, ("s/time",), "s/ops", 0.001)
BUSIEST = RateRow("B", RateKind.BUSIEST, ("s/disks/*/ms",), scale=0.1)


def moment(seconds: float, process: int = 1, **numbers: float) -> NumbersAt:
    """Numbers of section `s`, at some second of a process."""
    return NumbersAt({f"s/{name}": value for name, value in numbers.items()}, process, seconds)


def test_a_counter_becomes_a_rate_per_second() -> None:
    values, _ = values_of([RATE], moment(100, counter=10), moment(104, counter=30))
    assert values == {"R": 5.0}


@each(
    "before",
    [
        None,
        pytest.param(moment(200, counter=1), id="the uptime went back"),
        pytest.param(moment(104, counter=1), id="no time went by"),
        pytest.param(moment(100, counter=99), id="the counter went back"),
        pytest.param(moment(100, process=2, counter=1), id="another process"),
        pytest.param(moment(100), id="it was not counted before"),
    ],
)
def test_without_a_pair_there_is_no_rate(before: NumbersAt | None) -> None:
    values, reasons = values_of([RATE], before, moment(104, counter=30))
    assert values == {}
    assert reasons == {"R": Why.WAITS}


@each(("more", "reason"), [(0, Why.REPORTED), (1, Why.WAITS)])
def test_numbers_from_long_ago_make_no_pair(more: int, reason: Why) -> None:
    """Another agent watched the server meanwhile."""
    _, reasons = values_of([RATE], moment(100, counter=1), moment(100 + LONGEST_PAIR + more, counter=30))
    assert reasons == {"R": reason}


@each(
    ("numbers", "value"),
    [({"new": 1.0, "old": 9.0}, 2.0), ({"old": 9.0}, 18.0), ({"new": 0.0, "old": 9.0}, 0.0)],
)
def test_the_first_source_that_is_there_counts(numbers: dict[str, float], value: float) -> None:
    values, _ = values_of([GAUGE], None, moment(1, 1, **numbers))
    assert values == {"G": value}


@each(
    ("value", "reported"),
    [
        (0.0, 0.0),
        (20.0, 20.0),
        (1 / 3, 0.333),
        (2 / 3, 0.667),
        (7654.321987, 7654.3),
        (99999.96, 100000.0),
        (123456.789, 123460.0),
        (1.23456789e11, 1.2346e11),
        (1.23456789e300, 1.2346e300),
        (0.0016, 0.002),
        (0.00012345, 0.0001),
        (5e-324, 5e-324),
    ],
)
def test_a_computed_value_has_five_digits_and_at_most_three_decimals(value: float, reported: float) -> None:
    assert rounded(value) == reported
    assert rounded(-value) == -reported


@each(
    ("row", "before", "now", "value"),
    [
        (RATE, moment(0, counter=0), moment(7, counter=100), 14.286),
        (SHARE, None, moment(1, part=1, whole=7), 14.286),
        (PER, moment(1, time=0, ops=0), moment(2, time=100_000, ops=7), 14.286),
        (GAUGE, None, moment(1, new=1 / 7), 2 / 7),
    ],
)
def test_only_values_that_were_read_keep_all_digits(
    row: RateRow, before: NumbersAt | None, now: NumbersAt, value: float
) -> None:
    values, _ = values_of([row], before, now)
    assert values == {row.metric: value}


def test_a_share_is_in_percent() -> None:
    values, _ = values_of([SHARE], None, moment(1, part=1, whole=4))
    assert values == {"S": 25.0}


def test_a_change_is_divided_by_another() -> None:
    values, _ = values_of([PER], moment(1, time=0, ops=0), moment(2, time=6000, ops=3))
    assert values == {"P": 2.0}


@each(
    ("row", "before", "now"),
    [
        (SHARE, None, moment(1, part=1, whole=0)),
        (PER, moment(1, time=0, ops=3), moment(2, time=1, ops=3)),
    ],
)
def test_nothing_is_divided_by_nothing(row: RateRow, before: NumbersAt | None, now: NumbersAt) -> None:
    _, reasons = values_of([row], before, now)
    assert set(reasons.values()) == {Why.IDLE}


def test_the_busiest_of_several_counts() -> None:
    before = NumbersAt({"s/disks/a/ms": 0, "s/disks/b/ms": 0}, 1, 10)
    now = NumbersAt({"s/disks/a/ms": 5000, "s/disks/b/ms": 1000}, 1, 20)
    assert values_of([BUSIEST], before, now)[0] == {"B": 50.0}


@each("refused", [frozenset(), frozenset({"s"})])
def test_one_that_is_missing_says_why_and_loses_no_other(refused: frozenset[str]) -> None:
    now = moment(1, part=1, whole=4)
    values, reasons = values_of([GAUGE, SHARE], None, now, refused)
    assert values == {"S": 25.0}
    assert reasons["G"] is (Why.REFUSED if refused else Why.ABSENT)


@each("value", [float("nan"), float("inf")])
def test_a_value_that_json_has_not_is_left_out(value: float) -> None:
    values, _ = values_of([GAUGE], None, moment(1, new=value))
    assert values == {}
