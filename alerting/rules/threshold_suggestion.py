"""The threshold that would halve the alerts of a dry run, without losing a long alert. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil, inf, isfinite
from typing import Final

from alerting.rules.noise import FEWEST_ALERTS, LONGEST_DELAY_MIN
from alerting.rules.thresholds import (
    MetricThreshold,
    ThresholdOperator,
    ThresholdState,
    evaluate_threshold,
    limit_of,
)
from automation.metrics import base_unit
from automation.units import Unit, convert

MOST_CANDIDATES: Final = 5
"""The most thresholds that are tried."""
_LASTING: Final = timedelta(minutes=LONGEST_DELAY_MIN)
_UP, _DOWN = (Context(prec=3, rounding=rounding) for rounding in (ROUND_CEILING, ROUND_FLOOR))


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSuggestion:
    """A threshold with which `alerts` would have opened."""

    threshold: float
    units: Unit
    alerts: int


@dataclass(frozen=True, slots=True)
class MeasuredAlert:
    """The values of an alert in the base unit, one for each report, from its begin to its end.

    `until` is the end of the alert, or of the dry run.
    """

    values: Sequence[tuple[datetime, float]]
    until: datetime

    @property
    def is_long(self) -> bool:
        """Whether a suggestion must keep it."""
        return self.until - self.values[0][0] > _LASTING


def suggest_threshold(
    threshold: MetricThreshold, alerts: Sequence[MeasuredAlert], *, delay: timedelta
) -> ThresholdSuggestion | None:
    """Return the first candidate that at least halves the alerts; None if none does.

    In the time of each long alert, an alert would still open. `delay` is the shortest delay. A value outside
    such a threshold is outside the current threshold as well, so all its alerts are in the time of `alerts`.
    """
    if len(alerts) < FEWEST_ALERTS:
        return None
    for candidate in _candidates(threshold, alerts):
        opened = [_openings(candidate, alert, delay) for alert in alerts]
        loses_none = all(number or not alert.is_long for number, alert in zip(opened, alerts, strict=True))
        if loses_none and sum(opened) * 2 <= len(alerts):
            return ThresholdSuggestion(
                threshold=candidate.threshold, units=candidate.units, alerts=sum(opened)
            )
    return None


def _candidates(threshold: MetricThreshold, alerts: Sequence[MeasuredAlert]) -> Iterator[MetricThreshold]:
    """Yield finite thresholds at the peaks of alerts, the closest to the current threshold first.

    The first exceeds the peaks of half of the alerts, and none exceeds the peak of a long alert.
    """
    sign = 1 if threshold.operator is ThresholdOperator.GREATER_THAN else -1
    peaks = [(max(sign * value for _, value in alert.values), alert.is_long) for alert in alerts]
    bound = min((peak for peak, is_long in peaks if is_long), default=inf)
    median = sorted(peak for peak, _ in peaks)[(len(peaks) - 1) // 2]
    possible = sorted({peak for peak, _ in peaks if median <= peak < bound})
    for peak in possible[:: ceil(len(possible) / MOST_CANDIDATES) or 1]:
        exact = replace(
            threshold, threshold=convert(sign * peak, base_unit(threshold.metric), threshold.units)
        )
        rounded = replace(exact, threshold=_rounded(exact.threshold, sign))
        candidate = rounded if sign * limit_of(rounded) < bound else exact
        if isfinite(candidate.threshold) and isfinite(limit_of(candidate)):
            yield candidate


def _rounded(number: float, sign: int) -> float:
    """The number with three digits, farther from the current threshold."""
    return float((_UP if sign > 0 else _DOWN).create_decimal_from_float(number))


def _openings(threshold: MetricThreshold, alert: MeasuredAlert, delay: timedelta) -> int:
    """How many alerts would have opened in the time of an alert."""
    opened, since = 0, None
    for at, value in alert.values:
        is_outside = evaluate_threshold(threshold, [value]).state is ThresholdState.OUTSIDE
        if is_outside and since is None:
            since = at
        elif since is not None and not is_outside:
            opened, since = opened + (at - since >= delay), None
    return opened + (since is not None and alert.until - since >= delay)
