"""The delay, and the threshold, that would halve the alerts without losing a long alert. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil, inf, isfinite
from typing import Final

from alerting.configs.rules import MetricThreshold, ThresholdOperator, is_outside
from automation.metrics import base_unit
from automation.quantities import quantity
from automation.units import Unit, convert

FEWEST_ALERTS: Final = 4
"""With fewer alerts, nothing is suggested."""
LONGEST_DELAY_MIN: Final = 10
"""The longest suggested delay, in minutes. A suggestion loses no alert that lasted longer."""
MOST_CANDIDATES: Final = 5
"""The most thresholds that are tried."""
_LONG: Final = timedelta(minutes=LONGEST_DELAY_MIN)
_UP, _DOWN = (Context(prec=3, rounding=rounding) for rounding in (ROUND_CEILING, ROUND_FLOOR))


@dataclass(frozen=True, slots=True, kw_only=True)
class DelaySuggestion:
    """A delayMin for all notifications, with which `alerts` of `compared` alerts would have opened."""

    delay_min: int
    alerts: int
    compared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSuggestion:
    """A threshold with which `alerts` would have opened in the time of `compared` alerts."""

    threshold: float
    units: Unit
    alerts: int
    compared: int


Suggestion = DelaySuggestion | ThresholdSuggestion


def suggestion_sentences(suggestions: Sequence[Suggestion]) -> list[str]:
    """The suggestions in sentences; none without suggestions."""
    if not suggestions:
        return []
    kept = f"Each alert that lasted longer than {LONGEST_DELAY_MIN} min would still have opened."
    return [*map(_sentence, suggestions), kept]


def _sentence(suggestion: Suggestion) -> str:
    if isinstance(suggestion, DelaySuggestion):
        change = f"a delay of {suggestion.delay_min} min in all notifications"
        compared = f"{suggestion.compared:,} alerts"
    else:
        change = f"a threshold of {quantity(suggestion.threshold, suggestion.units)}"
        compared = f"{suggestion.compared:,} alerts with recorded values"
    return f"With {change}, {suggestion.alerts:,} instead of {compared} would have opened."


def suggest_delay(alerts: int, shorter: Sequence[int], *, delay: timedelta) -> DelaySuggestion | None:
    """Return the smallest delay above `delay` that drops at least half of the alerts; None if there is none.

    `shorter`: how many alerts ended in less than 1, 2, … LONGEST_DELAY_MIN minutes. An alert opens only if it
    lasts as long as the delay, so exactly these alerts would not have opened.
    """
    if alerts < FEWEST_ALERTS:
        return None
    for minutes, dropped in enumerate(shorter, start=1):
        if timedelta(minutes=minutes) > delay and dropped * 2 >= alerts:
            return DelaySuggestion(delay_min=minutes, alerts=alerts - dropped, compared=alerts)
    return None


@dataclass(frozen=True, slots=True)
class MeasuredAlert:
    """An alert from `since` until its end, or the end of the record, and its values in the base unit.

    `values` has one value for each report, in order of time.
    """

    since: datetime
    until: datetime
    values: Sequence[tuple[datetime, float]]

    @property
    def is_long(self) -> bool:
        """Whether a suggestion must keep it."""
        return self.until - self.since > _LONG

    @property
    def has_values(self) -> bool:
        """Whether a value was reported before its end."""
        return any(at < self.until for at, _ in self.values)


def suggest_threshold(
    threshold: MetricThreshold, alerts: Sequence[MeasuredAlert], *, delay: timedelta
) -> ThresholdSuggestion | None:
    """Return the first candidate that keeps each long alert and at least halves the alerts; None without any.

    A candidate keeps an alert if an alert opens during it. It is stricter than `threshold`, so it opens
    alerts only during `alerts`. `delay` is the shortest delay of the notifications. Each alert must have a
    value outside `threshold`.
    """
    if len(alerts) < FEWEST_ALERTS:
        return None
    for candidate in _candidates(threshold, alerts):
        opened = [count_openings(candidate, alert, delay) for alert in alerts]
        loses_none = all(number or not alert.is_long for number, alert in zip(opened, alerts, strict=True))
        if loses_none and sum(opened) * 2 <= len(alerts):
            return ThresholdSuggestion(
                threshold=candidate.threshold,
                units=candidate.units,
                alerts=sum(opened),
                compared=len(alerts),
            )
    return None


def count_openings(threshold: MetricThreshold, alert: MeasuredAlert, delay: timedelta) -> int:
    """Return the number of alerts that `threshold` would have opened during `alert`, with this delay."""
    operator, limit = threshold.operator, threshold.limit
    opened, since = 0, None
    for at, value in alert.values:
        outside = is_outside(operator, limit, value)
        if outside and since is None:
            since = at
        elif since is not None and not outside:
            opened, since = opened + (at - since >= delay), None
    return opened + (since is not None and alert.until - since >= delay)


def _candidates(threshold: MetricThreshold, alerts: Sequence[MeasuredAlert]) -> Iterator[MetricThreshold]:
    """Yield finite thresholds at the peaks of alerts, the closest to the current threshold first.

    The first reaches the peaks of half of the alerts. All stay within the peaks of long alerts.
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
        candidate = rounded if sign * rounded.limit < bound else exact
        if isfinite(candidate.threshold) and isfinite(candidate.limit):
            yield candidate


def _rounded(number: float, sign: int) -> float:
    """Round to three digits, away from the current threshold."""
    return float((_UP if sign > 0 else _DOWN).create_decimal_from_float(number))
