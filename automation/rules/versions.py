"""Compares versions: which is newer, and which are behind. Pure.

Versions compare by their numbers. A pre-release comes before its release; other suffixes (an edition, a
build) do not count. A version that cannot be parsed is neither newer nor older, and never behind.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from events.types import EventType

_SHAPE = re.compile(r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,5})(?:[-+](.*))?", re.IGNORECASE | re.DOTALL)
_STAGES = ("dev", "alpha", "beta", "pre", "rc")
_STAGE = re.compile(rf"({'|'.join(_STAGES)})[-.]?([0-9]{{0,9}})", re.IGNORECASE)
_RELEASED = (len(_STAGES), 0)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A parsed version; missing numbers are 0."""

    numbers: tuple[int, ...]
    stage: tuple[int, int]

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor number: within a series, newer versions replace older ones."""
        major, minor, *_ = (*self.numbers, 0, 0)
        return major, minor


def read_version(text: str) -> Version | None:
    """The version; None if it cannot be parsed."""
    found = _SHAPE.fullmatch(text)
    if not found:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    stage = _STAGE.match(found[2] or "")
    if not stage:
        return Version(tuple(numbers), _RELEASED)
    return Version(tuple(numbers), (_STAGES.index(stage[1].lower()), int(stage[2] or 0)))


def version_event(before: str | None, after: str | None) -> EventType | None:
    """HOST_UPGRADED or HOST_DOWNGRADED; None if unchanged, missing or unparsable."""
    old, new = (read_version(text) if text else None for text in (before, after))
    if old is None or new is None or old == new:
        return None
    return EventType.HOST_UPGRADED if new > old else EventType.HOST_DOWNGRADED


def behind(texts: Iterable[str]) -> frozenset[str]:
    """Versions below the highest."""
    return _behind(texts, lambda _: None)


def behind_in_series(texts: Iterable[str]) -> frozenset[str]:
    """Versions below the highest of their series (major.minor)."""
    return _behind(texts, lambda version: version.series)


def _behind(texts: Iterable[str], kind: Callable[[Version], Hashable]) -> frozenset[str]:
    versions = {text: version for text in texts if (version := read_version(text))}
    highest: dict[Hashable, Version] = {}
    for version in versions.values():
        highest[kind(version)] = max(version, highest.get(kind(version), version))
    return frozenset(text for text, version in versions.items() if version < highest[kind(version)])
