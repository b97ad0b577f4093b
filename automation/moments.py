"""Reads ISO 8601 times of documents. Pure. It runs on the agent's Python, whose library reads fewer forms."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_TIME = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:(Z)|([+-])(\d{2})(?::?(\d{2}))?)?",
    re.ASCII | re.IGNORECASE,
)
_MICROSECOND_DIGITS = 6


def moment(text: str) -> datetime | None:
    """Parse an ISO 8601 time into UTC, to the microsecond; without a zone it is UTC. None if invalid."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, hours, minutes = match.groups(default="")
    digits = fraction[:_MICROSECOND_DIGITS].ljust(_MICROSECOND_DIGITS, "0")
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        zone = timezone(-offset if sign == "-" else offset)
        date = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0), int(digits), zone
        )
        return date.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def has_zone(text: str) -> bool:
    """Whether an ISO 8601 time has a time zone."""
    match = _TIME.fullmatch(text)
    return match is not None and bool(match[8] or match[9])
