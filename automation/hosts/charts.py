"""The charts of hosts in the console: all members of a replica set in a plot for each metric."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from django.utils.datastructures import MultiValueDict

from automation.choices import Granularity
from automation.hosts.models import Host
from automation.hosts.states import host_state
from automation.measurements.fleet_query import FleetQuery
from automation.measurements.fleet_series import FleetSeries, fleet_series
from automation.measurements.query import bucket_start, span_of
from automation.measurements.store import MeasuredReport, newest_measurements
from automation.measurements.tiers import chosen_tier, kept_tiers
from automation.metrics import Engine, Metric, MetricKind, base_unit
from automation.quantities import best_unit, unit_words
from automation.units import Unit, convert
from automation.wording import type_words
from opsapi.api.principal import VisibleScope
from opsapi.clock import parse_time, wire_time
from opsapi.console.admin_urls import page_url
from opsapi.console.charts import ChartNotes, ChartQuestion, Level, Shade, chart_notes

MOST_HOSTS: Final = 50
"""The maximum number of lines of a chart, as many as the members of a replica set."""
MOST_ADDED: Final = 16
"""The maximum number of metrics that the URL adds."""
_MOST_POINTS: Final = 900
"""The maximum number of points of a line."""
_MOST_VALUES: Final = 200_000
"""The maximum number of points of all lines of a page, if a day is not shorter than a point."""
_SHORTEST: Final = timedelta(minutes=5)
_LONGEST: Final = timedelta(days=2 * 366)
_NEWEST_WITHIN: Final = timedelta(days=1)
"""How long before the end of the time range the newest samples are searched."""
_DIGITS: Final = 5
"""Significant digits of a drawn value."""


@dataclass(frozen=True, slots=True)
class ChartRange:
    """A time range that ends now, by its name in the URL."""

    name: str
    words: str
    length: timedelta


RANGES: Final = (
    ChartRange("1h", "1 h", timedelta(hours=1)),
    ChartRange("6h", "6 h", timedelta(hours=6)),
    ChartRange("24h", "24 h", timedelta(days=1)),
    ChartRange("3d", "3 d", timedelta(days=3)),
    ChartRange("7d", "7 d", timedelta(days=7)),
    ChartRange("30d", "30 d", timedelta(days=30)),
    ChartRange("1y", "1 y", timedelta(days=365)),
    ChartRange("2y", "2 y", timedelta(days=730)),
)
USUAL: Final = "24h"
MOST_USUAL: Final = 8
"""The number of charts of a page to which nothing is added."""
_USUAL_METRICS: Final[Mapping[Engine, Sequence[Metric]]] = {
    Engine.MONGODB: (
        Metric.OPLOG_SLAVE_LAG_MASTER_TIME,
        Metric.NETWORK_NUM_REQUESTS,
        Metric.CONNECTIONS,
        Metric.OPLOG_MASTER_TIME,
        Metric.CACHE_FILL_RATIO,
        Metric.OP_EXECUTION_TIME_READS,
        Metric.GLOBAL_LOCK_CURRENT_QUEUE_TOTAL,
        Metric.DISK_PARTITION_SPACE_PERCENT_USED,
        Metric.OPCOUNTER_QUERY,
        Metric.CACHE_USED_BYTES,
        Metric.MEMORY_RESIDENT,
        Metric.SYSTEM_NORMALIZED_CPU_USER,
        Metric.CURSORS_TOTAL_OPEN,
        Metric.DISK_PARTITION_UTILIZATION,
    ),
    Engine.POSTGRESQL: (
        Metric.PG_REPLICATION_LAG_TIME,
        Metric.PG_TRANSACTIONS_COMMITTED,
        Metric.CONNECTIONS,
        Metric.PG_REPLICATION_SLOT_RETAINED_BYTES,
        Metric.PG_LONGEST_TRANSACTION,
        Metric.PG_XID_AGE,
        Metric.PG_CACHE_HIT_RATIO,
        Metric.DISK_PARTITION_SPACE_PERCENT_USED,
        Metric.PG_LOCKS_WAITING,
        Metric.PG_WAL_BYTES,
        Metric.PG_TEMP_BYTES,
        Metric.SYSTEM_NORMALIZED_CPU_USER,
    ),
}
"""In the order of the charts. The first MOST_USUAL that are measured are drawn."""
_EXPECTED: Final = 4
"""The number of these metrics that a page names if they are not measured."""


class ChartRequestError(ValueError):
    """The URL asks for charts that do not exist; the text names the parameter and says why."""


@dataclass(frozen=True, slots=True)
class ChartPeriod:
    """A time range; `name` is empty for a range that does not end now."""

    since: datetime
    until: datetime
    name: str = ""

    def granularity(self, lines: int) -> Granularity:
        """The shortest buckets that are few enough to draw, and to send for so many lines."""
        length, most = self.until - self.since, min(_MOST_POINTS, _MOST_VALUES // max(1, lines))
        fitting = (size for size in Granularity if length <= most * span_of(size))
        return next(fitting, Granularity.P1D)


def chart_period(query: MultiValueDict[str, str], now: datetime) -> ChartPeriod:
    """Read `since` and `until`, or `range`.

    Raises ChartRequestError.
    """
    if query.get("since") or query.get("until"):
        since, until = (_moment(query, name) for name in ("since", "until"))
        if not _SHORTEST <= until - since <= _LONGEST:
            raise ChartRequestError(
                "until must be at least 5 minutes and at most two years after since, which are ISO 8601 times"
            )
        return ChartPeriod(since, min(until, max(now, since + _SHORTEST)))
    name = query.get("range") or USUAL
    length = next((offered.length for offered in RANGES if offered.name == name), None)
    if length is None:
        raise ChartRequestError(f"range must be one of {', '.join(offered.name for offered in RANGES)}")
    return ChartPeriod(now - length, now, name)


def _moment(query: MultiValueDict[str, str], name: str) -> datetime:
    try:
        return parse_time(query.get(name) or "")
    except ValueError:
        raise ChartRequestError(f"{name} must be an ISO 8601 time, such as 2026-11-21T07:26:14Z") from None


@dataclass(frozen=True, slots=True)
class ChartMetrics:
    """The metrics of a page: the URL adds some, and others are usual for the engines."""

    added: Sequence[Metric]
    usual: Sequence[Metric]

    @property
    def asked(self) -> list[Metric]:
        """All of them, each once, in the order of the charts."""
        return list(dict.fromkeys([*self.added, *self.usual]))

    def drawn(self, measured: Collection[Metric]) -> list[Metric]:
        """All added metrics and the first usual metrics that are measured."""
        added = [metric for metric in self.added if metric in measured]
        usual = [metric for metric in self.usual if metric in measured and metric not in self.added]
        return [*added, *usual[:MOST_USUAL]]

    def missing(self, measured: Collection[Metric]) -> list[Metric]:
        """The metrics that a reader expects and that are not measured."""
        expected = dict.fromkeys([*self.added, *self.usual[:_EXPECTED]])
        return [metric for metric in expected if metric not in measured]


def chart_metrics(query: MultiValueDict[str, str], hosts: Sequence[Host]) -> ChartMetrics:
    """Return the metrics that `m` adds and, without `only`, the usual metrics of the engines of the hosts.

    Raises ChartRequestError.
    """
    names = dict.fromkeys(query.getlist("m"))
    if not names.keys() <= set(Metric):
        raise ChartRequestError("m must be the name of a metric, such as CONNECTIONS")
    if len(names) > MOST_ADDED:
        raise ChartRequestError(f"m must add at most {MOST_ADDED} metrics")
    if query.get("only"):
        return ChartMetrics([Metric(name) for name in names], [])
    engines = {host.engine for host in hosts}
    usual = [metric for engine in Engine if engine.value in engines for metric in _USUAL_METRICS[engine]]
    # Agents of earlier versions do not say the engine.
    return ChartMetrics([Metric(name) for name in names], usual or _USUAL_METRICS[Engine.MONGODB])


@dataclass(frozen=True, slots=True)
class _Grid:
    """The buckets of all charts: the start of the first in seconds since 1970, their length and number."""

    first: int
    step: int
    steps: int

    @classmethod
    def of(cls, query: FleetQuery) -> "_Grid":
        span = span_of(query.granularity)
        steps = (query.end - query.start) // span + 1
        return cls(int(query.start.timestamp()), int(span.total_seconds()), int(steps))

    @property
    def times(self) -> list[int]:
        return [self.first + self.step * place for place in range(self.steps)]


def charts_of(
    hosts: Sequence[Host], metrics: ChartMetrics, period: ChartPeriod, scope: VisibleScope, now: datetime
) -> Mapping[str, Any]:
    """Return the data of `console/charts.js`: times are seconds since 1970, and gaps are null."""
    lines = hosts[:MOST_HOSTS]
    most_lines = len(lines) * (len(metrics.added) + MOST_USUAL)
    wanted = period.granularity(most_lines)
    tier, granularity = chosen_tier(wanted, period.since, now=now, kept=kept_tiers())
    start = bucket_start(period.since, span_of(granularity))
    query = FleetQuery(granularity, start, period.until, metrics.asked, tier=tier)
    of_metric: dict[Metric, list[FleetSeries]] = {}
    for series in fleet_series(lines, query):
        of_metric.setdefault(series.metric, []).append(series)
    measured = {metric for metric, some in of_metric.items() if any(len(series.points) for series in some)}
    drawn, grid = metrics.drawn(measured), _Grid.of(query)
    question = ChartQuestion(lines, [metric.value for metric in drawn], period.since, period.until)
    notes = list(chart_notes(scope, question))
    newest = newest_measurements(
        [host.id for host in lines],
        since=period.until - min(_NEWEST_WITHIN, period.until - period.since),
        until=period.until + timedelta(seconds=1),
        metrics=drawn,
    )
    return {
        "since": period.since.timestamp(),
        "until": period.until.timestamp(),
        "range": period.name,
        "read": wire_time(now),
        "granularity": granularity.value,
        "tier": tier.value,
        "times": grid.times,
        "rows": [_row(host, now) for host in lines],
        "charts": [_chart(metric, of_metric[metric], newest, notes, grid) for metric in drawn],
        "missing": [metric.spec.words for metric in metrics.missing(measured)],
        "spans": [_span(span, lines, now) for note in notes for span in note.spans],
        "marks": [
            {"at": mark.at.timestamp(), "label": mark.label, "url": mark.url}
            for note in notes
            for mark in note.marks
        ],
        "leftOut": _left_out(hosts, notes),
    }


def _row(host: Host, now: datetime) -> Mapping[str, str]:
    words, tone = host_state(host, now)
    return {
        "id": host.id,
        "name": str(host),
        "url": page_url(host),
        "type": type_words(host.type_name, host.engine),
        "state": words,
        "tone": tone.value,
    }


def _chart(
    metric: Metric,
    of_hosts: Sequence[FleetSeries],
    newest: Mapping[str, MeasuredReport],
    notes: Sequence[ChartNotes],
    grid: _Grid,
) -> Mapping[str, Any]:
    greatest = max(float(np.abs(series.points.means).max(initial=0)) for series in of_hosts)
    unit = best_unit(metric, greatest)
    return {
        "metric": metric.value,
        "title": metric.spec.words,
        "meaning": metric.spec.meaning,
        "unit": unit.value,
        "units": f"{unit_words(unit)}/s" if metric.spec.kind is MetricKind.RATE else unit_words(unit),
        "lines": [
            {**_line(series, unit, grid), "latest": _latest(series, unit, newest, grid)}
            for series in of_hosts
        ],
        "levels": [
            _level(level, metric, unit) for note in notes for level in note.levels.get(metric.value, ())
        ],
    }


def _line(series: FleetSeries, unit: Unit, grid: _Grid) -> Mapping[str, list[float | None]]:
    """The mean, the minimum and the maximum of each bucket, in the unit of the chart."""
    points, base = series.points, base_unit(series.metric)
    columns = {"means": points.means, "minimums": points.minimums, "maximums": points.maximums}
    places = ((points.buckets - grid.first) // grid.step).tolist()
    line: dict[str, list[float | None]] = {}
    for name, values in columns.items():
        line[name] = [None] * grid.steps
        for place, value in zip(places, values.tolist(), strict=True):
            line[name][place] = _drawn(convert(value, base, unit))
    return line


def _latest(
    series: FleetSeries, unit: Unit, newest: Mapping[str, MeasuredReport], grid: _Grid
) -> Mapping[str, float] | None:
    """The newest sample in the unit of the chart, with its time.

    If the newest report has no sample of the metric, it is the mean of the last bucket with samples.
    """
    report = newest.get(series.host.id) if series.host else None
    if report and (samples := report.samples.get(series.metric)):
        moment, value = max(samples)
        at = moment.timestamp()
    elif len(points := series.points):
        at, value = float(points.buckets[-1] + grid.step), float(points.means[-1])
    else:
        return None
    return {"at": at, "value": _drawn(convert(value, base_unit(series.metric), unit))}


def _drawn(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _level(level: Level, metric: Metric, unit: Unit) -> Mapping[str, Any]:
    return {
        "value": _drawn(convert(level.value, base_unit(metric), unit)),
        "label": level.label,
        "since": level.since.timestamp(),
        "url": level.url,
    }


def _span(span: Shade, hosts: Sequence[Host], now: datetime) -> Mapping[str, Any]:
    places = [place for place, host in enumerate(hosts) if host.id == span.row]
    return {
        "since": span.since.timestamp(),
        "until": (span.until or now).timestamp(),
        "open": span.until is None,
        "label": span.label,
        "url": span.url,
        "metric": span.metric,
        "isMute": span.is_mute,
        "row": places[0] if places else None,
    }


def _left_out(hosts: Sequence[Host], notes: Sequence[ChartNotes]) -> list[str]:
    words = [sentence for note in notes for sentence in note.left_out]
    if len(hosts) > MOST_HOSTS:
        words.append(f"Only the first {MOST_HOSTS} of {len(hosts):,} hosts are drawn.")
    return words
