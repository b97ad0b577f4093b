"""The delay, and the threshold, that would halve the alerts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from alerting.configs.rules import MetricThreshold, ThresholdOperator
from alerting.insight.suggestions import (
    LONGEST_DELAY_MIN,
    DelaySuggestion,
    MeasuredAlert,
    suggest_delay,
    suggest_threshold,
)
from automation.metrics import Metric
from automation.units import Unit
from tests.each import each

NOON = datetime(2099, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ABOVE_100 = MetricThreshold(Metric.CONNECTIONS, ThresholdOperator.GREATER_THAN, 100, Unit.RAW)
BELOW_100 = MetricThreshold(Metric.CONNECTIONS, ThresholdOperator.LESS_THAN, 100, Unit.RAW)


def suggested_delay(alerts: int, shorter: Sequence[int], delay_min: int = 0) -> int | None:
    """The suggested minutes; `shorter` continues with its last number."""
    counts = [*shorter, *[shorter[-1]] * (LONGEST_DELAY_MIN - len(shorter))]
    found = suggest_delay(alerts, counts, delay=timedelta(minutes=delay_min))
    return None if found is None else found.delay_min


@each(
    ("alerts", "shorter", "delay_min", "expected"),
    [
        (3, [3], 0, None),
        (4, [2], 0, 1),
        (4, [1, 2], 0, 2),
        (5, [2], 0, None),
        (4, [1], 0, None),
        (10, [0, 0, 0, 0, 0, 0, 0, 0, 0, 5], 0, 10),
        (4, [2], 1, 2),
        (4, [0, 0, 3], 3, 4),
        (4, [4], 10, None),
    ],
)
def test_the_smallest_delay_that_halves_is_suggested(
    alerts: int, shorter: Sequence[int], delay_min: int, expected: int | None
) -> None:
    assert suggested_delay(alerts, shorter, delay_min) == expected


def test_the_suggestion_counts_the_alerts_that_are_left() -> None:
    found = suggest_delay(9, [1, 6, *[6] * 8], delay=timedelta())
    assert found == DelaySuggestion(delay_min=2, alerts=3, compared=9)


def measured(*values: float, begin: int = 0) -> MeasuredAlert:
    """An alert with a value a minute; the last value ends it."""
    times = [NOON + (begin + place) * MINUTE for place in range(len(values))]
    return MeasuredAlert(times[0], times[-1], list(zip(times, values, strict=True)))


def short(peak: float) -> MeasuredAlert:
    return measured(peak, 50)


def long(peak: float) -> MeasuredAlert:
    return measured(*[peak] * 12, 50)


def suggested(
    alerts: Sequence[MeasuredAlert], threshold: MetricThreshold = ABOVE_100, delay: int = 0
) -> tuple[float, int] | None:
    """The threshold, and the number of alerts with it."""
    found = suggest_threshold(threshold, alerts, delay=delay * MINUTE)
    return (found.threshold, found.alerts) if found else None


@each(
    ("alerts", "expected"),
    [
        ([short(110), short(120), short(300), short(400)], (120, 2)),
        ([short(110), short(120), short(130), short(300), short(400)], (130, 2)),
        ([short(110.01), short(123.4), long(300), long(400)], (124, 2)),
        ([short(110), short(199.98), long(199.99), long(400)], (199.98, 2)),
        ([short(110), short(300), long(120), long(400)], None),
        ([short(110), short(120), long(120), long(400)], None),
        ([short(110), short(120), short(300)], None),
        ([measured(110, 50), measured(120, 50), measured(300, 115, 300, 115, 300, 50), short(400)], (300, 1)),
        ([short(110)] * 4, (110, 0)),
    ],
    ids=[
        "the lower half is dropped",
        "of an odd number the larger half is dropped",
        "it is rounded to three digits",
        "but not if that would lose a long alert",
        "a long alert with a low peak forbids it",
        "a long alert with the same peak forbids it",
        "of few alerts none is suggested",
        "an alert that would open several times counts as often",
        "all alerts are short",
    ],
)
def test_the_smallest_change_that_halves_the_alerts(
    alerts: Sequence[MeasuredAlert], expected: tuple[float, int] | None
) -> None:
    assert suggested(alerts) == expected


def test_a_lower_limit_is_lowered() -> None:
    alerts = [measured(value, 150) for value in (90, 80.06, 30, 20)]
    assert suggested(alerts, BELOW_100) == (80.0, 2)


@each("operator, sign", [(ThresholdOperator.GREATER_THAN, 1), (ThresholdOperator.LESS_THAN, -1)])
def test_a_threshold_that_a_float_cannot_hold_is_not_suggested(
    operator: ThresholdOperator, sign: int
) -> None:
    latency = MetricThreshold(Metric.DISK_PARTITION_LATENCY_READ, operator, 0, Unit.NANOSECONDS)
    assert suggested([short(sign * peak) for peak in (1e308, 1.1e308, 1.2e308, 1.3e308)], latency) is None
    some = [short(sign * peak) for peak in (1e10, 2e10, 1.2e308, 1.3e308)]
    assert suggested(some, latency) == (sign * 2e16, 2)


def test_a_threshold_is_not_rounded_to_infinity() -> None:
    assert suggested([short(1.7976e308)] * 4) == (1.7976e308, 0)


def test_a_long_alert_must_still_last_as_long_as_the_delay() -> None:
    peaked = measured(*[110] * 6, 300, *[110] * 6, 50)
    alerts = [short(150), short(160), peaked, long(400)]
    assert suggested(alerts) == (160, 2)
    assert suggested(alerts, delay=2) is None


def test_an_alert_without_end_lasts_until_the_end_of_the_dry_run() -> None:
    lasting = MeasuredAlert(NOON, NOON + 30 * MINUTE, [(NOON, 120.0)])
    assert suggested([short(110), short(115), short(300), lasting]) == (115, 2)
    assert suggested([short(130), short(140), short(300), lasting]) is None


VALUES = st.lists(st.integers(101, 120), min_size=1, max_size=15)


@given(st.lists(VALUES, min_size=4, max_size=12), st.sampled_from([0, 1, 3]))
def test_a_suggestion_halves_the_alerts_and_keeps_the_long_alerts(drawn: list[list[int]], delay: int) -> None:
    alerts = [measured(*values, 50) for values in drawn]
    found = suggest_threshold(ABOVE_100, alerts, delay=delay * MINUTE)
    if found is None:
        return
    assert found.threshold > ABOVE_100.threshold
    kept = [runs(values, found.threshold, delay) for values in drawn]
    assert sum(map(len, kept)) == found.alerts <= len(alerts) / 2
    assert all(kept[place] for place, values in enumerate(drawn) if len(values) > 10)


@given(
    st.lists(st.lists(st.integers(101, 120), min_size=1, max_size=9), min_size=4, max_size=12, unique_by=max)
)
def test_short_alerts_with_different_peaks_have_a_suggestion(drawn: list[list[int]]) -> None:
    assert suggested([measured(*values, 50) for values in drawn]) is not None


def runs(values: Sequence[int], limit: float, delay: int) -> list[Any]:
    """The lengths of the times above a limit that last as long as the delay."""
    text = "".join("x" if value > limit else " " for value in values)
    return [run for run in text.split() if len(run) >= delay]
