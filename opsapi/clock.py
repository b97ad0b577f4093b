"""Time: read in one place, passed as an argument, written in a single format.

Processes follow the clock of the database, which all machines share (`opsapi.database_clock`). Between two
comparisons they count with the machine's steady clock, so nobody notices when the clock of a machine is set.
"""

import re
import time as machine
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

_ISO_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII | re.IGNORECASE
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


AHEAD = timedelta(minutes=1)
"""A stored time that is further in the future was written while a clock was wrong, so it says nothing."""
TOLERANCE = timedelta(seconds=30)
"""The clock of a machine is wrong if it differs from the database's by more: nobody knows which is right."""


class _Reference(NamedTuple):
    """The time of the database at a reading of the steady clock."""

    moment: datetime
    steady: float


_reference: _Reference | None = None


def now() -> datetime:
    """Return the current time, in UTC. Call it only in views, commands and the worker's loop.

    It is the time of the database, if this process has compared its clock, otherwise that of the machine.
    """
    known = _reference
    if known is None:
        return machine_time()
    return known.moment + timedelta(seconds=steady() - known.steady)


def machine_time() -> datetime:
    """Return the time of the machine's clock, in UTC."""
    return datetime.now(UTC)


def steady() -> float:
    """Return the seconds of a clock that nobody sets. It also runs while the machine sleeps."""
    return machine.clock_gettime(machine.CLOCK_BOOTTIME)


def follow(moment: datetime, at: float) -> timedelta:
    """Follow the clock of the database: it showed `moment` when the steady clock showed `at`.

    Return by how much that differs from the expected time: the step of the database's clock. Of the first
    call the answer is zero.
    """
    global _reference
    known, _reference = _reference, _Reference(moment, at)
    return timedelta(0) if known is None else moment - (known.moment + timedelta(seconds=at - known.steady))


def follow_machine() -> None:
    """Follow the clock of the machine again, as before the first comparison."""
    global _reference  # noqa: PLW0603 - a process has one clock
    _reference = None


def follows_database() -> bool:
    """Whether this process has compared its clock with the database's."""
    return _reference is not None


def difference() -> timedelta:
    """Return how far the clock of the machine is ahead of the database's; zero before a comparison."""
    return machine_time() - now() if follows_database() else timedelta(0)


def is_wrong(difference: timedelta) -> bool:
    """Whether a clock with this difference from the database's is wrong."""
    return abs(difference) > TOLERANCE


def difference_words(difference: timedelta) -> str:
    """Return `2 d 4 h ahead of` or `45 s behind`."""
    length = timedelta(seconds=round(abs(difference).total_seconds()))
    words = age_words(length) if length >= timedelta(minutes=1) else f"{int(length.total_seconds())} s"
    return f"{words} ahead of" if difference > timedelta(0) else f"{words} behind"


def wire_time(moment: datetime) -> str:
    """Return `2026-11-21T07:26:14Z`: UTC, whole seconds, fractions cut."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 date-time. No zone means UTC; fractions are cut.

    Raises: ValueError: the text is not a date-time. A date alone is not enough.
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
    """As `parse_time`, for filters: a date alone means its first second, or its last with `end_of_day`."""
    if not DATE.fullmatch(text):
        return parse_time(text)
    day = datetime.combine(date.fromisoformat(text), time(), UTC)
    return day.replace(hour=23, minute=59, second=59) if end_of_day else day


def second_after(moment: datetime) -> datetime:
    """Return the next whole second, because stored times are compared by whole seconds.

    The last representable second is returned unchanged.
    """
    try:
        return moment.replace(microsecond=0) + timedelta(seconds=1)
    except OverflowError:
        return moment


def time_words(moment: datetime) -> str:
    """Return `2026-11-21 19:00:00Z`, as templates show times (`opsapi.console.en.formats`)."""
    return wire_time(moment).replace("T", " ")


def typed_time(moment: datetime) -> str:
    """Return a time as people type it, such as 2026-11-29 02:00: local, with seconds only if it has any."""
    return f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(":00")


def ago_words(moment: datetime, now: datetime) -> str:
    """Return `3 h 20 min ago`."""
    return f"{age_words(now - moment)} ago"


def age_words(length: timedelta) -> str:
    """Return `under 1 min`, `5 min`, `3 h 20 min`, `2 d 4 h`, `45 d`; always rounded down."""
    seconds = int(length.total_seconds())
    if seconds < _MINUTE:
        return "under 1 min"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    if seconds < 10 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    return f"{seconds // _DAY:,} d"


def exact_words(length: timedelta) -> str:
    """Return `41 s`, `6 min 41 s`, and longer lengths as `age_words`."""
    seconds = round(length.total_seconds())
    if seconds < _MINUTE:
        return f"{seconds} s"
    return _two(seconds, _MINUTE, "min", 1, "s") if seconds < _HOUR else age_words(timedelta(seconds=seconds))


def _two(seconds: int, great: int, great_name: str, small: int, small_name: str) -> str:
    whole, rest = divmod(seconds, great)
    tail = f" {rest // small} {small_name}" if rest >= small else ""
    return f"{whole} {great_name}{tail}"
