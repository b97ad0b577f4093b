"""When agents and hosts have a heartbeat timeout, and when the clocks start again."""

from datetime import UTC, datetime, timedelta

import pytest

from automation.agents.rules import (
    AGENT_DOWN,
    AGENT_VERSION_BEHIND,
    DetectionGap,
    clocks_start,
    detection,
    detection_words,
    timed_out_since,
    transition_event,
    unheard_for,
)
from automation.choices import AgentType
from events.types import EventType
from tests.each import each

NOW = datetime(2099, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
FOUR_MINUTES = timedelta(minutes=4)
DAY = timedelta(days=1)


@each(
    ("ran", "expected"),
    [
        (timedelta(), None),
        (FOUR_MINUTES - SECOND, None),
        (FOUR_MINUTES, NOW - FOUR_MINUTES),
        (timedelta(days=9), NOW - FOUR_MINUTES),
    ],
)
def test_a_heartbeat_timeout_is_four_minutes_of_running_clocks(
    ran: timedelta, expected: datetime | None
) -> None:
    assert timed_out_since(counting_since=NOW - ran, now=NOW) == expected


@each(
    ("ago", "unheard"),
    [
        (None, None),
        (-SECOND, None),
        (timedelta(), None),
        (FOUR_MINUTES - SECOND, None),
        (FOUR_MINUTES, FOUR_MINUTES),
        (timedelta(minutes=28), timedelta(minutes=28)),
    ],
)
def test_a_report_counts_until_the_heartbeat_timeout(
    ago: timedelta | None, unheard: timedelta | None
) -> None:
    assert unheard_for(None if ago is None else NOW - ago, NOW) == unheard


@each(
    ("ago", "anew"),
    [
        (None, True),
        (timedelta(), False),
        (timedelta(seconds=15), False),
        (timedelta(seconds=60), False),
        (timedelta(seconds=61), True),
        (timedelta(days=1), True),
    ],
)
def test_clocks_start_again_when_nobody_looked_for_over_a_minute(ago: timedelta | None, anew: bool) -> None:
    before = NOW - timedelta(days=9)
    swept = None if ago is None else NOW - ago
    assert clocks_start(counting_since=before, swept=swept, now=NOW) == (NOW if anew else before)


@each(
    ("counting_since", "swept", "anew"),
    [
        (MINUTE, MINUTE, False),
        (MINUTE + SECOND, timedelta(), True),
        (DAY, timedelta(), True),
        (-DAY, MINUTE + SECOND, True),
        (-DAY, DAY, True),
    ],
)
def test_times_in_the_future_say_nothing(counting_since: timedelta, swept: timedelta, anew: bool) -> None:
    before = NOW + counting_since
    assert clocks_start(counting_since=before, swept=NOW + swept, now=NOW) == (NOW if anew else before)


@each(
    ("counting_since", "swept", "gap", "says"),
    [
        (-FOUR_MINUTES, timedelta(), None, ""),
        (-DAY, -MINUTE, None, ""),
        (-DAY, MINUTE, None, ""),
        (-FOUR_MINUTES + SECOND, timedelta(), DetectionGap.COUNTING, "2099-01-01 00:00:01Z"),
        (timedelta(), timedelta(), DetectionGap.COUNTING, "2099-01-01 00:04:00Z"),
        (-DAY, -MINUTE - SECOND, DetectionGap.NOT_SWEPT, "2098-12-31 23:58:59Z, 1 min ago"),
        (timedelta(), -DAY, DetectionGap.NOT_SWEPT, "2098-12-31 00:00:00Z"),
        (None, None, DetectionGap.NEVER_SWEPT, "yet"),
        (-DAY, None, DetectionGap.NEVER_SWEPT, "yet"),
        (DAY, timedelta(), DetectionGap.CLOCK_AHEAD, "2099-01-02 00:00:00Z"),
        (-DAY, MINUTE + SECOND, DetectionGap.CLOCK_AHEAD, "2099-01-01 00:01:01Z"),
    ],
)
def test_whether_timeouts_are_noticed(
    counting_since: timedelta | None, swept: timedelta | None, gap: DetectionGap | None, says: str
) -> None:
    stored = {
        "counting_since": None if counting_since is None else NOW + counting_since,
        "swept": None if swept is None else NOW + swept,
    }
    found = detection(any_agent=True, **stored, now=NOW)
    assert found.gap is gap
    assert says in (detection_words(found, NOW) or "")
    assert (detection_words(found, NOW) is None) is (gap is None)
    assert found.is_pausing is (gap is DetectionGap.COUNTING)
    assert found.has_failed is (gap is not None and not found.is_pausing)
    nothing = detection(any_agent=False, **stored, now=NOW)
    assert (nothing.gap, nothing.has_failed, detection_words(nothing, NOW)) == (
        DetectionGap.NO_AGENT,
        False,
        None,
    )


def test_a_gap_is_the_time_in_which_no_agent_can_time_out() -> None:
    for minutes in range(10):
        since = NOW - minutes * MINUTE
        found = detection(any_agent=True, counting_since=since, swept=NOW, now=NOW)
        assert (found.gap is None) is (timed_out_since(counting_since=since, now=NOW) is not None)
        assert found.until in {None, since + FOUR_MINUTES}


def test_every_kind_of_agent_can_be_down_and_two_can_be_behind() -> None:
    assert set(AGENT_DOWN) == set(AgentType)
    assert set(AGENT_VERSION_BEHIND) == {AgentType.MONITORING, AgentType.BACKUP}


@each(("holds", "expected"), [(True, EventType.BACKUP_AGENT_DOWN), (False, EventType.BACKUP_AGENT_UP)])
def test_a_condition_turns(holds: bool, expected: EventType) -> None:
    assert transition_event(EventType.BACKUP_AGENT_DOWN, holds=holds) is expected


def test_what_nothing_closes_does_not_end() -> None:
    with pytest.raises(ValueError, match="NEW_HOST"):
        transition_event(EventType.NEW_HOST, holds=False)
