"""Times in documents and queries: how they are written, accepted and refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from opsapi.clock import parse_filter_time, parse_time, second_after, wire_time
from tests.each import each

MOMENT = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)


@each(
    ("moment", "shown"),
    [
        (MOMENT, "2026-11-21T07:26:14Z"),
        (MOMENT.replace(microsecond=999_999), "2026-11-21T07:26:14Z"),
        (MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30))), "2026-11-21T07:26:14Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time_goes_out_in_utc_and_whole_seconds(moment: datetime, shown: str) -> None:
    assert wire_time(moment) == shown


@each(
    "text",
    [
        "2026-11-21T07:26:14Z",
        "2026-11-21T07:26:14",
        "2026-11-21t07:26:14z",
        "2026-11-21T07:26:14.999999999Z",
        "2026-11-21T07:26:14,5Z",
        "2026-11-21T08:26:14+01:00",
        "2026-11-21T08:26:14+01",
        "2026-11-21T02:56:14-0430",
    ],
)
def test_a_time_is_read_in_every_usual_form(text: str) -> None:
    assert parse_time(text) == MOMENT


def test_a_time_may_leave_out_its_seconds() -> None:
    assert parse_time("2026-11-21T07:26") == MOMENT.replace(second=0)


@each(
    "text",
    [
        "",
        "now",
        "2026-11-21",
        "20261121T072614Z",
        "2026-11-21 07:26:14",
        "2026-11-21T07:26:14.Z",
        "2026-11-21T07:26:60Z",
        "2026-11-21T24:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-W47-6T07:26:14Z",
        "2026-11-21T07:26:14+25:00",
        "2026-11-21T07:26:14Z ",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "٢٠٢٦-11-21T07:26:14Z",
    ],
)
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parsers say it in words of their own
        parse_time(text)


@each(
    ("text", "end_of_day", "expected"),
    [
        ("2026-11-21", False, datetime(2026, 11, 21, tzinfo=UTC)),
        ("2026-11-21", True, datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)),
        ("2026-11-21T07:26:14Z", True, MOMENT),
        ("9999-12-31", True, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_a_filter_takes_a_date_alone(text: str, end_of_day: bool, expected: datetime) -> None:
    assert parse_filter_time(text, end_of_day=end_of_day) == expected


@each("text", ["2026-02-29", "2026-11", "", "21.11.2026"])
def test_a_filter_refuses_an_invalid_date(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parsers say it in words of their own
        parse_filter_time(text, end_of_day=False)


@each(
    ("moment", "expected"),
    [
        (MOMENT, MOMENT + timedelta(seconds=1)),
        (MOMENT.replace(microsecond=999_999), MOMENT + timedelta(seconds=1)),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_the_second_after_a_moment_is_whole(moment: datetime, expected: datetime) -> None:
    assert second_after(moment) == expected
