"""Which measurements are shown around an alert."""

from datetime import UTC, datetime, timedelta

from alerting.configs.rules import MetricThreshold, ThresholdOperator
from alerting.insight.measurement_spans import (
    LONGEST,
    MARGIN,
    MOST_POINTS,
    Span,
    in_units,
    metric_shown,
    window_span,
)
from automation.metrics import Metric
from automation.units import Unit
from tests.each import each

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


@each(
    ("created", "resolved", "span"),
    [
        (NOW - HOUR, None, Span(NOW - HOUR - MARGIN, NOW)),
        (NOW - 2 * HOUR, NOW - HOUR, Span(NOW - 2 * HOUR - MARGIN, NOW - HOUR + MARGIN)),
        (NOW - HOUR, NOW - SECOND, Span(NOW - HOUR - MARGIN, NOW)),
        (NOW - LONGEST + MARGIN, None, Span(NOW - LONGEST, NOW)),
        (NOW - LONGEST + MARGIN - SECOND, None, Span(NOW - LONGEST, NOW, cut=True)),
    ],
    ids=["running", "over", "just over", "as long as may be", "longer"],
)
def test_it_reaches_from_before_the_alert_to_after_it(
    created: datetime, resolved: datetime | None, span: Span
) -> None:
    assert window_span(created, resolved, NOW) == span


@each("length", [timedelta(), SECOND, MARGIN, HOUR, LONGEST])
def test_its_buckets_are_few_enough(length: timedelta) -> None:
    span = Span(NOW, NOW + length)
    assert span.bucket >= SECOND
    # The bucket at the end may be a started one; each has two points.
    assert (length // span.bucket + 1) * 2 <= MOST_POINTS


@each(
    ("alert_metric", "measured", "shown"),
    [
        ("SWAP_USAGE_USED", ["CONNECTIONS"], Metric.SWAP_USAGE_USED),
        (None, ["SWAP_USAGE_USED", "CONNECTIONS"], Metric.CONNECTIONS),
        (None, ["SWAP_USAGE_USED", "ASSERT_MSG"], Metric.ASSERT_MSG),
        (None, [], None),
    ],
)
def test_it_takes_the_alerts_metric_or_a_metric_of_load(
    alert_metric: str | None, measured: list[str], shown: Metric | None
) -> None:
    assert metric_shown(alert_metric, measured) == shown


def test_points_are_in_the_units_of_the_threshold() -> None:
    threshold = MetricThreshold(Metric.MEMORY_RESIDENT, ThresholdOperator.GREATER_THAN, 2, Unit.GIGABYTES)
    found = in_units(Metric.MEMORY_RESIDENT, Span(NOW, NOW), [(NOW, 2**30), (NOW + SECOND, 2**32)], threshold)
    assert found.points == ((NOW, 1.0), (NOW + SECOND, 4.0))
    assert found.words == ("Resident memory: lowest 1 GB, highest 4 GB, last 4 GB. Threshold: above 2 GB.")


def test_shares_stay_in_percent() -> None:
    threshold = MetricThreshold(Metric.CONNECTIONS_PERCENT, ThresholdOperator.GREATER_THAN, 80, Unit.PERCENT)
    found = in_units(Metric.CONNECTIONS_PERCENT, Span(NOW, NOW), [(NOW, 82.5)], threshold)
    assert (found.points, found.units) == (((NOW, 82.5),), Unit.PERCENT)
    assert found.words == (
        "Connections in use: lowest 82.5 %, highest 82.5 %, last 82.5 %. Threshold: above 80 %."
    )


def test_without_a_threshold_they_are_as_they_were_stored() -> None:
    found = in_units(Metric.CONNECTIONS, Span(NOW, NOW), [(NOW, 5.0)], None)
    assert (found.units, found.threshold) == (Unit.RAW, None)
    assert found.words == "Connections: lowest 5, highest 5, last 5."


def test_it_says_when_nothing_was_measured() -> None:
    assert "no measurements" in in_units(Metric.CONNECTIONS, Span(NOW, NOW), [], None).words
