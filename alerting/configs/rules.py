"""Whether measured values and member counts are outside a threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, mean
from typing import Any, ClassVar, assert_never

from automation.metrics import Metric, base_unit
from automation.units import Unit, convert


class ThresholdOperator(StrEnum):
    """On which side of the threshold a value is outside; both are strict."""

    GREATER_THAN = "GREATER_THAN"
    LESS_THAN = "LESS_THAN"


class ThresholdMode(StrEnum):
    """How the samples of one report become one value."""

    AVERAGE = "AVERAGE"


class ThresholdState(StrEnum):
    """The result of a threshold; NO_DATA leaves an alert as it is."""

    OUTSIDE = "OUTSIDE"
    INSIDE = "INSIDE"
    NO_DATA = "NO_DATA"


@dataclass(frozen=True)
class MetricThreshold:
    """A threshold on a metric; `threshold` is in `units`, which are of the metric's family."""

    metric: Metric
    operator: ThresholdOperator
    threshold: float
    units: Unit


@dataclass(frozen=True)
class CountThreshold:
    """A threshold on how many members of a replica set are healthy, or unhealthy."""

    operator: ThresholdOperator
    threshold: float
    units: ClassVar[Unit] = Unit.RAW


def metric_threshold_of(stored: Mapping[str, Any]) -> MetricThreshold:
    """Return a stored threshold. Raises LookupError or ValueError if this version does not know it."""
    return MetricThreshold(
        metric=Metric(stored["metricName"]),
        operator=ThresholdOperator(stored["operator"]),
        threshold=stored["threshold"],
        units=Unit(stored["units"]),
    )


def count_threshold_of(stored: Mapping[str, Any]) -> CountThreshold:
    """Return a stored threshold on members. Raises as `metric_threshold_of`."""
    return CountThreshold(ThresholdOperator(stored["operator"]), stored["threshold"])


@dataclass(frozen=True)
class ThresholdVerdict:
    """The state, and the compared value: in the metric's base unit, None without data."""

    state: ThresholdState
    value: float | None = None


def evaluate_threshold(threshold: MetricThreshold, samples: Sequence[float]) -> ThresholdVerdict:
    """Compare the samples of a host's newest report, finite numbers in the metric's base unit.

    Raises UnitsMismatch if the threshold's units do not fit its metric.
    """
    return _evaluate_value(threshold.operator, limit_of(threshold), mean_of(samples) if samples else None)


def limit_of(threshold: MetricThreshold) -> float:
    """Return the threshold in the metric's base unit.

    Raises UnitsMismatch if its units do not fit its metric.
    """
    return convert(threshold.threshold, threshold.units, base_unit(threshold.metric))


def evaluate_count(threshold: CountThreshold, count: int | None) -> ThresholdVerdict:
    """Compare a number of members; None if no member of the replica set was reported."""
    return _evaluate_value(threshold.operator, threshold.threshold, count)


def _evaluate_value(operator: ThresholdOperator, limit: float, value: float | None) -> ThresholdVerdict:
    if value is None:
        return ThresholdVerdict(ThresholdState.NO_DATA)
    outside = is_outside(operator, limit, value)
    return ThresholdVerdict(ThresholdState.OUTSIDE if outside else ThresholdState.INSIDE, value)


def is_outside(operator: ThresholdOperator, limit: float, value: float) -> bool:
    """Return whether a value is outside a limit in the same unit."""
    match operator:
        case ThresholdOperator.GREATER_THAN:
            return value > limit
        case ThresholdOperator.LESS_THAN:
            return value < limit
        case _:
            assert_never(operator)


def mean_of(samples: Sequence[float]) -> float:
    """Return the value of at least one sample."""
    try:
        return fmean(samples)
    except OverflowError:
        # The sum overflows a float although the mean does not.
        return float(mean(samples))
