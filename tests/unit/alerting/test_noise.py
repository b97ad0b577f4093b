"""Alerts per week, and the noise in words."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.insight.noise import Noise, alerts_per_week, noise_sentences
from alerting.insight.suggestions import DelaySuggestion

NOW = datetime(2099, 11, 21, tzinfo=UTC)
SINCE = NOW - timedelta(days=28)


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
    delay = DelaySuggestion(delay_min=2, alerts=3, compared=9)
    loud = Noise(since=SINCE, until=NOW, alerts=9, suggestions=[delay])
    assert len(noise_sentences(quiet)) == 1
    assert "2 min" in noise_sentences(loud)[1]
