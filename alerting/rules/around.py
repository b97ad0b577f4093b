"""Which measurements stand around an alert: from when to when, which metric, in what units. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.rules.thresholds import MetricThreshold, ThresholdOperator
from alerting.rules.wording import limit_words
from automation.metrics import Metric, base_unit
from automation.quantities import best_unit, quantity_of, readable_quantity
from automation.units import Unit, convert

MARGIN = timedelta(minutes=30)
"""So long before it began and after it ended."""
LONGEST = timedelta(days=7)
"""Of an alert that lasted longer the end is looked at."""
MOST_POINTS = 300


@dataclass(frozen=True, slots=True)
class Span:
    """A range of time, both ends included; `cut`: the alert began before."""

    since: datetime
    until: datetime
    cut: bool = False

    @property
    def bucket(self) -> timedelta:
        """So long that two points of each are at most MOST_POINTS; whole seconds."""
        seconds = (self.until - self.since).total_seconds()
        return timedelta(seconds=int(seconds // (MOST_POINTS // 2 - 1)) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One metric of a host around an alert, its points in order and in `units`.

    `threshold` and `operator` are the configuration's, None where it has none or may not be shown.
    """

    metric: Metric
    units: Unit
    span: Span
    points: tuple[tuple[datetime, float], ...]
    threshold: float | None = None
    operator: ThresholdOperator | None = None

    @property
    def words(self) -> str:
        """What the plot shows, for those who do not see it."""
        if not self.points:
            return f"{self.metric.value}: no measurements in this time."
        numbers = [number for _, number in self.points]
        lowest, highest, last = (self._said(one) for one in (min(numbers), max(numbers), numbers[-1]))
        limit = ""
        if self.threshold is not None and self.operator is not None:
            limit = f" Threshold: {limit_words(self.operator, self.threshold, self.units)}."
        return f"{self.metric.value}: lowest {lowest}, highest {highest}, last {last}.{limit}"

    def _said(self, number: float) -> str:
        """As a threshold's units have it; without one each in the unit it is read best in."""
        if self.threshold is not None:
            return readable_quantity(number, self.units)
        return quantity_of(self.metric, convert(number, self.units, base_unit(self.metric)))


def span_around(created: datetime, resolved: datetime | None, now: datetime) -> Span:
    """From MARGIN before an alert began to MARGIN after it ended, or now; LONGEST at most."""
    until = min(now, resolved + MARGIN) if resolved else now
    since = created - MARGIN
    if until - since > LONGEST:
        return Span(until - LONGEST, until, cut=True)
    return Span(since, max(since, until))


def metric_shown(alert_metric: str | None, measured: Collection[str]) -> Metric | None:
    """The alert's own metric; else CONNECTIONS where that was measured, else the first that was."""
    if alert_metric is not None:
        return Metric(alert_metric)
    if Metric.CONNECTIONS in measured:
        return Metric.CONNECTIONS
    return next((metric for metric in Metric if metric in measured), None)


def in_units(
    metric: Metric,
    span: Span,
    points: Collection[tuple[datetime, float]],
    threshold: MetricThreshold | None,
) -> Measured:
    """Stored points in the units of the threshold, in which people think of it; else as they read best."""
    base = base_unit(metric)
    greatest = max((abs(number) for _, number in points), default=0.0)
    units = threshold.units if threshold else best_unit(metric, greatest)
    return Measured(
        metric=metric,
        units=units,
        span=span,
        points=tuple((moment, convert(number, base, units)) for moment, number in points),
        threshold=threshold.threshold if threshold else None,
        operator=threshold.operator if threshold else None,
    )
