"""How the time that a project uses is counted, also when clocks jump."""

from datetime import UTC, datetime, timedelta

import pytest

from alerting.engine.usage_rules import NOTICE_MINUTES, SHARE_SECONDS, Usage, minute_of

NOW = datetime(2099, 3, 4, 5, 0, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
USED = Usage().add(3.0, NOW)


@pytest.mark.parametrize(
    ("later", "seconds", "before"),
    [
        (timedelta(0), 3.0, 0.0),
        (timedelta(seconds=29), 3.0, 0.0),
        (timedelta(seconds=30), 0.0, 3.0),
        (MINUTE, 0.0, 3.0),
        (2 * MINUTE, 0.0, 0.0),
        (-MINUTE, 0.0, 0.0),
        (timedelta(days=-1), 0.0, 0.0),
    ],
    ids=str,
)
def test_the_time_of_this_minute_and_the_last_counts(later: timedelta, seconds: float, before: float) -> None:
    usage = USED.at(NOW + later)
    assert (usage.seconds, usage.seconds_before) == (seconds, before)


def test_more_work_in_a_minute_adds_up() -> None:
    usage = USED.add(2.0, NOW).add(1.0, NOW + MINUTE)
    assert (usage.seconds, usage.seconds_before) == (1.0, 5.0)


def test_the_share_is_exceeded_by_more_than_it() -> None:
    assert Usage().add(SHARE_SECONDS, NOW).exceeded is None
    exceeded = Usage().add(SHARE_SECONDS, NOW).add(0.1, NOW)
    assert exceeded.exceeded == minute_of(NOW)
    assert exceeded.has_exceeded(NOW + (NOTICE_MINUTES - 1) * MINUTE)
    assert not exceeded.has_exceeded(NOW + NOTICE_MINUTES * MINUTE)
    assert not exceeded.has_exceeded(NOW - MINUTE)  # a clock was ahead
    assert not USED.has_exceeded(NOW)


def test_the_share_of_a_minute_is_exceeded_and_not_of_two() -> None:
    assert Usage().add(SHARE_SECONDS, NOW).add(SHARE_SECONDS, NOW + MINUTE).exceeded is None
