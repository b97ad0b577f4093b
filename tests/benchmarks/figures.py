"""Measured values as numbers and as a table. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One measured value next to the value it is compared with; `against` says what that is."""

    row: str
    what: str
    unit: str
    value: float
    limit: float | None = None
    against: str = ""

    @property
    def ratio(self) -> float | None:
        """Value / limit; None without a limit."""
        return self.value / self.limit if self.limit else None

    def document(self) -> dict[str, str | float | None]:
        """As `--json` writes it."""
        return {
            "row": self.row,
            "what": self.what,
            "unit": self.unit,
            "value": self.value,
            "limit": self.limit,
            "ratio": self.ratio,
            "against": self.against,
        }


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0 to 1) of the values do not exceed: nearest rank.

    Raises ValueError when there are no values.
    """
    if not values:
        raise ValueError("no values")
    rank = math.ceil(share * len(values))
    return sorted(values)[max(rank, 1) - 1]


HEADINGS = ("measured", "platform", "limit", "unit", "ratio", "limit is")


def table(lines: Sequence[Line]) -> str:
    """Lines under headings, one blank line between rows of the benchmark."""
    cells = [HEADINGS, *(_cells(line) for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADINGS))]
    shown = [_aligned(row, widths) for row in cells]
    parts = [shown[0], "-" * max(map(len, shown))]
    for number, line in enumerate(lines):
        if number and lines[number - 1].row != line.row:
            parts.append("")
        parts.append(shown[number + 1])
    return "\n".join(parts) + "\n"


def _cells(line: Line) -> tuple[str, ...]:
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
    limit = "" if line.limit is None else _number(line.limit)
    return (f"{line.row}: {line.what}", _number(line.value), limit, line.unit, ratio, line.against)


def _number(value: float) -> str:
    """Three digits that count; thousands in full."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right, words to the left."""
    numeric = {1, 2, 4}
    padded = (
        cell.rjust(width) if column in numeric else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(padded).rstrip()
