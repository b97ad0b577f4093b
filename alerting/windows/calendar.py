"""Four weeks of a maintenance window, day by day in its time zone. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta, tzinfo
from itertools import takewhile
from zoneinfo import ZoneInfo

from alerting.windows.recurrence import Occurrence
from alerting.windows.rules import WindowRule

_WEEKS = 4
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day, and the local periods in which the window mutes, such as 02:00–04:00."""

    date: date
    is_today: bool
    periods: Sequence[str]


@dataclass(frozen=True, slots=True)
class Calendar:
    """Weeks from Monday to Sunday."""

    zone: str
    weeks: Sequence[Sequence[CalendarDay]]


def window_calendar(rule: WindowRule, now: datetime) -> Calendar:
    """Return four weeks from this week on, or from the week of the next occurrence if that is later."""
    zone = ZoneInfo(rule.recurrence.time_zone) if rule.recurrence else ZoneInfo("UTC")
    today = now.astimezone(zone).date()
    monday = _monday(today)
    following = next(rule.occurrences(now), None)
    is_later = following and following.start >= _midnight(monday + _WEEKS * 7 * _DAY, zone)
    if following and is_later and following.start.year < MAXYEAR:
        monday = _monday(following.start.astimezone(zone).date())
    days = [monday + number * _DAY for number in range(_WEEKS * 7)]
    end = _midnight(days[-1] + _DAY, zone)
    occurrences = list(
        takewhile(lambda occurrence: occurrence.start < end, rule.occurrences(_midnight(monday, zone)))
    )
    calendar_days = [CalendarDay(day, day == today, _periods(day, occurrences, zone)) for day in days]
    return Calendar(zone.key, [calendar_days[first : first + 7] for first in range(0, len(calendar_days), 7)])


def _periods(day: date, occurrences: Sequence[Occurrence], zone: tzinfo) -> list[str]:
    begins, ends = _midnight(day, zone), _midnight(day + _DAY, zone)
    return [
        f"{_clock(max(start, begins), zone)}–{'24:00' if end >= ends else _clock(end, zone)}"
        for start, end in occurrences
        if start < ends and end > begins
    ]


def _clock(moment: datetime, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%H:%M}"


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _monday(day: date) -> date:
    return day - day.weekday() * _DAY
