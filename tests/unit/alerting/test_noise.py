"""Alerts per week, and the delay that would halve the alerts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from alerting.rules.noise import (
    LONGEST_DELAY_MIN,
    DelaySuggestion,
    Noise,
    alerts_per_week,
    noise_words,
    suggest_delay,
)

NOW = datetime(2099, 11, 21, tzinfo=UTC)
SINCE = NOW - timedelta(days=28)
NONE = timedelta()


def suggested(alerts: int, shorter: Sequence[int], delay_min: int = 0) -> int | None:
    """The suggested minutes; `shorter` continues with its last number."""
    counts = [*shorter, *[shorter[-1]] * (LONGEST_DELAY_MIN - len(shorter))]
    found = suggest_delay(alerts, counts, delay=timedelta(minutes=delay_min))
    return None if found is None else found.delay_min


@pytest.mark.parametrize(
    ("alerts", "shorter", "delay_min", "expected"),
    [
        (3, [3], 0, None),
        (4, [2], 0, 1),
        (4, [1, 2], 0, 2),
        (5, [2], 0, None),
        (4, [1], 0, None),
        (10, [0, 0, 0, 0, 0, 0, 0, 0, 0, 5], 0, 10),
        (4, [2], 1, 2),
        (4, [0, 0, 3], 3, 4),
        (4, [4], 10, None),
    ],
)
def test_the_smallest_delay_that_halves_is_suggested(
    alerts: int, shorter: Sequence[int], delay_min: int, expected: int | None
) -> None:
    assert suggested(alerts, shorter, delay_min) == expected


def test_the_suggestion_counts_the_alerts_that_are_left() -> None:
    found = suggest_delay(9, [1, 6, *[6] * 8], delay=NONE)
    assert found == DelaySuggestion(delay_min=2, alerts=3)


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        (SINCE - timedelta(days=100), 2),
        (NOW - timedelta(days=14), 4),
        (NOW - timedelta(days=1), 8),
    ],
)
def test_weeks_are_counted_from_the_creation(created: datetime, expected: float) -> None:
    assert alerts_per_week(8, since=SINCE, created=created, until=NOW) == expected


def test_words_contain_the_suggestion() -> None:
    quiet = Noise(since=SINCE, until=NOW)
    loud = Noise(since=SINCE, until=NOW, alerts=9, suggestion=DelaySuggestion(delay_min=2, alerts=3))
    assert noise_words(quiet) != noise_words(loud)
    assert "2 min" in noise_words(loud)
