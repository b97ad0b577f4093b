"""Times and lengths of time in words, as pages show them. Pure."""

from datetime import datetime, timedelta

from opsapi.clock import wire_time

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def time_words(moment: datetime) -> str:
    """`2026-11-21 19:00:00Z`: as templates show a time by themselves (`opsapi.console.formats`)."""
    return wire_time(moment).replace("T", " ")


def ago_words(moment: datetime, now: datetime) -> str:
    """`3 h 20 min ago`."""
    return f"{age_words(now - moment)} ago"


def age_words(length: timedelta) -> str:
    """`under 1 min`, `5 min`, `3 h 20 min`, `2 d 4 h`, `45 d`: never more than it is."""
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


def _two(seconds: int, great: int, great_name: str, small: int, small_name: str) -> str:
    whole, rest = divmod(seconds, great)
    tail = f" {rest // small} {small_name}" if rest >= small else ""
    return f"{whole} {great_name}{tail}"
