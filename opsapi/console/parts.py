"""What the start page is made of: the apps contribute its parts (architecture, inversion 3)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from opsapi.api.principal import Reach
from opsapi.first_rows import MOST_COUNTED


class Tone(StrEnum):
    """How good or bad something is; the values are the theme's names of its labels' colours."""

    PLAIN = "default"
    INFO = "info"
    GOOD = "success"
    WARNING = "warning"
    BAD = "danger"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, with the page it leads to, if any; with a tone it is shown as a label."""

    text: str
    url: str = ""
    tone: Tone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A list: how many there are, its first rows, and the page of all of them.

    `unit` says of what the number is: "hosts down". `rows` have a cell for each of `headers`. `facts` say
    more of the number, the first of them beside it. `empty` says what would stand here and how that comes
    about, `remedy` leads there. `tone` is that of the number where it is not 0. `count` ends at one more
    than MOST_COUNTED.
    """

    name: str
    title: str
    unit: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    count: int
    url: str
    empty: str
    remedy: Cell | None = None
    facts: Sequence[Cell] = ()
    tone: Tone = Tone.PLAIN
    is_wide: bool = False

    @property
    def number(self) -> str:
        """The count as it is shown."""
        return number_of(self.count)

    @property
    def has_more(self) -> bool:
        """Whether there are rows beyond those shown."""
        return self.count > len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Numbers over time, as bars and as a table.

    A row is a name and a number for each of `series`.
    """

    name: str
    title: str
    series: Sequence[str]
    rows: Sequence[tuple[Cell, Sequence[int]]]
    url: str
    empty: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be drawn."""
        return not any(any(numbers) for _, numbers in self.rows)

    @property
    def total(self) -> int:
        """All of it."""
        return sum(sum(numbers) for _, numbers in self.rows)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something everybody has to know who reads the rest."""

    text: str
    tone: Tone = Tone.BAD


Part = Panel | Chart | Notice
ContributeParts = Callable[[Reach, datetime], Iterable[Part]]
"""The parts for somebody who may read that much: asked every ten seconds, so cheap and within bounds."""

ContributeRowPanel = Callable[[Reach, Any, datetime], Panel]
"""A panel for the page of a row, for somebody who may read that much."""


def number_of(count: int) -> str:
    """A number that ends at one more than MOST_COUNTED, as it is shown."""
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"
