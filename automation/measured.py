"""What a host's page shows of its measurements: the newest of each metric, and one of them over a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from automation.choices import Granularity
from automation.durations import bucket_start, span_of
from automation.measurement_query import SeriesQuery
from automation.metrics import Metric, allowed_units, base_unit
from automation.models import Host
from automation.selectors import newest_measurements
from automation.series import measured_series
from automation.units import Unit, convert
from opsapi.clock import parse_time

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

    `plot` is what the plot is drawn from, None where there is nothing; `words` say the same.
    """

    newest: Sequence[Newest]
    metric: Metric | None
    plot: dict[str, Any] | None
    words: str


def measured_of(host: Host, wanted: str, *, now: datetime) -> Measured:
    """The measurements of a host; `wanted` names the metric that is plotted, or else the first there is."""
    last = newest_measurements([host.id]).get(host.id)
    taken = {Metric(name): samples for name, samples in (last.metrics if last else {}).items() if samples}
    newest = [Newest(metric, _words(metric, taken[metric][-1][1])) for metric in Metric if metric in taken]
    metric = _chosen(wanted, [one.metric for one in newest])
    if metric is None:
        why = "Its newest report measured nothing." if last else "Nothing has been measured on it yet."
        return Measured(newest, None, None, why)
    points = _points(host, metric, now)
    if not points:
        return Measured(newest, metric, None, f"{metric} was not measured in the last day.")
    return Measured(newest, metric, _plot(metric, points, now), _told(metric, points))


def _chosen(wanted: str, there: Sequence[Metric]) -> Metric | None:
    chosen = [metric for metric in there if metric.value == wanted]
    usual = [_FIRST] if _FIRST in there else there[:1]
    return next(iter([*chosen, *usual]), None)


def _points(host: Host, metric: Metric, now: datetime) -> list[tuple[str, float]]:
    start = bucket_start(now - SHOWN, span_of(_GRAIN))
    (series,) = measured_series(host.id, SeriesQuery(_GRAIN, start, now, [metric]))
    return series.points


def _plot(metric: Metric, points: Sequence[tuple[str, float]], now: datetime) -> dict[str, Any]:
    """As `console/alert-plot.js` takes it: times in milliseconds."""
    unit = _unit(metric, max(abs(value) for _, value in points))
    base = base_unit(metric)
    drawn = [(_ms(parse_time(at)), round(convert(value, base, unit), 3)) for at, value in points]
    return {
        "label": metric.value,
        "units": "" if unit is Unit.RAW else unit.value.lower(),
        "points": drawn,
        "since": _ms(now - SHOWN),
        "until": _ms(now),
        "threshold": None,
        "began": None,
        "ended": None,
    }


def _told(metric: Metric, points: Sequence[tuple[str, float]]) -> str:
    values = [value for _, value in points]
    least, most = _words(metric, min(values)), _words(metric, max(values))
    return f"{metric} in the last day: from {least} to {most}, at last {_words(metric, values[-1])}."


def _words(metric: Metric, value: float) -> str:
    unit = _unit(metric, abs(value))
    number = f"{convert(value, base_unit(metric), unit):,.1f}".removesuffix(".0")
    return number if unit is Unit.RAW else f"{number} {unit.value.lower()}"


def _unit(metric: Metric, size: float) -> Unit:
    """The greatest unit in which it is at least one; none smaller than that it is measured in."""
    base = base_unit(metric)
    units = allowed_units(metric)
    greater = [unit for unit in units[units.index(base) :] if convert(size, base, unit) >= 1]
    return greater[-1] if greater else base


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
