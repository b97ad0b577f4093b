"""What a host's page shows of its measurements: the newest of each metric, and one of them over a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from automation.choices import Granularity
from automation.durations import bucket_start, span_of
from automation.measurement_query import SeriesQuery
from automation.metrics import Metric, base_unit
from automation.models import Host
from automation.quantities import best_unit, quantity_of, unit_words
from automation.selectors.measurements import newest_measurements
from automation.series import measured_series
from automation.units import convert
from opsapi.clock import parse_time
from opsapi.console.parts import Plot

SHOWN = timedelta(days=1)
_GRAIN = Granularity.PT5M
_FIRST = Metric.CONNECTIONS


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest value of a metric, in words."""

    metric: Metric
    value: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a host: the newest values, and one `metric` of them over the last day.

    `plot` is None where there is nothing; `words` say the same. `reported`: when the newest values were.
    """

    newest: Sequence[Newest]
    metric: Metric | None
    plot: Plot | None
    words: str
    reported: datetime | None = None


def measured_of(host: Host, wanted: str, *, now: datetime) -> Measured:
    """The measurements of a host; `wanted` names the metric that is plotted, or else the first there is."""
    last = newest_measurements([host.id]).get(host.id)
    taken = last.samples if last else {}
    last_of = {metric: taken[metric][-1][1] for metric in Metric if metric in taken}
    newest = [Newest(metric, quantity_of(metric, value)) for metric, value in last_of.items()]
    metric = _chosen(wanted, [one.metric for one in newest])
    if last is None or metric is None:
        return Measured(newest, None, None, "Nothing has been measured on it yet.")
    points = _points(host, metric, now)
    if not points:
        words = f"{metric} was not measured in the last day."
        return Measured(newest, metric, None, words, last.at.reported)
    plot, words = _plot(metric, points, now), _told(metric, points)
    return Measured(newest, metric, plot, words, last.at.reported)


def _chosen(wanted: str, there: Sequence[Metric]) -> Metric | None:
    chosen = [metric for metric in there if metric.value == wanted]
    usual = [_FIRST] if _FIRST in there else there[:1]
    return next(iter([*chosen, *usual]), None)


def _points(host: Host, metric: Metric, now: datetime) -> list[tuple[str, float]]:
    start = bucket_start(now - SHOWN, span_of(_GRAIN))
    (series,) = measured_series(host.id, SeriesQuery(_GRAIN, start, now, [metric]))
    return series.points


def _plot(metric: Metric, points: Sequence[tuple[str, float]], now: datetime) -> Plot:
    unit = best_unit(metric, max(abs(value) for _, value in points))
    base = base_unit(metric)
    return Plot(
        label=metric.value,
        units=unit_words(unit),
        since=now - SHOWN,
        until=now,
        points=[(parse_time(at), round(convert(value, base, unit), 3)) for at, value in points],
    )


def _told(metric: Metric, points: Sequence[tuple[str, float]]) -> str:
    values = [value for _, value in points]
    least, most = quantity_of(metric, min(values)), quantity_of(metric, max(values))
    return f"{metric} in the last day: from {least} to {most}, at last {quantity_of(metric, values[-1])}."
