"""Times are read as psycopg reads them (`opsapi.postgresql.base`)."""

from datetime import UTC, datetime

import pytest
from django.db import DataError, connection
from psycopg.pq import Format
from psycopg.types.datetime import TimestamptzLoader

from opsapi.postgresql.base import QuickTimeLoader
from opsapi.sql import fetch_rows
from tests.each import each

pytestmark = pytest.mark.django_db
TIMESTAMPTZ = 1184


def read(text: str) -> object:
    [(found,)] = fetch_rows("SELECT %s::timestamptz", [text])
    return found


def test_connections_use_the_quick_loader() -> None:
    connection.ensure_connection()
    assert connection.connection.adapters.get_loader(TIMESTAMPTZ, Format.TEXT) is QuickTimeLoader


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-24 18:19:58.123456+00", datetime(2026, 11, 24, 18, 19, 58, 123456, UTC)),
        ("2026-11-24 18:19:58.1+05:30", datetime(2026, 11, 24, 12, 49, 58, 100000, UTC)),
        ("2026-11-24 18:19:58+00", datetime(2026, 11, 24, 18, 19, 58, 0, UTC)),
        ("0001-01-01 00:00:00+00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31 23:59:59.999999+00", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
    ],
)
def test_a_time_is_read_as_psycopg_reads_it(
    monkeypatch: pytest.MonkeyPatch, text: str, moment: datetime
) -> None:
    found = read(text)
    assert isinstance(found, datetime)
    assert (found, found.tzinfo) == (moment, UTC)
    monkeypatch.setattr(QuickTimeLoader, "load", TimestamptzLoader.load)
    assert read(text) == found


@each("text", ["infinity", "-infinity", "0044-03-15 00:00:00+00 BC", "10000-01-01 00:00:00+00"])
def test_a_time_that_python_cannot_hold_is_an_error_of_the_database(text: str) -> None:
    with pytest.raises(DataError):
        read(text)
