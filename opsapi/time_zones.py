"""The time zones that the platform knows, the same on every machine, and local times as people type them."""

from contextlib import suppress
from datetime import datetime
from importlib import resources
from typing import Final
from zoneinfo import ZoneInfo

from opsapi.clock import typed_time

TIME_ZONES: Final = tuple(sorted(resources.files("tzdata").joinpath("zones").read_text("utf-8").split()))
"""The names of the IANA time zone database."""
UTC_NAME: Final = "UTC"
_KNOWN = frozenset(TIME_ZONES)


def known_zone(*names: str) -> str:
    """Return the first of the names that is a time zone; UTC if none is."""
    return next((name for name in names if name in _KNOWN), UTC_NAME)


def in_zone(text: str, zone: str) -> str:
    """Return a local time as a time with its zone; another text as it is."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=ZoneInfo(zone)).isoformat()
    return text


def local_time(moment: datetime, zone: str) -> str:
    """Return a time as people type it in the zone."""
    return typed_time(moment.astimezone(ZoneInfo(zone)))
