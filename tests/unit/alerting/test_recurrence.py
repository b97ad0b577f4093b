"""Recurrence of maintenance windows, compared with an implementation that tries every day."""

import calendar
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from dateutil import rrule as dateutil
from hypothesis import assume, given
from hypothesis import strategies as st

from alerting.windows.recurrence import (
    Occurrence,
    Recurrence,
    last_end,
    occurrences,
    parse_rrule,
    recurrence_fault,
    recurrence_words,
    time_zone,
)
from opsapi.time_zones import TIME_ZONES
from tests.each import each

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BERLIN, NEW_YORK, LORD_HOWE, APIA = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def starts(
    first: str, rrule: str, zone: str, count: int = 3, *, after: str | None = None, duration: timedelta = HOUR
) -> list[str]:
    """The first starts, in UTC. `first` is a local time, `after` a time in UTC."""
    start = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    since = datetime.fromisoformat(after).replace(tzinfo=UTC) if after else start
    found = islice(occurrences(start, start + duration, Recurrence(rrule, zone), after=since), count)
    return [f"{occurrence.start:%Y-%m-%dT%H:%M}" for occurrence in found]


@each(
    ("first", "rrule", "zone", "expected"),
    [
        # 02:00 stays 02:00; in Berlin the clocks change on 2027-03-28 and on 2027-10-31.
        (
            "2027-03-21T04:00",
            "FREQ=WEEKLY;BYDAY=SU",
            BERLIN,
            ["2027-03-21T03:00", "2027-03-28T02:00", "2027-04-04T02:00"],
        ),
        # 02:30 does not exist on the day of the change: it means an hour later, 03:30.
        (
            "2027-03-27T02:30",
            "FREQ=DAILY",
            BERLIN,
            ["2027-03-27T01:30", "2027-03-28T01:30", "2027-03-29T00:30"],
        ),
        # 02:30 exists twice: it means the first.
        (
            "2027-10-30T02:30",
            "FREQ=DAILY",
            BERLIN,
            ["2027-10-30T00:30", "2027-10-31T00:30", "2027-11-01T01:30"],
        ),
        (
            "2027-03-13T02:30",
            "FREQ=DAILY",
            NEW_YORK,
            ["2027-03-13T07:30", "2027-03-14T07:30", "2027-03-15T06:30"],
        ),
        (
            "2027-11-06T01:30",
            "FREQ=DAILY",
            NEW_YORK,
            ["2027-11-06T05:30", "2027-11-07T05:30", "2027-11-08T06:30"],
        ),
        # The clocks of Lord Howe change by half an hour: 02:10 means 02:40 on 2027-10-03.
        (
            "2027-10-02T02:10",
            "FREQ=DAILY",
            LORD_HOWE,
            ["2027-10-01T15:40", "2027-10-02T15:40", "2027-10-03T15:10"],
        ),
        (
            "2027-04-03T01:45",
            "FREQ=DAILY",
            LORD_HOWE,
            ["2027-04-02T14:45", "2027-04-03T14:45", "2027-04-04T15:15"],
        ),
        # Samoa has no 2011-12-30: it means the 31st, and occurs once.
        (
            "2011-12-29T02:00",
            "FREQ=DAILY",
            APIA,
            ["2011-12-29T12:00", "2011-12-30T12:00", "2011-12-31T12:00"],
        ),
        (
            "2027-03-27T02:30",
            "FREQ=DAILY",
            "UTC",
            ["2027-03-27T02:30", "2027-03-28T02:30", "2027-03-29T02:30"],
        ),
        # Leap days, and months that have no such day.
        (
            "2024-02-29T01:00",
            "FREQ=YEARLY",
            "UTC",
            ["2024-02-29T01:00", "2028-02-29T01:00", "2032-02-29T01:00"],
        ),
        (
            "2096-02-29T01:00",
            "FREQ=YEARLY",
            "UTC",
            ["2096-02-29T01:00", "2104-02-29T01:00", "2108-02-29T01:00"],
        ),
        (
            "2027-01-31T01:00",
            "FREQ=MONTHLY",
            "UTC",
            ["2027-01-31T01:00", "2027-03-31T01:00", "2027-05-31T01:00"],
        ),
        (
            "2028-01-31T01:00",
            "FREQ=MONTHLY;BYMONTHDAY=-1",
            "UTC",
            ["2028-01-31T01:00", "2028-02-29T01:00", "2028-03-31T01:00"],
        ),
        (
            "2027-01-31T01:00",
            "FREQ=MONTHLY;BYDAY=-1SU",
            "UTC",
            ["2027-01-31T01:00", "2027-02-28T01:00", "2027-03-28T01:00"],
        ),
        (
            "2026-12-08T01:00",
            "FREQ=MONTHLY;BYDAY=2TU",
            "UTC",
            ["2026-12-08T01:00", "2027-01-12T01:00", "2027-02-09T01:00"],
        ),
        # Every second week, Sunday and Monday: the first day of the week decides.
        (
            "2026-12-06T01:00",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=MO",
            "UTC",
            ["2026-12-06T01:00", "2026-12-14T01:00", "2026-12-20T01:00"],
        ),
        (
            "2026-12-06T01:00",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU",
            "UTC",
            ["2026-12-06T01:00", "2026-12-07T01:00", "2026-12-20T01:00"],
        ),
        ("2026-12-06T01:00", "FREQ=DAILY;COUNT=2", "UTC", ["2026-12-06T01:00", "2026-12-07T01:00"]),
        ("2026-12-06T01:00", "FREQ=DAILY;UNTIL=20261207", "UTC", ["2026-12-06T01:00", "2026-12-07T01:00"]),
        ("2026-12-06T01:00", "FREQ=DAILY;UNTIL=20261207T005959Z", "UTC", ["2026-12-06T01:00"]),
        ("2026-12-06T23:00", "FREQ=DAILY;UNTIL=20261206", NEW_YORK, ["2026-12-07T04:00"]),
    ],
    ids=str,
)
def test_the_local_time_of_the_start_stays(first: str, rrule: str, zone: str, expected: list[str]) -> None:
    assert starts(first, rrule, zone) == expected


def test_the_hour_that_exists_twice_stays_the_second_only_for_the_first_occurrence() -> None:
    # 02:30 in winter time, as startDate says, and then 02:30 every day.
    start = datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    found = list(islice(occurrences(start, start + HOUR, Recurrence("FREQ=DAILY", BERLIN), after=start), 2))
    assert [occurrence.start for occurrence in found] == [start, start + DAY]


def test_every_occurrence_has_the_duration_of_the_first() -> None:
    start = datetime(2027, 3, 27, 0, 0, tzinfo=UTC)
    recurrence = Recurrence("FREQ=DAILY", BERLIN)
    found = islice(occurrences(start, start + 5 * HOUR, recurrence, after=start), 5)
    assert {occurrence.end - occurrence.start for occurrence in found} == {5 * HOUR}


@each(
    ("after", "first"),
    [
        ("2026-12-06T01:59:59", "2026-12-06T01:00"),
        ("2026-12-06T02:00:00", "2026-12-07T01:00"),
        ("2126-12-06T01:59:59", "2126-12-06T01:00"),
        ("2126-12-06T02:00:00", "2126-12-07T01:00"),
        ("2001-01-01T00:00:00", "2026-12-06T01:00"),
    ],
)
def test_an_occurrence_is_found_until_it_ends(after: str, first: str) -> None:
    assert starts("2026-12-06T01:00", "FREQ=DAILY", "UTC", 1, after=after) == [first]


@each(
    ("rrule", "last"),
    [
        ("FREQ=DAILY", None),
        ("FREQ=DAILY;COUNT=1", "2026-12-06T02:00"),
        ("FREQ=DAILY;COUNT=3", "2026-12-08T02:00"),
        ("FREQ=YEARLY;COUNT=366", "2199-12-06T02:00"),
        ("FREQ=DAILY;UNTIL=20261206T010000Z", "2026-12-06T02:00"),
        ("FREQ=DAILY;UNTIL=20261231", "2026-12-31T02:00"),
        ("FREQ=WEEKLY;UNTIL=21991231", "2199-12-29T02:00"),
        ("FREQ=YEARLY;INTERVAL=99;UNTIL=21991231", "2125-12-06T02:00"),
        ("FREQ=YEARLY;INTERVAL=300;UNTIL=21991231", "2026-12-06T02:00"),
    ],
)
def test_a_window_is_over_after_its_last_occurrence(rrule: str, last: str | None) -> None:
    start = datetime(2026, 12, 6, 1, tzinfo=UTC)
    found = last_end(start, start + HOUR, Recurrence(rrule, "UTC"))
    assert (f"{found:%Y-%m-%dT%H:%M}" if found else None) == last


@each(
    "rrule",
    [
        "",
        "FREQ",
        "FREQ=HOURLY",
        "FREQ=weekly",
        "RRULE:FREQ=DAILY",
        "DTSTART:20990101T000000RRULE:FREQ=DAILY",
        "BYDAY=SU",
        "FREQ=DAILY;",
        "FREQ=DAILY;FREQ=DAILY",
        "FREQ=DAILY;BYHOUR=2",
        "FREQ=DAILY;BYMONTH=2",
        "FREQ=WEEKLY;BYMONTHDAY=1",
        "FREQ=WEEKLY;BYDAY=",
        "FREQ=WEEKLY;BYDAY=SO",
        "FREQ=WEEKLY;BYDAY=1SU",
        "FREQ=MONTHLY;BYDAY=0SU",
        "FREQ=MONTHLY;BYDAY=6SU",
        "FREQ=MONTHLY;BYDAY=1SU;BYMONTHDAY=3",
        "FREQ=MONTHLY;BYDAY=1SU,MO",
        "FREQ=YEARLY;BYDAY=54SU",
        "FREQ=YEARLY;BYDAY=6SU;BYMONTH=1",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYMONTHDAY=-32",
        "FREQ=YEARLY;BYMONTH=13",
        "FREQ=YEARLY;BYMONTH=-1",
        "FREQ=MONTHLY;BYSETPOS=1;BYDAY=MO",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=367",
        "FREQ=DAILY;INTERVAL=1.0",
        "FREQ=DAILY;INTERVAL=٣",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;COUNT=367",
        "FREQ=DAILY;COUNT=2;UNTIL=20270101",
        "FREQ=DAILY;UNTIL=2027",
        "FREQ=DAILY;UNTIL=20271301",
        "FREQ=DAILY;UNTIL=20270101T000000",
        "FREQ=DAILY;UNTIL=20270101T250000Z",
        "FREQ=DAILY;UNTIL=99991231",
        "FREQ=DAILY;UNTIL=00010101",
        "FREQ=DAILY;WKST=XX",
        "FREQ=DAILY;WKST=1MO",
    ],
    ids=str,
)
def test_other_rules_are_refused(rrule: str) -> None:
    with pytest.raises(ValueError, match=r"must|accepted|exclude|number"):
        parse_rrule(rrule)


@each("name", ["", "Berlin", "europe/berlin", "localtime", "Europe", "../UTC", "/etc/passwd", "UTC+1", "\0"])
def test_other_time_zones_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="IANA"):
        time_zone(name)


def test_every_time_zone_of_the_database_is_accepted() -> None:
    assert {BERLIN, NEW_YORK, LORD_HOWE, APIA, "UTC"} <= set(TIME_ZONES)
    assert all(time_zone(name).key == name for name in TIME_ZONES)


@each(
    ("start", "hours", "rrule", "field"),
    [
        ("2026-12-06T01:00", 1, "FREQ=WEEKLY;BYDAY=SU", None),
        ("2026-12-07T01:00", 1, "FREQ=WEEKLY;BYDAY=SU", "startDate"),
        ("2026-12-06T01:00", 24, "FREQ=DAILY", None),
        ("2026-12-06T01:00", 25, "FREQ=DAILY", "endDate"),
        ("2026-12-06T01:00", 31 * 24, "FREQ=YEARLY", None),
        ("2026-12-06T01:00", 31 * 24 + 1, "FREQ=YEARLY", "endDate"),
        ("2026-12-06T01:00", 31 * 24 + 1, "FREQ=DAILY;COUNT=1", "endDate"),
        ("1969-12-31T01:00", 1, "FREQ=DAILY", "startDate"),
        ("2200-01-01T01:00", 1, "FREQ=DAILY", "startDate"),
        ("2026-12-06T01:00", 1, "FREQ=DAILY;UNTIL=20261205", "recurrence.rrule"),
        ("2026-12-06T01:00", 1, "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "recurrence.rrule"),
        ("2026-12-31T01:00", 1, "FREQ=MONTHLY;BYMONTH=2,4,6", "recurrence.rrule"),
        ("2026-12-06T01:00", 1, "FREQ=MONTHLY;BYMONTH=4,6;BYMONTHDAY=31,-31", "recurrence.rrule"),
        ("2026-12-06T01:00", 1, "FREQ=DAILY;INTERVAL=7;BYDAY=MO", "startDate"),
        ("2026-12-06T01:00", 1, "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "startDate"),
    ],
)
def test_the_dates_have_to_fit_the_rule(start: str, hours: int, rrule: str, field: str | None) -> None:
    begins = datetime.fromisoformat(start).replace(tzinfo=UTC)
    fault = recurrence_fault(begins, begins + hours * HOUR, Recurrence(rrule, "UTC"))
    assert (fault and fault[0]) == field


@each(
    ("rrule", "words"),
    [
        ("FREQ=DAILY", "every day, Europe/Berlin"),
        ("FREQ=WEEKLY;BYDAY=SA,SU", "every week on Saturday, Sunday, Europe/Berlin"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SU", "every 2 weeks on Sunday, Europe/Berlin"),
        ("FREQ=DAILY;COUNT=3", "every day, 3 times, Europe/Berlin"),
        ("FREQ=DAILY;UNTIL=20261231T230000Z", "every day, until 2026-12-31, Europe/Berlin"),
        ("FREQ=MONTHLY;BYDAY=-1SU", "FREQ=MONTHLY;BYDAY=-1SU, Europe/Berlin"),
    ],
)
def test_a_recurrence_is_said_in_words(rrule: str, words: str) -> None:
    assert recurrence_words(Recurrence(rrule, BERLIN)) == words


# --- an implementation that tries every day -------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The parts of a rule, without a text that has to be parsed."""

    frequency: str
    interval: int = 1
    days: tuple[tuple[int, int], ...] = ()
    """Weekdays from Monday, 0, each with its number in the month or year, or 0."""
    month_days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The RRULE."""
        parts: Mapping[str, list[str]] = {
            "BYDAY": [f"{number or ''}{WEEKDAYS[day]}" for day, number in self.days],
            "BYMONTHDAY": [str(day) for day in self.month_days],
            "BYMONTH": [str(month) for month in self.months],
        }
        named = [f"{name}={','.join(values)}" for name, values in parts.items() if values]
        return ";".join([f"FREQ={self.frequency}", f"INTERVAL={self.interval}", *named])

    def fits(self, day: date, first: date) -> bool:
        """Whether it occurs on the day."""
        return self._periods(day, first) % self.interval == 0 and self._is_named(day, first)

    def _periods(self, day: date, first: date) -> int:
        match self.frequency:
            case "DAILY":
                return (day - first).days
            case "WEEKLY":
                return (day.toordinal() - 1) // 7 - (first.toordinal() - 1) // 7
            case "MONTHLY":
                return (day.year - first.year) * 12 + day.month - first.month
        return day.year - first.year

    def _is_named(self, day: date, first: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        if self.months and day.month not in self.months:
            return False
        if self.month_days and not {day.day, day.day - length - 1} & set(self.month_days):
            return False
        if self.days:
            return any(day.weekday() == weekday and self._has(day, n) for weekday, n in self.days)
        if self.month_days or self.frequency == "DAILY":
            return True
        if self.frequency == "WEEKLY":
            return day.weekday() == first.weekday()
        return day.day == first.day and (self.frequency == "MONTHLY" or self._is_month(day, first))

    def _is_month(self, day: date, first: date) -> bool:
        return bool(self.months) or day.month == first.month

    def _has(self, day: date, number: int) -> bool:
        """Whether the day is the weekday of this number in its month, or in its year; 0: any."""
        if not number:
            return True
        in_month = self.frequency == "MONTHLY" or self.months
        months = [day.month] if in_month else range(1, 13)
        alike = [
            date(day.year, month, number)
            for month in months
            for number in range(1, calendar.monthrange(day.year, month)[1] + 1)
            if date(day.year, month, number).weekday() == day.weekday()
        ]
        place = number - 1 if number > 0 else number
        return -len(alike) <= place < len(alike) and alike[place] == day


def moment_of(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The time in UTC: the first that shows this local time, or with the difference before a change."""
    local = datetime.combine(day, at)
    around = [local.replace(tzinfo=UTC) + timedelta(hours=hours) for hours in (-30, 0, 30)]
    for offset in sorted({near.astimezone(zone).utcoffset() or timedelta() for near in around}, reverse=True):
        moment = local.replace(tzinfo=UTC) - offset
        if moment.astimezone(zone).replace(tzinfo=None) == local:
            return moment
    before = around[0].astimezone(zone).utcoffset() or timedelta()
    return local.replace(tzinfo=UTC) - before


def by_days(rule: Rule, first: datetime, zone: ZoneInfo, days: int) -> Iterator[datetime]:
    """The starts within so many days after the first."""
    local = first.astimezone(zone)
    before = first
    yield first
    for number in range(1, days):
        day = local.date() + timedelta(days=number)
        if rule.fits(day, local.date()):
            moment = moment_of(day, local.time(), zone)
            if moment > before:
                yield moment
            before = moment


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Any rule that is accepted, with few years between its occurrences."""
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    most = {"DAILY": 20, "WEEKLY": 5, "MONTHLY": 7, "YEARLY": 2}[frequency]
    by_month = frequency in ("MONTHLY", "YEARLY")
    months = draw(st.lists(st.integers(1, 12), max_size=3, unique=True)) if by_month else []
    most_number = {"MONTHLY": 5, "YEARLY": 5 if months else 53}.get(frequency, 0)
    numbered = draw(st.booleans()) if most_number else False
    number = st.integers(-most_number, most_number).filter(bool) if numbered else st.just(0)
    days = draw(st.lists(st.tuples(st.integers(0, 6), number), max_size=3, unique=True))
    some_days = st.lists(st.integers(-31, 31).filter(bool), max_size=3, unique=True)
    month_days = draw(some_days) if by_month and not (numbered and days) else []
    interval = draw(st.integers(1, most))
    return Rule(
        frequency=frequency,
        interval=interval,
        days=tuple(days),
        month_days=tuple(month_days),
        months=tuple(months),
    )


YEARS = 5


@given(
    rule=rules(),
    day=st.dates(date(2009, 1, 1), date(2030, 12, 31)),
    minute=st.integers(0, 24 * 60 - 1),
    name=st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, APIA, "UTC", "America/Sao_Paulo", "Asia/Gaza"]),
    after=st.integers(0, 365 * YEARS),
)
def test_it_occurs_as_trying_every_day_says(
    rule: Rule, day: date, minute: int, name: str, after: int
) -> None:
    zone, at = ZoneInfo(name), time(minute // 60, minute % 60)
    fitting = (day + timedelta(days=number) for number in range(366))
    found = next((day for day in fitting if Rule.fits(rule, day, day)), None)
    assume(found is not None)
    assert found is not None
    first = moment_of(found, at, zone)
    local = first.astimezone(zone)
    # An hour that does not exist, or the second of two, is not the local time of the following ones.
    assume((local.date(), local.time(), local.fold) == (found, at, 0))
    recurrence, since = Recurrence(rule.text, name), first + timedelta(days=after)
    assert recurrence_fault(first, first + timedelta(seconds=1), recurrence) is None
    expected = [
        moment for moment in by_days(rule, first, zone, 366 * YEARS) if moment + timedelta(seconds=1) > since
    ]
    until = first + timedelta(days=365 * YEARS)
    expected = [moment for moment in expected if moment < until]
    actual: list[datetime] = []
    for occurrence in occurrences(first, first + timedelta(seconds=1), recurrence, after=since):
        if occurrence.start >= until or len(actual) > 3_000:
            break
        actual.append(occurrence.start)
    assert actual == expected


@given(rule=rules(), day=st.dates(date(1970, 1, 2), date(2199, 12, 30)), years=st.integers(0, 229))
def test_no_rule_tries_many_days(rule: Rule, day: date, years: int) -> None:
    start = datetime.combine(day, time(2), UTC)
    recurrence = Recurrence(rule.text, BERLIN)
    tried = 0

    class Counted(dateutil.rrule):
        def _iter(self) -> Iterator[datetime]:
            nonlocal tried
            for found in super()._iter():
                tried += 1
                yield found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dateutil, "rrule", Counted)
        recurrence_fault(start, start + HOUR, recurrence)
        next(occurrences(start, start + HOUR, recurrence, after=start + timedelta(days=365 * years)), None)
    assert tried < 800


def test_without_recurrence_it_occurs_once() -> None:
    start = datetime(2026, 12, 6, tzinfo=UTC)
    assert list(occurrences(start, start + DAY, None, after=start)) == [Occurrence(start, start + DAY)]
    assert not list(occurrences(start, start + DAY, None, after=start + DAY))
