"""Measured quantities in words."""

import pytest

from automation.metrics import Metric
from automation.quantities import best_unit, number_words, quantity, quantity_of
from automation.units import Unit


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (5.0, "5"),
        (-1650.0, "-1,650"),
        (1000.5, "1,000.5"),
        (0.001, "0.001"),
        (0.0009, "0.0009"),
        (1e-9, "1e-09"),
        (999_999_999_999_999, "999,999,999,999,999"),
        (1e15, "1e+15"),
        (float("inf"), "inf"),
        (100, "100"),
    ],
)
def test_a_number_is_written_for_people(number: float, words: str) -> None:
    assert number_words(number) == words


def test_raw_numbers_have_no_units() -> None:
    assert (quantity(5, Unit.RAW), quantity(5, Unit.SECONDS)) == ("5", "5 seconds")


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        (Metric.CONNECTIONS, 1650, "1,650"),
        (Metric.MEMORY_RESIDENT, 0, "0 bytes"),
        (Metric.MEMORY_RESIDENT, 1023, "1,023 bytes"),
        (Metric.MEMORY_RESIDENT, 1024, "1 kilobytes"),
        (Metric.MEMORY_RESIDENT, 8_804_682_957, "8.2 gigabytes"),
        (Metric.MEMORY_RESIDENT, -(2**31), "-2 gigabytes"),
        (Metric.MEMORY_RESIDENT, 2.0**60, "1,024 petabytes"),
        (Metric.OP_EXECUTION_TIME_READS, 0.25, "0.25 milliseconds"),
        (Metric.OP_EXECUTION_TIME_READS, 90_000, "1.5 minutes"),
        (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 0.5, "0.5 seconds"),
    ],
)
def test_a_value_stands_in_the_unit_it_is_read_best_in(metric: Metric, value: float, words: str) -> None:
    assert quantity_of(metric, value) == words


def test_no_unit_is_smaller_than_the_one_it_is_measured_in() -> None:
    assert best_unit(Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 0.001) is Unit.SECONDS
