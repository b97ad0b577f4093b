"""The time zones that the platform knows: the same on every machine."""

from importlib import resources
from typing import Final

TIME_ZONES: Final = tuple(sorted(resources.files("tzdata").joinpath("zones").read_text("utf-8").split()))
"""The names of the IANA time zone database."""
UTC_NAME: Final = "UTC"
_KNOWN = frozenset(TIME_ZONES)


def known_zone(*names: str) -> str:
    """Return the first of the names that is a time zone; UTC if none is."""
    return next((name for name in names if name in _KNOWN), UTC_NAME)
