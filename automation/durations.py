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
    """Read an ISO 8601 duration of weeks, or of days, hours, minutes and seconds; it is never nothing.

    Years and months are not taken: they are not of one length.

    Raises:
        ValueError: when the text is no such duration.
    """
    found = _ISO_DURATION.fullmatch(text)
    parts = {name: int(number) for name, number in found.groupdict().items() if number} if found else {}
    duration = timedelta(**parts)
    if not duration:
        raise ValueError("must be an ISO 8601 duration of weeks, days, hours, minutes, seconds, such as PT1H")
    return duration


def span_of(granularity: Granularity) -> timedelta:
    """How long a bucket is."""
    return _SPANS[granularity]


def bucket_start(moment: datetime, span: timedelta) -> datetime:
    """The start of the bucket the moment lies in: buckets of a day begin at midnight UTC, and so on."""
    return moment - (moment - _FIRST_BUCKET) % span
