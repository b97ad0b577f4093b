"""Four weeks of a maintenance window, day by day."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from alerting.windows.calendar import Week, week_of, window_calendar
from alerting.windows.recurrence import Recurrence
from alerting.windows.rules import WindowRule
from tests.each import each

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
"""A Wednesday."""
TODAY = NOW.date()
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def periods(
    start: datetime, duration: timedelta, rrule: str | None = None, zone: str = "UTC"
) -> dict[str, list[str]]:
    """The days on which the window mutes, with their periods."""
    recurrence = Recurrence(rrule, zone) if rrule else None
    rule = WindowRule(id="a", alert_types=["HOST"], start=start, end=start + duration, recurrence=recurrence)
    weeks = window_calendar(rule, NOW, "UTC").weeks
    return {str(day.date): list(day.periods) for week in weeks for day in week if day.periods}


def test_four_weeks_begin_on_the_monday_of_this_week() -> None:
    weeks = window_calendar(
        WindowRule(id="a", alert_types=["HOST"], start=NOW, end=NOW + HOUR), NOW, "UTC"
    ).weeks
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


def test_a_window_that_occurs_once_is_shown_in_the_given_zone() -> None:
    rule = WindowRule(id="a", alert_types=["HOST"], start=NOW + 11 * HOUR, end=NOW + 12 * HOUR)
    calendar = window_calendar(rule, NOW, "Asia/Tokyo")
    days = [day for week in calendar.weeks for day in week if day.periods]
    assert [(day.date, list(day.periods)) for day in days] == [(date(2026, 11, 26), ["08:00–09:00"])]


def week(day: date = TODAY, zone: str = "UTC") -> Week:
    return week_of(day, ZoneInfo(zone), NOW)


def row(
    start: datetime, duration: timedelta, rrule: str | None = None, of: Week | None = None
) -> dict[str, tuple[list[tuple[int, int]], list[str]]]:
    """The days of a window's row on which it mutes, with bars and words."""
    of = of or week()
    recurrence = Recurrence(rrule, of.zone.key) if rrule else None
    rule = WindowRule(id="a", alert_types=["HOST"], start=start, end=start + duration, recurrence=recurrence)
    cells = of.cells(of.occurrences(rule))
    assert [cell.date for cell in cells] == of.days
    return {f"{cell.date:%a}": (list(cell.bars), list(cell.words)) for cell in cells if cell.bars}


def test_a_week_begins_on_monday_and_marks_today() -> None:
    assert (week().monday, week().today, week().now) == (date(2026, 11, 23), 2, 500)
    later = week(date(2026, 12, 6))
    assert (later.monday, later.today) == (date(2026, 11, 30), None)


@each(
    ("start", "duration", "expected"),
    [
        (NOW, 6 * HOUR, {"Wed": ([(500, 250)], ["12:00–18:00"])}),
        (NOW, 12 * HOUR, {"Wed": ([(500, 500)], ["12:00–24:00"])}),
        (
            NOW,
            2 * DAY,
            {
                "Wed": ([(500, 500)], ["from 12:00"]),
                "Thu": ([(0, 1000)], []),
                "Fri": ([(0, 500)], ["until 12:00"]),
            },
        ),
        # From the week before, into the week after, and in neither.
        (NOW - 3 * DAY, 18 * HOUR, {"Mon": ([(0, 250)], ["until 06:00"])}),
        (NOW + 4 * DAY, 18 * HOUR, {"Sun": ([(500, 500)], ["from 12:00"])}),
        (NOW + 5 * DAY, HOUR, {}),
        (NOW - 3 * DAY, 12 * HOUR, {}),
    ],
)
def test_a_row_has_a_bar_on_each_day_that_the_window_mutes(
    start: datetime, duration: timedelta, expected: dict[str, tuple[list[tuple[int, int]], list[str]]]
) -> None:
    assert row(start, duration) == expected


def test_a_recurring_window_has_all_its_occurrences_of_the_week() -> None:
    assert list(row(NOW - 400 * DAY, HOUR, "FREQ=DAILY")) == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def test_bars_are_parts_of_days_with_23_hours() -> None:
    of = week(date(2026, 3, 29), "Europe/Berlin")
    start = datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert row(start, timedelta(hours=23), of=of) == {"Sun": ([(0, 1000)], ["00:00–24:00"])}
