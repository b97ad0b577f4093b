"""Percentiles, ratios and the table."""

import pytest

from tests.benchmarks.figures import Line, percentile, table
from tests.each import each


@each(
    ("values", "share", "expected"),
    [
        ([7.0], 0.0, 7.0),
        ([7.0], 0.5, 7.0),
        ([7.0], 1.0, 7.0),
        ([2.0, 1.0], 0.5, 1.0),
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([float(number) for number in range(100, 0, -1)], 0.0, 1.0),
        ([float(number) for number in range(100, 0, -1)], 0.95, 95.0),
        ([float(number) for number in range(100, 0, -1)], 0.951, 96.0),
        ([float(number) for number in range(100, 0, -1)], 1.0, 100.0),
    ],
)
def test_a_percentile_is_the_nearest_rank(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == expected


def test_there_is_no_percentile_of_nothing() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@each(("limit", "ratio"), [(8.0, 0.5), (2.0, 2.0), (None, None), (0.0, None)])
def test_a_ratio_needs_a_limit_to_divide_by(limit: float | None, ratio: float | None) -> None:
    assert Line("list", "rate", "1/s", 4.0, limit).ratio == ratio


def test_the_document_of_a_line_has_its_ratio() -> None:
    assert Line("list", "rate", "1/s", 1.0, 4.0, "bare").document() == {
        "row": "list",
        "what": "rate",
        "unit": "1/s",
        "value": 1.0,
        "limit": 4.0,
        "ratio": 0.25,
        "against": "bare",
    }


def test_the_table_aligns_numbers_and_parts_rows() -> None:
    shown = table(
        [
            Line("list", "rate", "1/s", 1234.4, 2468.8, "bare function"),
            Line("list", "latency", "ms", 9.5, 99.96, "bare function"),
            Line("memory", "all", "MiB", 70.0),
        ]
    )
    assert shown == (
        "measured       platform  limit  unit  ratio  limit is\n"
        "----------------------------------------------------------\n"
        "list: rate        1,234  2,469  1/s    0.50  bare function\n"
        "list: latency      9.50  100.0  ms     0.10  bare function\n"
        "\n"
        "memory: all        70.0         MiB\n"
    )
