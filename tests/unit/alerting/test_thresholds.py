"""Thresholds: the boundary belongs to the inside, samples are averaged, units are converted."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.configs.rules import (
    CountThreshold,
    MetricThreshold,
    ThresholdOperator,
    ThresholdState,
    ThresholdVerdict,
)
from alerting.engine.observations import Condition, Observation
from automation.metrics import Metric
from automation.units import Unit, UnitsMismatch
from events.types import EventType
from tests.each import each

GREATER, LESS = ThresholdOperator.GREATER_THAN, ThresholdOperator.LESS_THAN
OUTSIDE, INSIDE, NO_DATA = ThresholdState.OUTSIDE, ThresholdState.INSIDE, ThresholdState.NO_DATA


def connections(operator: ThresholdOperator, threshold: float) -> MetricThreshold:
    """Make a threshold on a metric without units."""
    return MetricThreshold(Metric.CONNECTIONS, operator, threshold, Unit.RAW)


@each(
    ("operator", "samples", "state", "value"),
    [
        (GREATER, [10.000001], OUTSIDE, 10.000001),
        (GREATER, [10], INSIDE, 10),
        (GREATER, [9.999999], INSIDE, 9.999999),
        (LESS, [9.999999], OUTSIDE, 9.999999),
        (LESS, [10], INSIDE, 10),
        (LESS, [10.000001], INSIDE, 10.000001),
        (GREATER, [0, 30], OUTSIDE, 15),
        (GREATER, [0, 20], INSIDE, 10),
        (LESS, [-5, 5], OUTSIDE, 0),
        (GREATER, [1.7e308, 1.7e308], OUTSIDE, 1.7e308),
        (GREATER, [], NO_DATA, None),
        (LESS, [], NO_DATA, None),
    ],
)
def test_it_judges_the_mean_of_the_samples(
    operator: ThresholdOperator, samples: list[float], state: ThresholdState, value: float | None
) -> None:
    assert connections(operator, 10).verdict_on(samples) == ThresholdVerdict(state, value)


@each(
    ("metric", "threshold", "units", "sample", "state"),
    [
        (Metric.MEMORY_RESIDENT, 2, Unit.GIGABYTES, 2 * 1024**3, INSIDE),
        (Metric.MEMORY_RESIDENT, 2, Unit.GIGABYTES, 2 * 1024**3 + 1, OUTSIDE),
        (Metric.OPLOG_MASTER_TIME, 1, Unit.HOURS, 3600, INSIDE),
        (Metric.OPLOG_MASTER_TIME, 1, Unit.HOURS, 3600.5, OUTSIDE),
        (Metric.OP_EXECUTION_TIME_READS, 0.3, Unit.SECONDS, 300, INSIDE),
        (Metric.OP_EXECUTION_TIME_READS, 0.3, Unit.SECONDS, 300.1, OUTSIDE),
    ],
)
def test_it_compares_in_base_units(
    metric: Metric, threshold: float, units: Unit, sample: float, state: ThresholdState
) -> None:
    assert MetricThreshold(metric, GREATER, threshold, units).verdict_on([sample]).state is state


def test_it_refuses_units_of_another_family() -> None:
    with pytest.raises(UnitsMismatch):
        MetricThreshold(Metric.CONNECTIONS, GREATER, 1, Unit.BYTES).verdict_on([1])


def members(count: int | None) -> Observation:
    """A replica set with this number of healthy members."""
    return Observation(EventType.TOO_FEW_HEALTHY_MEMBERS, Condition.MEASURED, {}, count=count)


@each(
    ("operator", "count", "state"),
    [
        (LESS, 1, OUTSIDE),
        (LESS, 2, INSIDE),
        (LESS, 3, INSIDE),
        (GREATER, 1, INSIDE),
        (GREATER, 2, INSIDE),
        (GREATER, 3, OUTSIDE),
        (LESS, 0, OUTSIDE),
        (GREATER, None, NO_DATA),
    ],
)
def test_it_judges_member_counts(
    operator: ThresholdOperator, count: int | None, state: ThresholdState
) -> None:
    assert CountThreshold(operator, 2).verdict(members(count)) == ThresholdVerdict(state, count)


def test_every_operator_judges_in_its_own_way() -> None:
    ways = {
        tuple(connections(operator, 10).verdict_on([value]).state for value in (9, 10, 11))
        for operator in ThresholdOperator
    }
    assert len(ways) == len(ThresholdOperator)


def test_an_operator_that_nobody_taught_it_is_an_error() -> None:
    with pytest.raises(AssertionError):
        connections(cast(ThresholdOperator, "EQUALS"), 10).verdict_on([9])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_the_value_evaluated_lies_among_the_samples(samples: list[float]) -> None:
    value = connections(GREATER, 0).verdict_on(samples).value
    assert value is not None
    slack = 1e-9 * max(abs(min(samples)), abs(max(samples)))
    assert min(samples) - slack <= value <= max(samples) + slack
