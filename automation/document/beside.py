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


class Kind(StrEnum):
    """The kind of a line pair."""

    SAME = "same"
    CHANGED = "changed"
    LEFT_OUT = "left-out"
    """Hidden equal lines."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of each text; None if the other text has no counterpart."""

    kind: Kind
    old: str | None
    new: str | None


def beside(old: str, new: str) -> list[Row] | None:
    """The lines that differ, with context; empty if nothing differs.

    None if either text has more than MOST_LINES lines.
    """
    lines = old.splitlines(), new.splitlines()
    if max(map(len, lines)) > MOST_LINES:
        return None
    # Braces are on many lines. As junk they keep the comparison from becoming quadratic.
    groups = SequenceMatcher(None, *lines).get_grouped_opcodes(AROUND)
    rows: list[Row] = []
    for group in groups:
        if rows:
            rows.append(Row(Kind.LEFT_OUT, None, None))
        for tag, old_from, old_to, new_from, new_to in group:
            kind = Kind.SAME if tag == "equal" else Kind.CHANGED
            rows.extend(_rows(kind, lines[0][old_from:old_to], lines[1][new_from:new_to]))
    return rows


def _rows(kind: Kind, old: list[str], new: list[str]) -> Iterator[Row]:
    return (Row(kind, left, right) for left, right in zip_longest(old, new))
