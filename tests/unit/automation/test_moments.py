"""The times of documents."""

from datetime import UTC, datetime

from automation.moments import moment
from tests.each import each

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)


@each(
    "text",
    [
        "2099-11-21T12:00:00Z",
        "2099-11-21t12:00z",
        "2099-11-21T12:00:00",
        "2099-11-21T13:30:00+01:30",
        "2099-11-21T13:30:00.000+0130",
        "2099-11-21T04:00:00,000000000-08",
    ],
)
def test_a_time_is_read_in_every_form(text: str) -> None:
    assert moment(text) == NOON


def test_it_keeps_microseconds() -> None:
    assert moment("2099-11-21T12:00:00.1234567Z") == NOON.replace(microsecond=123456)


@each(
    "text",
    ["2099-11-21", "noon", "2099-13-21T12:00:00Z", "0001-01-01T00:00:00+01:00", "2099-11-21T12:00:00+99:00"],
)
def test_anything_else_is_no_time(text: str) -> None:
    assert moment(text) is None
