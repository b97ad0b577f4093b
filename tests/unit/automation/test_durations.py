"""Spans of time as queries name them."""

from datetime import UTC, datetime, timedelta

import pytest

from automation.choices import Granularity
from automation.measurements.query import bucket_start, read_duration, span_of
from tests.each import each


@each(
    ("text", "duration"),
    [
        ("PT1S", timedelta(seconds=1)),
        ("PT90M", timedelta(minutes=90)),
        ("PT1H30M", timedelta(minutes=90)),
        ("PT1H1S", timedelta(seconds=3601)),
        ("P1D", timedelta(days=1)),
        ("P1DT12H", timedelta(hours=36)),
        ("P0DT1S", timedelta(seconds=1)),
        ("P2W", timedelta(days=14)),
        ("PT0060M", timedelta(hours=1)),
        ("PT999999999H", timedelta(hours=999_999_999)),
    ],
)
def test_a_duration_is_read(text: str, duration: timedelta) -> None:
    assert read_duration(text) == duration


@each(
    "text",
    [
        "",
        "P",
        "PT",
        "P1DT",
        "PT0S",
        "P0D",
        "1H",
        "PT1",
        "P1H",
        "PT1D",
        "P1Y",
        "P1M",
        "P1W1D",
        "PT1M1H",
        "PT1.5H",
        "-PT1H",
        "PT-1H",
        "pt1h",
        "PT1H ",
        "PT1H\n",
        "PT٣H",
        "PT1234567890H",
        "\0",
    ],
)
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 8601 duration"):
        read_duration(text)


@each("granularity", Granularity)
def test_a_granularity_is_the_duration_it_is_named_as(granularity: Granularity) -> None:
    assert span_of(granularity) == read_duration(granularity.value)


@each(
    ("moment", "granularity", "start"),
    [
        ("2026-11-21T10:17:31", Granularity.PT1M, "2026-11-21T10:17:00"),
        ("2026-11-21T10:17:31", Granularity.PT5M, "2026-11-21T10:15:00"),
        ("2026-11-21T10:17:31", Granularity.PT1H, "2026-11-21T10:00:00"),
        ("2026-11-21T10:17:31", Granularity.P1D, "2026-11-21T00:00:00"),
        ("2026-11-21T00:00:00", Granularity.P1D, "2026-11-21T00:00:00"),
        ("2026-11-20T23:59:59", Granularity.P1D, "2026-11-20T00:00:00"),
        ("1999-12-31T23:59:59", Granularity.PT1H, "1999-12-31T23:00:00"),
        ("0001-01-01T00:00:00", Granularity.PT5M, "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59", Granularity.P1D, "9999-12-31T00:00:00"),
    ],
)
def test_buckets_begin_where_the_clock_shows_it(moment: str, granularity: Granularity, start: str) -> None:
    at, begins = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (moment, start))
    assert bucket_start(at, span_of(granularity)) == begins
