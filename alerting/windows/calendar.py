"""Weeks of maintenance windows, day by day in a time zone. Pure."""

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


def window_calendar(rule: WindowRule, now: datetime, zone_of_once: str) -> Calendar:
    """Return four weeks from this week on, or from the week of the next occurrence if that is later.

    `zone_of_once`: the zone for a window that does not recur.
    """
    zone = ZoneInfo(rule.recurrence.time_zone if rule.recurrence else zone_of_once)
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


@dataclass(frozen=True, slots=True)
class WeekCell:
    """A day of a window's row.

    `bars` are the start and the width of each period in which it mutes, in thousandths of the day. `words`
    say when periods start, and when earlier periods end.
    """

    date: date
    bars: Sequence[tuple[int, int]] = ()
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Week:
    """A week from Monday to Sunday in a time zone.

    `today` is the place of today among its days, and `now` the time of the day in thousandths; None in other
    weeks.
    """

    monday: date
    zone: ZoneInfo
    today: int | None
    now: int

    @property
    def days(self) -> Sequence[date]:
        return [self.monday + number * _DAY for number in range(7)]

    @property
    def begins(self) -> datetime:
        return _midnight(self.monday, self.zone)

    @property
    def ends(self) -> datetime:
        return _midnight(self.monday + 7 * _DAY, self.zone)

    def occurrences(self, rule: WindowRule) -> list[Occurrence]:
        """The occurrences of a window in this week."""
        return list(takewhile(lambda occurrence: occurrence.start < self.ends, rule.occurrences(self.begins)))

    def cells(self, occurrences: Sequence[Occurrence]) -> list[WeekCell]:
        """The row of a window with these occurrences."""
        return [self._cell(day, occurrences) for day in self.days]

    def _cell(self, day: date, occurrences: Sequence[Occurrence]) -> WeekCell:
        begins, ends = _midnight(day, self.zone), _midnight(day + _DAY, self.zone)
        of_day = [
            occurrence for occurrence in occurrences if occurrence.start < ends and occurrence.end > begins
        ]
        bars = [
            (left := _part(max(start, begins), begins, ends), _part(min(end, ends), begins, ends) - left)
            for start, end in of_day
        ]
        return WeekCell(
            day, bars, [words for occurrence in of_day if (words := self._words(occurrence, begins, ends))]
        )

    def _words(self, occurrence: Occurrence, begins: datetime, ends: datetime) -> str:
        """When it starts and ends on this day; empty for a day in between."""
        starts, stops = occurrence.start >= begins, occurrence.end <= ends
        start = _clock(occurrence.start, self.zone) if starts else ""
        stop = ("24:00" if occurrence.end == ends else _clock(occurrence.end, self.zone)) if stops else ""
        if starts and stops:
            return f"{start}–{stop}"
        return f"from {start}" if starts else f"until {stop}" if stops else ""


def week_of(day: date, zone: ZoneInfo, now: datetime) -> Week:
    """Return the week with this day."""
    monday, today = _monday(day), now.astimezone(zone).date()
    place = (today - monday).days
    begins, ends = _midnight(today, zone), _midnight(today + _DAY, zone)
    return Week(monday, zone, place if 0 <= place < 7 else None, _part(now, begins, ends))


def _part(moment: datetime, begins: datetime, ends: datetime) -> int:
    """The time of a day in thousandths: a day on which the clock changes has 23 or 25 hours."""
    return round(1000 * (moment - begins) / (ends - begins))


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
