"""Time: read in one place, passed on as an argument, written in one form."""

import re
from datetime import UTC, date, datetime, time, timedelta

_ISO_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII | re.IGNORECASE
)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def now() -> datetime:
    """The present, in UTC. Called at the edges only (views, commands, the worker's loop)."""
    return datetime.now(UTC)


def wire_time(moment: datetime) -> str:
    """`2026-11-21T07:26:14Z`: UTC, whole seconds, fractions cut."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 date-time; no zone means UTC, fractions are cut.

    Raises:
        ValueError: when the text is no such time (a date alone is none).
    """
    if not _ISO_TIME.fullmatch(text):
        raise ValueError("not an ISO 8601 date-time")
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        raise ValueError("out of range") from None


def parse_filter_time(text: str, *, end_of_day: bool) -> datetime:
    """As `parse_time`, for filters: a date alone is its first second, or its last with `end_of_day`."""
    if not _ISO_DATE.fullmatch(text):
        return parse_time(text)
    day = datetime.combine(date.fromisoformat(text), time(), UTC)
    return day.replace(hour=23, minute=59, second=59) if end_of_day else day


def second_after(moment: datetime) -> datetime:
    """The whole second after this one: comparisons with stored times are of whole seconds.

    The last representable second has none after it and stands for itself.
    """
    try:
        return moment.replace(microsecond=0) + timedelta(seconds=1)
    except OverflowError:
        return moment
