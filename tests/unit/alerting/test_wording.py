"""Conditions, values and targets in words."""

import pytest

from alerting.rules.matching import Matcher, MatcherField, MatcherOperator
from alerting.rules.thresholds import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.rules.wording import condition_words, number_words, quantity, target_words
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType

_ABOVE, _BELOW = ThresholdOperator.GREATER_THAN, ThresholdOperator.LESS_THAN


def test_a_condition_without_more_is_its_event_type() -> None:
    assert condition_words(EventType.HOST_DOWN) == "HOST_DOWN"


def test_it_names_every_matcher() -> None:
    matchers = [
        Matcher(MatcherField.HOSTNAME, MatcherOperator.STARTS_WITH, "pay-"),
        Matcher(MatcherField.PORT, MatcherOperator.NOT_EQUALS, "27018"),
    ]
    assert condition_words(EventType.HOST_DOWN, matchers=matchers) == (
        "HOST_DOWN, where HOSTNAME starts with “pay-” and PORT is not “27018”"
    )


@pytest.mark.parametrize("operator", list(MatcherOperator))
def test_every_operator_has_words(operator: MatcherOperator) -> None:
    words = condition_words(EventType.HOST_DOWN, matchers=[Matcher(MatcherField.HOSTNAME, operator, "<b>")])
    assert words.endswith(" “<b>”")


def test_it_holds_a_metric_against_its_limit() -> None:
    threshold = MetricThreshold(Metric.MEMORY_RESIDENT, _ABOVE, 2.5, Unit.GIGABYTES)
    words = condition_words(EventType.OUTSIDE_METRIC_THRESHOLD, metric_threshold=threshold)
    assert words == "MEMORY_RESIDENT above 2.5 gigabytes"


@pytest.mark.parametrize(
    ("event_type", "words"),
    [
        (EventType.TOO_FEW_HEALTHY_MEMBERS, "healthy members below 3"),
        (EventType.TOO_MANY_UNHEALTHY_MEMBERS, "unhealthy members below 3"),
    ],
)
def test_it_counts_members(event_type: EventType, words: str) -> None:
    assert condition_words(event_type, threshold=CountThreshold(_BELOW, 3)) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (5.0, "5"),
        (-1650.0, "-1,650"),
        (1000.5, "1,000.5"),
        (0.001, "0.001"),
        (0.0009, "0.0009"),
        (1e-9, "1e-09"),
        (999_999_999_999_999, "999,999,999,999,999"),
        (1e15, "1e+15"),
        (float("inf"), "inf"),
        (100, "100"),
    ],
)
def test_a_number_is_written_for_people(number: float, words: str) -> None:
    assert number_words(number) == words


def test_raw_numbers_have_no_units() -> None:
    assert (quantity(5, Unit.RAW), quantity(5, Unit.SECONDS)) == ("5", "5 seconds")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"hostname": "db1", "port": 27017, "sourceTypeName": "STANDALONE"}, "db1:27017"),
        ({"hostname": "agent1", "sourceTypeName": "MONITORING"}, "the MONITORING agent on agent1"),
        ({"replicaSetName": "rs0", "clusterName": "orders"}, "rs0"),
        ({"clusterName": "orders"}, "orders"),
        ({}, "the project"),
    ],
)
def test_it_names_the_target(facts: dict[str, str | int], words: str) -> None:
    assert target_words(facts) == words
