"""Versions of MongoDB: their series and order, and the feature versions that they support. Pure.

A server supports the feature compatibility version of its own series and of the series before. Servers of
neighbouring series can be in one replica set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

SERIES = ("3.4", "3.6", "4.0", "4.2", "4.4", "5.0", "6.0", "7.0", "8.0")
"""The series in their order. An upgrade leads to the next series, a downgrade to the previous series."""
_PLACES = {name: place for place, name in enumerate(SERIES)}
_NUMBERS = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(?![\d.])")


@lru_cache(maxsize=4096)
def series(version: str | None) -> int | None:
    """The place of the version's series in `SERIES`; None if the plan does not know the series."""
    numbers = _NUMBERS.match(version or "")
    return _PLACES.get(f"{int(numbers[1])}.{int(numbers[2])}") if numbers else None


def supports(place: int, feature_version: int) -> bool:
    """Whether a server of a series can run with data of a feature compatibility version."""
    return feature_version in {place - 1, place}


def newest(versions: Iterable[str], place: int) -> str:
    """The newest version of the series; an empty text if there is none."""
    return max((version for version in versions if series(version) == place), key=_order, default="")


def _order(version: str) -> tuple[int, str]:
    numbers = _NUMBERS.match(version)
    return int(numbers[3] or 0) if numbers else 0, version
