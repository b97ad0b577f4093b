"""Four weeks of a maintenance window, day by day."""

from datetime import UTC, date, datetime, timedelta

from alerting.windows.calendar import window_calendar
from alerting.windows.recurrence import Recurrence
from alerting.windows.rules import WindowRule
from tests.each import each

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
"""A Wednesday."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def periods(
    start: datetime, duration: timedelta, rrule: str | None = None, zone: str = "UTC"
) -> dict[str, list[str]]:
    """The days on which the window mutes, with their periods."""
    recurrence = Recurrence(rrule, zone) if rrule else None
    rule = WindowRule(id="a", start=start, end=start + duration, recurrence=recurrence)
    weeks = window_calendar(rule, NOW).weeks
    return {str(day.date): list(day.periods) for week in weeks for day in week if day.periods}


def test_four_weeks_begin_on_the_monday_of_this_week() -> None:
    weeks = window_calendar(WindowRule(id="a", start=NOW, end=NOW + HOUR), NOW).weeks
    days = [day for week in weeks for day in week]
    assert [len(week) for week in weeks] == [7] * 4
    assert (days[0].date, days[-1].date) == (date(2026, 11, 23), date(2026, 12, 20))
    assert [day.date for day in days if day.is_today] == [NOW.date()]


@each(
    ("start", "duration", "expected"),
    [
        (NOW, 2 * HOUR, {"2026-11-25": ["12:00–14:00"]}),
        (NOW, 12 * HOUR, {"2026-11-25": ["12:00–24:00"]}),
        (NOW, 13 * HOUR, {"2026-11-25": ["12:00–24:00"], "2026-11-26": ["00:00–01:00"]}),
        (NOW - DAY, HOUR, {"2026-11-24": ["12:00–13:00"]}),
        (NOW - 9 * DAY, HOUR, {}),
        # Later weeks are shown if the next occurrence is there.
        (NOW + 60 * DAY, HOUR, {"2027-01-24": ["12:00–13:00"]}),
        (datetime(9999, 12, 30, tzinfo=UTC), HOUR, {}),
    ],
    ids=str,
)
def test_a_period_is_shown_on_each_of_its_days(
    start: datetime, duration: timedelta, expected: dict[str, list[str]]
) -> None:
    assert periods(start, duration) == expected


def test_a_window_without_end_fills_all_days() -> None:
    found = periods(datetime(1, 1, 1, tzinfo=UTC), timedelta(days=365 * 9000))
    assert len(found) == 28
    assert {tuple(periods) for periods in found.values()} == {("00:00–24:00",)}


def test_days_and_times_are_of_the_time_zone() -> None:
    # 02:00 on Sundays in Auckland is Saturday in UTC.
    start = datetime(2026, 11, 28, 13, tzinfo=UTC)
    found = periods(start, HOUR, "FREQ=WEEKLY;BYDAY=SU", "Pacific/Auckland")
    assert found == {
        f"2026-{month_and_day}": ["02:00–03:00"] for month_and_day in ("11-29", "12-06", "12-13", "12-20")
    }
