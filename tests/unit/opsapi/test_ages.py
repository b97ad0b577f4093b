"""Times and lengths of time in words."""

from datetime import UTC, datetime, timedelta, timezone

from django.template import Context, Template

from opsapi.clock import age_words, ago_words, exact_words, time_words
from tests.each import each

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@each(
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
def test_durations_have_one_or_two_units(length: timedelta, words: str) -> None:
    assert age_words(length) == words


@each(
    ("length", "words"),
    [
        (41.4 * SECOND, "41 s"),
        (6 * MINUTE + 41 * SECOND, "6 min 41 s"),
        (6 * MINUTE, "6 min"),
        (3 * HOUR + 20 * MINUTE + SECOND, "3 h 20 min"),
    ],
    ids=str,
)
def test_a_short_length_of_time_has_seconds(length: timedelta, words: str) -> None:
    assert exact_words(length) == words


def test_a_past_time_is_shown_with_its_age() -> None:
    now = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
    assert ago_words(now - 3 * HOUR - 20 * MINUTE, now) == "3 h 20 min ago"


@each(
    ("moment", "words"),
    [
        (datetime(2099, 11, 21, 19, 0, 0, 999_999, tzinfo=UTC), "2099-11-21 19:00:00Z"),
        (datetime(2099, 11, 21, 19, 0, tzinfo=timezone(HOUR)), "2099-11-21 18:00:00Z"),
        (datetime(99, 1, 2, 3, 4, 5, tzinfo=UTC), "0099-01-02 03:04:05Z"),
    ],
    ids=["fractions are cut", "in UTC", "of four digits"],
)
def test_a_time_reads_in_sentences_as_in_templates(moment: datetime, words: str) -> None:
    assert time_words(moment) == words
    assert Template("{{ moment }}").render(Context({"moment": moment})) == words
