"""Maintenance windows: whether a window is pending, active or over."""

from datetime import UTC, datetime, timedelta

from alerting.rules.windows import WindowState, window_state
from tests.each import each

START = datetime(2099, 11, 21, 22, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def at(minutes: int) -> datetime:
    """So many minutes after START."""
    return START + timedelta(minutes=minutes)


@each(
    ("now", "state"),
    [
        (START - SECOND, WindowState.PENDING),
        (START - timedelta(microseconds=1), WindowState.PENDING),
        (START, WindowState.ACTIVE),
        (at(60) - SECOND, WindowState.ACTIVE),
        (at(60) - timedelta(microseconds=1), WindowState.ACTIVE),
        (at(60), WindowState.EXPIRED),
        (at(60) + SECOND, WindowState.EXPIRED),
    ],
    ids=str,
)
def test_the_start_belongs_to_a_window_and_the_end_does_not(now: datetime, state: WindowState) -> None:
    assert window_state(START, at(60), now) is state
