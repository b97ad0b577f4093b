"""Widgets of the start page and of row pages, and the apps that contribute them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from opsapi.api.principal import Operator, VisibleScope
from opsapi.apps import contributions
from opsapi.console.actions import LinkOfRows
from opsapi.first_rows import MOST_COUNTED, more_words


class Tone(StrEnum):
    """The severity of a state; the values are the theme's names of label colours."""

    PLAIN = "default"
    INFO = "info"
    GOOD = "success"
    WARNING = "warning"
    BAD = "danger"


_LONG = 45
"""Characters of a word that may break anywhere, because it can be wider than its column."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, with an optional link and tooltip; with a tone it is shown as a label."""

    text: str
    url: str = ""
    tone: Tone | None = None
    hint: str = ""

    @property
    def css(self) -> str:
        """How the text wraps: an address stays whole, ordinary words too; only long names break anywhere."""
        words = self.text.split()
        if any(len(word) > _LONG for word in words):
            return "console-long"
        is_address = len(words) == 1 and any(mark in self.text for mark in ".:@")
        return "console-address" if is_address else "console-words"


@dataclass(frozen=True, slots=True)
class PanelWhole:
    """What a panel lists a part of, such as all hosts of a list of hosts that are down.

    While there are none, a panel says nothing about all of them: it says `none`, with the link `remedy`.
    """

    count: int
    none: str
    remedy: Cell | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A list: how many there are, its first rows, and the page of all of them.

    `unit`: what the number counts, such as "hosts down". `rows` have a cell for each of `headers`. `facts`
    explain the number; the first is shown next to it. `empty`: text for an empty list, which says how rows
    get there; `remedy`: a link to do that. `whole`: what the rows are a part of, if `empty` speaks about
    all of them. `tone`: severity of a number above 0. `count`: at most MOST_COUNTED + 1. `at_least`: the
    count may be incomplete. The start page sorts panels by `rank`,
    and shows the numbers of the panels that are `is_counted` above them.
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
    whole: PanelWhole | None = None
    facts: Sequence[Cell] = ()
    tone: Tone = Tone.PLAIN
    is_wide: bool = False
    rank: int = 0
    is_counted: bool = True
    at_least: bool = False

    @property
    def number(self) -> str:
        """The count for display."""
        return number_of(self.count)

    @property
    def nothing(self) -> tuple[str, Cell | None]:
        """The text and the link of an empty list."""
        if self.whole is not None and not self.whole.count:
            return self.whole.none, self.whole.remedy
        return self.empty, self.remedy

    @property
    def more(self) -> str:
        """The number of rows that are not shown, in words."""
        at_least = self.at_least or self.count > MOST_COUNTED
        return more_words(self.count - len(self.rows), at_least=at_least)


@dataclass(frozen=True, slots=True)
class ChartHour:
    """An hour of a chart by its start, which may lead to a page."""

    start: datetime
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Numbers over time, as a bar chart and a table.

    A row is an hour and a number for each of `series`; None where the number is not known. `hour_format`:
    how the page shows the hours, as Django writes formats.
    """

    name: str
    title: str
    series: Sequence[str]
    rows: Sequence[tuple[ChartHour, Sequence[int | None]]]
    url: str
    empty: str
    hour_format: str = "H:i"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return all(number == 0 for _, numbers in self.rows for number in numbers)

    @property
    def total(self) -> int:
        """The sum."""
        return sum(number or 0 for _, numbers in self.rows for number in numbers)


@dataclass(frozen=True, slots=True)
class Tile:
    """A row as a small square; `state` in words, of which `tone` is the severity.

    `is_muted`: alerts about the row are muted now. Such tiles have a pattern of their own.
    """

    name: str
    url: str
    state: str
    tone: Tone
    is_muted: bool = False

    @property
    def sign(self) -> str:
        """A mark that distinguishes the states without colours."""
        return _SIGNS.get(self.tone, "")


_SIGNS = {Tone.BAD: "✖", Tone.WARNING: "!", Tone.PLAIN: "?"}


@dataclass(frozen=True, slots=True)
class TileLook:
    """A line of the legend of a map: the number of tiles with this look."""

    sample: Tile
    count: int


@dataclass(frozen=True, slots=True)
class TileRow:
    """Tiles that belong together, such as the members of a replica set, with what they belong to."""

    label: Cell
    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class TileGroup:
    """The rows of a project; with too many tiles, `counts` instead."""

    label: Cell
    rows: Sequence[TileRow] = ()
    counts: Sequence[Cell] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TileMap:
    """A map of rows by what they belong to. `note` says what it leaves out; `looks` are the legend."""

    name: str
    title: str
    url: str
    groups: Sequence[TileGroup]
    looks: Sequence[TileLook] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Measurements over a time as a line, in `units`.

    `threshold` is a level to be shown, `began` and `ended` moments that are marked, `spans` times that are
    shaded.
    """

    label: str
    units: str
    since: datetime
    until: datetime
    points: Sequence[tuple[datetime, float]]
    threshold: float | None = None
    began: datetime | None = None
    ended: datetime | None = None
    spans: Sequence[tuple[datetime, datetime]] = ()

    def data(self) -> Mapping[str, Any]:
        """The data of `console/plot.js`: times in milliseconds since the epoch."""
        return {
            "label": self.label,
            "units": self.units,
            "since": _milliseconds(self.since),
            "until": _milliseconds(self.until),
            "points": [[_milliseconds(moment), value] for moment, value in self.points],
            "threshold": self.threshold,
            "began": _milliseconds(self.began),
            "ended": _milliseconds(self.ended),
            "spans": [[_milliseconds(since), _milliseconds(until)] for since, until in self.spans],
        }


@dataclass(frozen=True, slots=True)
class Notice:
    """An important message above everything else, with links to what can be done."""

    text: str
    links: Sequence[Cell] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a checklist. `link` leads to where it is done; without it, `note` says who can do it."""

    text: str
    is_done: bool
    link: Cell | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checklist:
    """Steps to do once. `dismiss_url` hides the list for everybody; empty if the user may not."""

    title: str
    steps: Sequence[Step]
    dismiss_url: str = ""

    @property
    def next_step(self) -> Step | None:
        """The first step that is open and that the user can do."""
        return next((step for step in self.steps if not step.is_done and step.link), None)

    @property
    def done_words(self) -> str:
        """How many steps are done."""
        return f"{sum(step.is_done for step in self.steps)} of {len(self.steps)} done"


Widget = Panel | Chart | TileMap | Notice


def number_of(count: int) -> str:
    """Return a count as text; numbers above MOST_COUNTED are not exact."""
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


MOST_NEEDING = 99
"""The greatest number that the title of a page shows."""
ContributeWidgets = Callable[[VisibleScope, datetime], Iterable[Widget]]
"""Returns the widgets for an operator. Called every ten seconds, so it must be cheap and limited."""
ContributeRowPanel = Callable[[VisibleScope, Any, datetime], Panel]
"""Returns a panel for the page of a row, for an operator with this visible scope."""
ContributeSetPanel = Callable[[VisibleScope, Any, Sequence[Any], datetime], Panel]
"""The same for a row that consists of hosts, which come after the row."""


def overview() -> list[ContributeWidgets]:
    """Return the `overview` of every app's AppConfig: the widgets of the start page, alerts first."""
    contributed = [contribute for app_widgets in contributions("overview") for contribute in app_widgets]
    return contributed[::-1]


def needs_somebody(visible_scope: VisibleScope, now: datetime) -> str:
    """Return how many things wait for a person, by the `needs_somebody` of every app's AppConfig.

    Empty for none; `99+` if there are more, and a number with a plus if not all were counted.
    """
    counts = [count(visible_scope, now) for counted in contributions("needs_somebody") for count in counted]
    number, is_cut = sum(number for number, _ in counts), any(is_cut for _, is_cut in counts)
    if number > MOST_NEEDING:
        return f"{MOST_NEEDING}+"
    return f"{number}+" if is_cut else f"{number or ''}"


def project_notices(operator: Operator, group_id: str | None = None) -> list[Notice]:
    """Return the `project_notices` of every app's AppConfig: about a project, or all readable projects."""
    made = [make for app_notices in contributions("project_notices") for make in app_notices]
    return [notice for make in made for notice in make(operator, group_id)]


def checklists(operator: Operator) -> list[Checklist]:
    """Return the `checklists` of every app's AppConfig, for the start page."""
    made = (make(operator) for app_checklists in contributions("checklists") for make in app_checklists)
    return [checklist for checklist in made if checklist is not None]


def host_panels() -> list[ContributeRowPanel]:
    """Return the `host_panels` of every app's AppConfig, for the page of a host."""
    return [contribute for app_panels in contributions("host_panels") for contribute in app_panels]


def set_panels() -> list[ContributeSetPanel]:
    """Return the `set_panels` of every app's AppConfig, for the page of a row that consists of hosts."""
    return [contribute for app_panels in contributions("set_panels") for contribute in app_panels]


def host_links() -> list[LinkOfRows]:
    """Return the `host_links` of every app's AppConfig, for the list of hosts and the page of a host."""
    return [link for app_links in contributions("host_links") for link in app_links]


def set_links() -> list[LinkOfRows]:
    """Return the `set_links` of every app's AppConfig, for the page of a replica set or cluster."""
    return [link for app_links in contributions("set_links") for link in app_links]
