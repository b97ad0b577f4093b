"""Charts: metrics of several rows over time, drawn by `console/charts.js`.

Apps contribute what they know about the shown hosts: thresholds, times with an alert, and changes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opsapi.api.principal import VisibleScope
from opsapi.apps import contributions


@dataclass(frozen=True, slots=True)
class Level:
    """A threshold of a chart, in the base unit of its metric, and since when it exists."""

    value: float
    label: str
    since: datetime
    url: str = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """A shaded time, such as that of an alert; `until` is None if it has not ended.

    `metric` and `row` restrict it to a chart and to a line; empty for all.
    """

    since: datetime
    until: datetime | None
    label: str
    url: str = ""
    metric: str = ""
    row: str = ""
    is_mute: bool = False
    """Whether alerts are muted in this time."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a change, such as an election."""

    at: datetime
    label: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class ChartNotes:
    """The notes of an app on charts: thresholds by metric, shaded times and moments.

    `left_out`: sentences that say which notes are missing.
    """

    levels: Mapping[str, Sequence[Level]] = field(default_factory=dict)
    spans: Sequence[Shade] = ()
    marks: Sequence[Mark] = ()
    left_out: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ChartQuestion:
    """The rows, the names of metrics and the time range of charts."""

    rows: Sequence[Any]
    metrics: Sequence[str]
    since: datetime
    until: datetime


ContributeNotes = Callable[[VisibleScope, ChartQuestion], ChartNotes]


def chart_notes(visible_scope: VisibleScope, question: ChartQuestion) -> Iterator[ChartNotes]:
    """Yield the `chart_notes` of every app's AppConfig."""
    for contributed in contributions("chart_notes"):
        for contribute in contributed:
            yield contribute(visible_scope, question)
