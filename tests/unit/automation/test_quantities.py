"""Measured quantities in words."""

from automation.metrics import Metric
from automation.quantities import (
    best_unit,
    measured_quantity,
    number_words,
    quantity,
    quantity_of,
    readable_quantity,
    unit_words,
)
from automation.units import Unit
from tests.each import each


@each(
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
    assert (quantity(5, Unit.RAW), quantity(5, Unit.SECONDS)) == ("5", "5 s")


@each(
    ("metric", "value", "words"),
    [
        (Metric.CONNECTIONS, 1650, "1,650"),
        (Metric.DISK_PARTITION_SPACE_PERCENT_FREE, 82.5, "82.5 %"),
        (Metric.DISK_PARTITION_SPACE_PERCENT_FREE, 99.96, "99.9 %"),
        (Metric.DISK_PARTITION_SPACE_PERCENT_FREE, 100, "100 %"),
        (Metric.SYSTEM_CPU_USER, 0.25, "0.25 %"),
        (Metric.SYSTEM_CPU_USER, 799.96, "800 %"),
        (Metric.MEMORY_RESIDENT, 0, "0 B"),
        (Metric.MEMORY_RESIDENT, 1023, "1,023 B"),
        (Metric.MEMORY_RESIDENT, 1024, "1 KB"),
        (Metric.MEMORY_RESIDENT, 8_804_682_957, "8.2 GB"),
        (Metric.MEMORY_RESIDENT, -(2**31), "-2 GB"),
        (Metric.MEMORY_RESIDENT, 2.0**60, "1,024 PB"),
        (Metric.OP_EXECUTION_TIME_READS, 0.25, "0.25 ms"),
        (Metric.OP_EXECUTION_TIME_READS, 90_000, "1 min 30 s"),
        (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 0.5, "0.5 s"),
        (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 401, "6 min 41 s"),
        (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 93_600, "1 d 2 h"),
        (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 1e15, "11,574,074,074 d"),
        (Metric.CONNECTIONS, 81.987, "82"),
        (Metric.CONNECTIONS, 1650.4, "1,650"),
        (Metric.CONNECTIONS, float("inf"), "inf"),
    ],
)
def test_a_value_is_in_the_unit_it_is_read_best_in(metric: Metric, value: float, words: str) -> None:
    assert quantity_of(metric, value) == words


def test_no_unit_is_smaller_than_the_one_it_is_measured_in() -> None:
    assert best_unit(Metric.OPLOG_SLAVE_LAG_MASTER_TIME, 0.001) is Unit.SECONDS


@each(
    ("number", "units", "words"),
    [
        (1500, Unit.MEGABYTES, "1,500 MB"),
        (2**31, Unit.BYTES, "2 GB"),
        (-(2**31), Unit.BYTES, "-2 GB"),
        (0, Unit.GIGABYTES, "0 GB"),
        (0.01, Unit.GIGABYTES, "0.01 GB"),
        (300 / 2**30, Unit.GIGABYTES, "300 B"),
        (9_999, Unit.MILLISECONDS, "9,999 ms"),
        (10_000, Unit.MILLISECONDS, "10 s"),
        (16_500, Unit.RAW, "16,500"),
        (80, Unit.PERCENT, "80 %"),
        (0.001, Unit.RAW, "0.001"),
        (0.25, Unit.NANOSECONDS, "0.25 ns"),
        (float("inf"), Unit.BYTES, "inf PB"),
    ],
)
def test_a_quantity_keeps_its_units_as_long_as_its_number_is_short(
    number: float, units: Unit, words: str
) -> None:
    assert readable_quantity(number, units) == words


@each(
    ("number", "units", "words"),
    [
        (401, Unit.SECONDS, "6 min 41 s"),
        (1.5, Unit.HOURS, "1 h 30 min"),
        (59.9, Unit.SECONDS, "59.9 s"),
        (300, Unit.MILLISECONDS, "300 ms"),
        (81.987, Unit.RAW, "81.987"),
    ],
)
def test_a_measured_time_has_one_or_two_units(number: float, units: Unit, words: str) -> None:
    assert measured_quantity(number, units) == words


def test_every_unit_but_that_of_counts_has_a_symbol_of_its_own() -> None:
    symbols = [unit_words(unit) for unit in Unit]
    assert len(set(symbols)) == len(symbols)
    assert [unit for unit in Unit if not unit_words(unit)] == [Unit.RAW]
