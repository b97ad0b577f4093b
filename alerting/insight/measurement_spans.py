"""The measurements to show for an alert: time range, metric and units. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.configs.rules import MetricThreshold
from alerting.configs.wording import limit_words
from automation.metrics import Metric, base_unit
from automation.quantities import best_unit, measured_quantity, quantity_of
from automation.units import Unit, convert

MARGIN = timedelta(minutes=30)
"""Margin before the start and after the end of the alert."""
LONGEST = timedelta(days=7)
"""For longer alerts, only the end is shown."""
MOST_POINTS = 300


@dataclass(frozen=True, slots=True)
class Span:
    """An inclusive time range; `cut`: the alert started earlier."""

    since: datetime
    until: datetime
    cut: bool = False

    @property
    def bucket(self) -> timedelta:
        """The bucket size for at most MOST_POINTS points, in whole seconds."""
        seconds = (self.until - self.since).total_seconds()
        return timedelta(seconds=int(seconds // (MOST_POINTS // 2 - 1)) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementWindow:
    """A metric of a host around an alert, with ordered points in `units`.

    `threshold` comes from the configuration; None if it has none or cannot be shown.
    """

    metric: Metric
    units: Unit
    span: Span
    points: tuple[tuple[datetime, float], ...]
    threshold: MetricThreshold | None

    @property
    def words(self) -> str:
        """The plot in words, for users who cannot see it."""
        if not self.points:
            return f"{self.metric.spec.words}: no measurements in this time."
        numbers = [number for _, number in self.points]
        lowest, highest, last = (
            self._value_words(number) for number in (min(numbers), max(numbers), numbers[-1])
        )
        limit = f" Threshold: {limit_words(self.threshold)}." if self.threshold else ""
        return f"{self.metric.spec.words}: lowest {lowest}, highest {highest}, last {last}.{limit}"

    def _value_words(self, number: float) -> str:
        """In the units of the threshold; without a threshold, in the most readable unit."""
        if self.threshold:
            return measured_quantity(number, self.units)
        return quantity_of(self.metric, convert(number, self.units, base_unit(self.metric)))


def window_span(created: datetime, resolved: datetime | None, now: datetime) -> Span:
    """From MARGIN before the start of an alert to MARGIN after its end, or now; at most LONGEST."""
    until = min(now, resolved + MARGIN) if resolved else now
    since = created - MARGIN
    if until - since > LONGEST:
        return Span(until - LONGEST, until, cut=True)
    return Span(since, max(since, until))


def metric_shown(alert_metric: str | None, measured: Collection[str]) -> Metric | None:
    """The metric of the alert; otherwise CONNECTIONS if measured, otherwise the first measured metric."""
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
) -> MeasurementWindow:
    """Stored points in the units of the threshold, otherwise in the most readable unit."""
    base = base_unit(metric)
    greatest = max((abs(number) for _, number in points), default=0.0)
    units = threshold.units if threshold else best_unit(metric, greatest)
    return MeasurementWindow(
        metric=metric,
        units=units,
        span=span,
        points=tuple((moment, convert(number, base, units)) for moment, number in points),
        threshold=threshold,
    )
