"""A side-by-side comparison of two texts. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

MOST_LINES = 5_000
"""Limit for each text: comparing takes more than linear time."""
AROUND = 3
"""Number of equal lines shown around a change."""


class LineKind(StrEnum):
    """The kind of a line pair."""

    SAME = "same"
    CHANGED = "changed"
    LEFT_OUT = "left-out"
    """Hidden equal lines."""


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line of each text; None if the other text has no counterpart."""

    kind: LineKind
    old: str | None
    new: str | None


def side_by_side(old: str, new: str) -> list[LinePair] | None:
    """The lines that differ, with context; empty if nothing differs.

    None if either text has more than MOST_LINES lines.
    """
    lines = old.splitlines(), new.splitlines()
    if max(map(len, lines)) > MOST_LINES:
        return None
    # Braces are on many lines. As junk they keep the comparison from becoming quadratic.
    groups = SequenceMatcher(None, *lines).get_grouped_opcodes(AROUND)
    rows: list[LinePair] = []
    for group in groups:
        if rows:
            rows.append(LinePair(LineKind.LEFT_OUT, None, None))
        for tag, old_from, old_to, new_from, new_to in group:
            kind = LineKind.SAME if tag == "equal" else LineKind.CHANGED
            rows.extend(_rows(kind, lines[0][old_from:old_to], lines[1][new_from:new_to]))
    return rows


def _rows(kind: LineKind, old: list[str], new: list[str]) -> Iterator[LinePair]:
    return (LinePair(kind, left, right) for left, right in zip_longest(old, new))
