"""Recurrence of maintenance windows: an RRULE of RFC 5545 in the local time of a time zone. Pure.

The start of the window is its first occurrence, and every occurrence starts at the same local time. As in
RFC 5545, a local time that a change of the clock skips means the time as much later (section 3.3.5), a local
time that occurs twice means the first, and all occurrences have the same exact duration (section 3.8.5.3).

dateutil expands the rules. Only some parts are accepted: with them dateutil has few days to try, and no rule
takes long to expand, however far from its start. A rule that never occurs is refused before dateutil searches
for its first day.
"""

import calendar
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from dateutil import rrule

from opsapi.time_zones import TIME_ZONES

MOST_DURATION: Final = timedelta(days=31)
MAX_RRULE_LENGTH: Final = 200
_YEARS = range(1970, 2200)
_MOST_INTERVAL = _MOST_COUNT = 366
_MONTHS = 12
_WEEKS_OF_A_MONTH = 5
_FREQUENCIES: Mapping[str, int] = {
    "DAILY": rrule.DAILY,
    "WEEKLY": rrule.WEEKLY,
    "MONTHLY": rrule.MONTHLY,
    "YEARLY": rrule.YEARLY,
}
_PARTS: Mapping[str, Sequence[str]] = {
    "DAILY": ("BYDAY",),
    "WEEKLY": ("BYDAY",),
    "MONTHLY": ("BYDAY", "BYMONTHDAY", "BYMONTH"),
    "YEARLY": ("BYDAY", "BYMONTHDAY", "BYMONTH"),
}
"""The parts of each frequency that select days. Every frequency has INTERVAL, COUNT, UNTIL and WKST, too."""
WEEKDAYS: Final[Mapping[str, str]] = {
    "MO": "Monday",
    "TU": "Tuesday",
    "WE": "Wednesday",
    "TH": "Thursday",
    "FR": "Friday",
    "SA": "Saturday",
    "SU": "Sunday",
}
"""The weekdays of RFC 5545 in order, with their names."""
_DAYS = {day: rrule.weekday(number) for number, day in enumerate(WEEKDAYS)}
_DAY_WORDS = tuple(WEEKDAYS.values())
_DAY = re.compile(rf"([+-]?[0-9]{{1,2}})?({'|'.join(WEEKDAYS)})", re.ASCII)
_UNTIL = re.compile(r"[0-9]{8}(T[0-9]{6}Z)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]{1,3}", re.ASCII)
_LEAP_YEAR = 2000
_YEAR = timedelta(days=366)
_SEARCHED_FOR_THE_LAST = (timedelta(days=40), timedelta(days=400), timedelta(days=366 * 300))
"""How long before UNTIL the last occurrence is searched for, in turn: few occurrences are tried."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """How a window repeats: an RRULE, and the IANA name of its time zone."""

    rrule: str
    time_zone: str


def recurrence_of(values: Mapping[str, str]) -> Recurrence:
    """Return the recurrence of a valid document, which is stored as it is."""
    return Recurrence(values["rrule"], values["timeZone"])


class Occurrence(NamedTuple):
    """One period of a window; `end` is exclusive."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """A parsed RRULE."""

    frequency: str
    interval: int
    count: int | None
    until: str | None
    options: Mapping[str, Any]
    """Keywords of dateutil's rrule."""

    def of(self, first: datetime, dtstart: datetime, *, interval: int | None = None) -> rrule.rrule:
        """The rule of a window that starts at `first`, from `dtstart` on; both in local time without zone."""
        return rrule.rrule(
            _FREQUENCIES[self.frequency],
            dtstart=dtstart,
            interval=interval or self.interval,
            **{**self.options, **self._implied(first)},
        )

    def occurs(self, first: datetime) -> bool:
        """Whether any day fits: a month that it names has a day that it names."""
        options = {**self.options, **self._implied(first)}
        lengths = [
            calendar.monthrange(_LEAP_YEAR, month)[1] for month in options.get("bymonth", range(1, 13))
        ]
        return any(abs(day) <= max(lengths) for day in options.get("bymonthday", (1,)))

    def _implied(self, first: datetime) -> Mapping[str, Any]:
        """The days that follow from the start if the rule names none (RFC 5545, section 3.3.10)."""
        if "byweekday" in self.options or "bymonthday" in self.options or self.frequency == "DAILY":
            return {}
        if self.frequency == "WEEKLY":
            return {"byweekday": (first.weekday(),)}
        if self.frequency == "YEARLY" and "bymonth" not in self.options:
            return {"bymonth": (first.month,), "bymonthday": (first.day,)}
        return {"bymonthday": (first.day,)}


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name.

    Raises:
        ValueError: there is none; the text is for the author of the name.
    """
    if name not in TIME_ZONES:
        raise ValueError("is not a time zone of the IANA database, such as Europe/Berlin")
    return ZoneInfo(name)


_BY_LOWER_NAME = {name.lower(): name for name in TIME_ZONES}


def normal_time_zone(text: str) -> str:
    """Return the name of a time zone as spelled in the time zone database; an unknown name is unchanged."""
    return _BY_LOWER_NAME.get(text.strip().lower(), text)


_PROPERTY = "RRULE:"


def normal_rrule(text: str) -> str:
    """Return the stored form of a rule: without `RRULE:`, and in upper case (RFC 5545)."""
    return "".join(text.upper().split()).removeprefix(_PROPERTY).removesuffix(";")


@lru_cache(maxsize=1024)
def parse_rrule(text: str) -> RecurrenceRule:
    """Return the rule that a text in the form of RFC 5545, section 3.3.10, describes.

    Raises:
        ValueError: it is malformed or not accepted; the message is for the author of the rule.
    """
    if text.startswith("DTSTART"):
        raise ValueError("must be the rule alone: the window has its start, so leave out DTSTART")
    parts: dict[str, str] = {}
    for part in text.split(";"):
        name, is_part, value = part.partition("=")
        if not is_part or name in parts:
            raise ValueError("must be a list of NAME=VALUE, separated by semicolons, each name once")
        parts[name] = value
    frequency = parts.pop("FREQ", "")
    if frequency not in _FREQUENCIES:
        raise ValueError(f"FREQ must be one of {', '.join(_FREQUENCIES)}")
    allowed = (*_PARTS[frequency], "INTERVAL", "COUNT", "UNTIL", "WKST")
    if unknown := parts.keys() - set(allowed):
        raise ValueError(f"with {frequency}, {min(unknown)} is not accepted; {', '.join(allowed)} are")
    if "COUNT" in parts and "UNTIL" in parts:
        raise ValueError("COUNT and UNTIL exclude each other")
    if "UNTIL" in parts:
        _until(parts["UNTIL"], UTC)
    options = _options(parts, frequency)
    _check_numbered_days(options)
    return RecurrenceRule(
        frequency=frequency,
        interval=_whole("INTERVAL", parts, _MOST_INTERVAL) or 1,
        count=_whole("COUNT", parts, _MOST_COUNT),
        until=parts.get("UNTIL"),
        options=options,
    )


def _check_numbered_days(options: Mapping[str, Any]) -> None:
    """Refuse combinations that hardly ever or never occur, such as the fifth Monday on the 1st.

    dateutil takes "every Monday and the first Sunday" as days that are both.
    """
    days = options.get("byweekday", ())
    numbers = [abs(day.n) for day in days if day.n]
    if 0 < len(numbers) < len(days):
        raise ValueError("BYDAY must number all days or none")
    if numbers and "bymonthday" in options:
        raise ValueError("BYDAY with numbers and BYMONTHDAY exclude each other")
    if numbers and "bymonth" in options and max(numbers) > _WEEKS_OF_A_MONTH:
        raise ValueError("BYDAY numbers the days of a month, 1 to 5, if BYMONTH is given")


def occurrences(
    start: datetime, end: datetime, recurrence: Recurrence | None, *, after: datetime
) -> Iterator[Occurrence]:
    """Yield the occurrences of a window that end after a time, in order; without recurrence at most one.

    Two occurrences that a change of the clock moves to the same time are one.
    """
    if end > after:
        yield Occurrence(start, end)
    if recurrence is None:
        return
    rule, zone, duration = parse_rrule(recurrence.rrule), ZoneInfo(recurrence.time_zone), end - start
    first = _local(start, zone)
    last = _last_local(recurrence.rrule, first)
    until = _until(rule.until, zone) if rule.until else None
    # A day more than the difference of any two clocks.
    earliest = _local(after - duration - timedelta(days=2), zone)
    before = start
    for local in rule.of(first, _aligned(rule, first, earliest)):
        begins = local.replace(tzinfo=zone).astimezone(UTC)
        if (last and local > last) or (until and begins > until) or local.year > _YEARS[-1]:
            return
        if local > first and begins > before and begins + duration > after:
            yield Occurrence(begins, begins + duration)
        before = max(before, begins)


def clock_gaps(
    start: datetime, end: datetime, recurrence: Recurrence, *, after: datetime
) -> list[Occurrence]:
    """The gaps that changes of the clock leave in the window during a year.

    A gap is between two occurrences that follow each other without a break by the local clock. When the clock
    is set back, the local day is longer than an occurrence of 24 hours.
    """
    zone, gaps = ZoneInfo(recurrence.time_zone), []
    in_year = takewhile(
        lambda occurrence: occurrence.start < after + _YEAR, occurrences(start, end, recurrence, after=after)
    )
    for before, following in pairwise(in_year):
        offsets = [
            moment.astimezone(zone).utcoffset() or timedelta() for moment in (before.start, following.start)
        ]
        gap = following.start - before.end
        if gap > timedelta() and gap == offsets[0] - offsets[1]:
            gaps.append(Occurrence(before.end, following.start))
    return gaps


def last_end(start: datetime, end: datetime, recurrence: Recurrence) -> datetime | None:
    """The end of the last occurrence; None if the window never ends."""
    rule, zone = parse_rrule(recurrence.rrule), ZoneInfo(recurrence.time_zone)
    if rule.until:
        until = _until(rule.until, zone)
    elif last := _last_local(recurrence.rrule, _local(start, zone)):
        until = last.replace(tzinfo=zone).astimezone(UTC)
    else:
        return None
    searched = (occurrences(start, end, recurrence, after=until - span) for span in _SEARCHED_FOR_THE_LAST)
    return next((of_span[-1].end for of_span in map(list, searched) if of_span), end)


def recurrence_fault(start: datetime, end: datetime, recurrence: Recurrence) -> tuple[str, str] | None:
    """The field of a window that does not fit its valid recurrence, and the reason; None if it fits."""
    if start.year not in _YEARS:
        return "startDate", f"must be between {_YEARS[0]} and {_YEARS[-1]} if the window recurs"
    if end - start > MOST_DURATION:
        return "endDate", f"must be at most {MOST_DURATION.days} days after startDate if the window recurs"
    return _first_fault(start, recurrence) or _overlap_fault(start, end, recurrence)


def _first_fault(start: datetime, recurrence: Recurrence) -> tuple[str, str] | None:
    rule, zone = parse_rrule(recurrence.rrule), ZoneInfo(recurrence.time_zone)
    first = _local(start, zone)
    if not rule.occurs(first):
        return "recurrence.rrule", "never occurs"
    # INTERVAL does not count before the first occurrence.
    match = next(iter(rule.of(first, first, interval=1)), None)
    if match != first:
        named = f"; the next is {match.replace(tzinfo=zone).isoformat()}" if match else ""
        return "startDate", f"must be the first occurrence of recurrence.rrule{named}"
    if rule.until and start > _until(rule.until, zone):
        return "recurrence.rrule", "UNTIL must not be before startDate"
    return None


def _overlap_fault(start: datetime, end: datetime, recurrence: Recurrence) -> tuple[str, str] | None:
    second = next(islice(occurrences(start, end, recurrence, after=start), 1, None), None)
    if second is None or end <= second.start:
        return None
    next_start = second.start.astimezone(ZoneInfo(recurrence.time_zone)).isoformat()
    return "endDate", f"must not be after the start of the next occurrence, {next_start}"


_FREQUENCY_WORDS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}


def recurrence_words(recurrence: Recurrence) -> str:
    """For example: every week on Sunday, Europe/Berlin. The RRULE itself where words would be longer."""
    rule = parse_rrule(recurrence.rrule)
    unit = _FREQUENCY_WORDS[rule.frequency]
    words = f"every {unit}" if rule.interval == 1 else f"every {rule.interval} {unit}s"
    days: Sequence[rrule.weekday] = rule.options.get("byweekday", ())
    if any(day.n for day in days) or {"bymonth", "bymonthday"} & rule.options.keys():
        return f"{recurrence.rrule}, {recurrence.time_zone}"
    if days:
        words += f" on {', '.join(_DAY_WORDS[day.weekday] for day in days)}"
    if rule.count:
        words += f", {rule.count} times"
    if rule.until:
        words += f", until {rule.until[:4]}-{rule.until[4:6]}-{rule.until[6:8]}"
    return f"{words}, {recurrence.time_zone}"


def _local(moment: datetime, zone: ZoneInfo) -> datetime:
    """The local time without its zone, as dateutil expands rules."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0, microsecond=0)


def _aligned(rule: RecurrenceRule, first: datetime, earliest: datetime) -> datetime:
    """A start of the rule that has the same occurrences from `earliest` on, and few before."""
    if earliest <= first:
        return first
    days = (earliest - first).days
    months = (earliest.year - first.year) * _MONTHS + earliest.month - first.month
    match rule.frequency:
        case "DAILY":
            return first + timedelta(days=days - days % rule.interval)
        case "WEEKLY":
            return first + timedelta(days=days - days % (7 * rule.interval))
        case "MONTHLY":
            skipped = months - months % rule.interval
        case _:
            years = earliest.year - first.year
            skipped = (years - years % rule.interval) * _MONTHS
    if not skipped:
        return first
    year, month = divmod(first.year * _MONTHS + first.month - 1 + skipped, _MONTHS)
    return first.replace(year=year, month=1 if rule.frequency == "YEARLY" else month + 1, day=1)


@lru_cache(maxsize=1024)
def _last_local(text: str, first: datetime) -> datetime | None:
    """The local start of the last occurrence by COUNT; None without COUNT."""
    rule = parse_rrule(text)
    if rule.count is None:
        return None
    starts = takewhile(lambda start: start.year <= _YEARS[-1], rule.of(first, first))
    counted = list(islice(starts, rule.count))
    return counted[-1] if counted else first


def _until(text: str, zone: tzinfo) -> datetime:
    """The last time at which an occurrence may start. A date includes its whole local day."""
    if _UNTIL.fullmatch(text) and int(text[:4]) in _YEARS:
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
            return (
                moment if moment.tzinfo else datetime.combine(moment, time(23, 59, 59), zone).astimezone(UTC)
            )
    raise ValueError(
        f"UNTIL must be a date or a UTC time, as 20261231 or 20261231T230000Z, up to {_YEARS[-1]}"
    )


def _options(parts: Mapping[str, str], frequency: str) -> Mapping[str, Any]:
    """The keywords of dateutil's rrule for the parts that select days."""
    options: dict[str, Any] = {}
    if "BYDAY" in parts:
        options["byweekday"] = tuple(_weekday(day, frequency) for day in parts["BYDAY"].split(","))
    if "BYMONTHDAY" in parts:
        options["bymonthday"] = _numbers("BYMONTHDAY", parts, lambda number: 1 <= abs(number) <= 31)
    if "BYMONTH" in parts:
        options["bymonth"] = _numbers("BYMONTH", parts, lambda number: 1 <= number <= _MONTHS)
    if "WKST" in parts:
        if parts["WKST"] not in _DAYS:
            raise ValueError(f"WKST must be one of {', '.join(_DAYS)}")
        options["wkst"] = _DAYS[parts["WKST"]]
    return options


def _weekday(text: str, frequency: str) -> rrule.weekday:
    parts = _DAY.fullmatch(text)
    if not parts:
        raise ValueError("BYDAY must be a list of days, such as SA,SU or, by month, -1SU")
    day = _DAYS[parts[2]]
    if parts[1] is None:
        return day
    number = int(parts[1])
    most = {"MONTHLY": 5, "YEARLY": 53}.get(frequency, 0)
    if not 1 <= abs(number) <= most:
        raise ValueError(
            "BYDAY can number days with MONTHLY (1 to 5) and YEARLY (1 to 53), also from the end"
        )
    return day(number)


def _numbers(name: str, parts: Mapping[str, str], is_valid: Callable[[int], bool]) -> tuple[int, ...]:
    texts = parts[name].split(",")
    if not all(_NUMBER.fullmatch(text) and is_valid(int(text)) for text in texts):
        days = "1 to 31, or -31 to -1 from the end" if name == "BYMONTHDAY" else f"1 to {_MONTHS}"
        raise ValueError(f"{name} must be a list of numbers, {days}")
    return tuple(int(text) for text in texts)


def _whole(name: str, parts: Mapping[str, str], most: int) -> int | None:
    if name not in parts:
        return None
    text = parts[name]
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= most):
        raise ValueError(f"{name} must be a number from 1 to {most}")
    return int(text)
