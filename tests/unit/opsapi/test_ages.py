"""Lengths of time in words."""

from datetime import timedelta

import pytest

from opsapi.console.ages import age_words

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (-HOUR, "under 1 min"),
        (timedelta(0), "under 1 min"),
        (MINUTE - SECOND, "under 1 min"),
        (MINUTE, "1 min"),
        (HOUR - SECOND, "59 min"),
        (HOUR, "1 h"),
        (HOUR + MINUTE - SECOND, "1 h"),
        (3 * HOUR + 20 * MINUTE, "3 h 20 min"),
        (DAY - SECOND, "23 h 59 min"),
        (DAY, "1 d"),
        (DAY + 59 * MINUTE, "1 d"),
        (2 * DAY + 4 * HOUR, "2 d 4 h"),
        (10 * DAY - SECOND, "9 d 23 h"),
        (10 * DAY, "10 d"),
        (1234 * DAY, "1,234 d"),
    ],
    ids=str,
)
def test_they_are_said_in_one_unit_or_two(length: timedelta, words: str) -> None:
    assert age_words(length) == words
