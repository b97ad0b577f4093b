"""Measurements on the page of a host: the latest value of each metric, and a plot of one metric."""

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
from opsapi.console.widgets import Plot

SHOWN = timedelta(days=1)
_GRAIN = Granularity.PT5M
_FIRST = Metric.CONNECTIONS


@dataclass(frozen=True, slots=True)
class Newest:
    """The latest value of a metric, in words."""

    metric: Metric
    value: str


@dataclass(frozen=True, slots=True)
class HostMeasurements:
    """The measurements of a host: the latest values, and a `metric` over the last 24 hours.

    `plot` is None without measurements; `words` describes the plot. `reported` is the time of the latest
    values.
    """

    newest: Sequence[Newest]
    metric: Metric | None
    plot: Plot | None
    words: str
    reported: datetime | None = None


def measured_of(host: Host, wanted: str, *, now: datetime) -> HostMeasurements:
    """The measurements of a host; plots the metric `wanted`, otherwise the first available metric."""
    last = newest_measurements([host.id]).get(host.id)
    samples = last.samples if last else {}
    last_of = {metric: samples[metric][-1][1] for metric in Metric if metric in samples}
    newest = [Newest(metric, quantity_of(metric, value)) for metric, value in last_of.items()]
    metric = _chosen(wanted, [latest.metric for latest in newest])
    if last is None or metric is None:
        return HostMeasurements(newest, None, None, "No measurements yet.")
    points = _points(host, metric, now)
    if not points:
        words = f"{metric}: no measurements in the last 24 hours."
        return HostMeasurements(newest, metric, None, words, last.at.reported)
    plot, words = _plot(metric, points, now), _plot_words(metric, points)
    return HostMeasurements(newest, metric, plot, words, last.at.reported)


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


def _plot_words(metric: Metric, points: Sequence[tuple[str, float]]) -> str:
    values = [value for _, value in points]
    least, most = quantity_of(metric, min(values)), quantity_of(metric, max(values))
    return f"{metric}, last 24 hours: {least} to {most}, latest {quantity_of(metric, values[-1])}."
