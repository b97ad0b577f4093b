"""Whether measured values and member counts are outside a threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, mean
from typing import Any, ClassVar, Protocol, Self, assert_never

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
class ThresholdVerdict:
    """The state, and the compared value: in the metric's base unit, None without data."""

    state: ThresholdState
    value: float | None = None


class Measured(Protocol):
    """What a threshold is compared with: samples by metric in its base unit, and a number of members.

    The number is None if no member of the replica set was reported.
    """

    @property
    def samples(self) -> Mapping[str, Sequence[float]]: ...

    @property
    def count(self) -> int | None: ...


@dataclass(frozen=True)
class MetricThreshold:
    """A threshold on a metric; `threshold` is in `units`, which are of the metric's family."""

    metric: Metric
    operator: ThresholdOperator
    threshold: float
    units: Unit

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored threshold. Raises LookupError or ValueError if this version does not know it."""
        return cls(
            metric=Metric(stored["metricName"]),
            operator=ThresholdOperator(stored["operator"]),
            threshold=stored["threshold"],
            units=Unit(stored["units"]),
        )

    @property
    def document(self) -> Mapping[str, Any]:
        """The threshold as it is stored, and as the API has it."""
        return {
            "metricName": self.metric.value,
            "mode": ThresholdMode.AVERAGE.value,
            "operator": self.operator.value,
            "threshold": self.threshold,
            "units": self.units.value,
        }

    @property
    def limit(self) -> float:
        """The threshold in the metric's base unit.

        Raises UnitsMismatch if its units do not fit its metric.
        """
        return convert(self.threshold, self.units, base_unit(self.metric))

    def verdict(self, measured: Measured) -> ThresholdVerdict:
        """Compare the newest report. Raises as `limit`."""
        return self.verdict_on(measured.samples.get(self.metric.value, ()))

    def verdict_on(self, samples: Sequence[float]) -> ThresholdVerdict:
        """Compare the samples of a report, finite numbers in the metric's base unit. Raises as `limit`."""
        return _verdict(self.operator, self.limit, mean_of(samples) if samples else None)


@dataclass(frozen=True)
class CountThreshold:
    """A threshold on how many members of a replica set are healthy, or unhealthy."""

    operator: ThresholdOperator
    threshold: float
    units: ClassVar[Unit] = Unit.RAW

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return a stored threshold on members. Raises as `MetricThreshold.of`."""
        return cls(ThresholdOperator(stored["operator"]), stored["threshold"])

    @property
    def document(self) -> Mapping[str, Any]:
        """The threshold as it is stored, and as the API has it."""
        return {
            "operator": self.operator.value,
            "threshold": self.threshold,
            "units": self.units.value,
        }

    def verdict(self, measured: Measured) -> ThresholdVerdict:
        """Compare the number of members of the newest reports."""
        return _verdict(self.operator, self.threshold, measured.count)


Threshold = MetricThreshold | CountThreshold
"""The threshold of a configuration: of a metric, or of a number of members."""


def threshold_of(
    metric_threshold: Mapping[str, Any] | None, threshold: Mapping[str, Any] | None
) -> Threshold | None:
    """Return the stored threshold of a configuration, which has at most one.

    Raises as `MetricThreshold.of`.
    """
    if metric_threshold:
        return MetricThreshold.of(metric_threshold)
    return CountThreshold.of(threshold) if threshold else None


def _verdict(operator: ThresholdOperator, limit: float, value: float | None) -> ThresholdVerdict:
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
