"""Durations in queries (ISO 8601). Pure."""

import re
from datetime import UTC, datetime, timedelta

from automation.choices import Granularity

_ISO_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,6})W|(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?)?)",
    re.ASCII,
)
_FIRST_BUCKET = datetime(2000, 1, 1, tzinfo=UTC)
_SPANS = {
    Granularity.PT1M: timedelta(minutes=1),
    Granularity.PT5M: timedelta(minutes=5),
    Granularity.PT1H: timedelta(hours=1),
    Granularity.P1D: timedelta(days=1),
}


def read_duration(text: str) -> timedelta:
    """Parse an ISO 8601 duration of weeks, or of days, hours, minutes and seconds, longer than zero.

    Years and months are rejected, because their length varies.

    Raises: ValueError: not such a duration.
    """
    found = _ISO_DURATION.fullmatch(text)
    parts = {name: int(number) for name, number in found.groupdict().items() if number} if found else {}
    duration = timedelta(**parts)
    if not duration:
        raise ValueError("must be an ISO 8601 duration of weeks, days, hours, minutes, seconds, such as PT1H")
    return duration


def span_of(granularity: Granularity) -> timedelta:
    """The length of a bucket."""
    return _SPANS[granularity]


def bucket_start(moment: datetime, span: timedelta) -> datetime:
    """The start of the bucket that contains the moment: buckets of a day start at midnight UTC, and so on."""
    return moment - (moment - _FIRST_BUCKET) % span
