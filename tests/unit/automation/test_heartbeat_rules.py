"""When agents and hosts have a heartbeat timeout, and when the clocks start again."""

from datetime import UTC, datetime, timedelta

import pytest

from automation.choices import AgentType
from automation.rules.heartbeats import (
    AGENT_DOWN,
    AGENT_VERSION_BEHIND,
    clocks_start,
    timed_out_since,
    transition_event,
    unheard_for,
)
from events.types import EventType
from tests.each import each

NOW = datetime(2099, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FOUR_MINUTES = timedelta(minutes=4)


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


def test_clocks_that_are_yet_to_start_do_so_at_their_time() -> None:
    for swept in (None, NOW - timedelta(days=1), NOW):
        assert clocks_start(counting_since=NOW + SECOND, swept=swept, now=NOW) == NOW + SECOND


def test_every_kind_of_agent_can_be_down_and_two_can_be_behind() -> None:
    assert set(AGENT_DOWN) == set(AgentType)
    assert set(AGENT_VERSION_BEHIND) == {AgentType.MONITORING, AgentType.BACKUP}


@each(("holds", "expected"), [(True, EventType.BACKUP_AGENT_DOWN), (False, EventType.BACKUP_AGENT_UP)])
def test_a_condition_turns(holds: bool, expected: EventType) -> None:
    assert transition_event(EventType.BACKUP_AGENT_DOWN, holds=holds) is expected


def test_what_nothing_closes_does_not_end() -> None:
    with pytest.raises(ValueError, match="NEW_HOST"):
        transition_event(EventType.NEW_HOST, holds=False)
