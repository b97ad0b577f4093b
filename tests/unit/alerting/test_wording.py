"""Conditions, values and targets in words."""

from datetime import UTC, datetime
from typing import cast

import pytest

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator
from alerting.configs.rules import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.configs.wording import (
    condition_words,
    config_title,
    limit_words,
    named_condition,
    value_words,
)
from alerting.engine.transition import ConfigView
from alerting.insight.timeline_events import _STARTED, down_reason, started_words
from automation.metrics import Metric
from automation.units import Unit
from events.types import EVENT_TYPES, AlertEffect, EventType
from events.wording import target_words
from tests.each import each

_ABOVE, _BELOW = ThresholdOperator.GREATER_THAN, ThresholdOperator.LESS_THAN


def test_a_condition_without_more_is_its_event_type() -> None:
    assert condition_words(ConfigView("c", EventType.HOST_DOWN)) == "Host down"


def test_it_names_every_matcher() -> None:
    matchers = [
        Matcher(MatcherField.HOSTNAME, MatcherOperator.STARTS_WITH, "pay-"),
        Matcher(MatcherField.PORT, MatcherOperator.NOT_EQUALS, "27018"),
    ]
    config = ConfigView("c", EventType.HOST_DOWN, matchers)
    assert condition_words(config) == "Host down, where HOSTNAME starts with “pay-” and PORT is not “27018”"
    assert condition_words(config, with_matchers=False) == "Host down"


@each("operator", list(MatcherOperator))
def test_every_operator_has_words(operator: MatcherOperator) -> None:
    config = ConfigView("c", EventType.HOST_DOWN, [Matcher(MatcherField.HOSTNAME, operator, "<b>")])
    assert condition_words(config).endswith(" “<b>”")


def test_every_threshold_operator_has_words_of_its_own() -> None:
    words = {limit_words(CountThreshold(operator, 3)) for operator in ThresholdOperator}
    assert len(words) == len(ThresholdOperator)


def test_a_threshold_operator_without_words_is_an_error() -> None:
    with pytest.raises(KeyError):
        limit_words(CountThreshold(cast(ThresholdOperator, "EQUALS"), 3))


def test_it_holds_a_metric_against_its_limit() -> None:
    threshold = MetricThreshold(Metric.MEMORY_RESIDENT, _ABOVE, 2.5, Unit.GIGABYTES)
    config = ConfigView("c", EventType.OUTSIDE_METRIC_THRESHOLD, threshold=threshold)
    assert condition_words(config) == "Resident memory above 2.5 GB"


@each(
    ("event_type", "words"),
    [
        (EventType.TOO_FEW_HEALTHY_MEMBERS, "Healthy members below 3"),
        (EventType.TOO_MANY_UNHEALTHY_MEMBERS, "Unhealthy members below 3"),
    ],
)
def test_it_counts_members(event_type: EventType, words: str) -> None:
    assert condition_words(ConfigView("c", event_type, threshold=CountThreshold(_BELOW, 3))) == words


def test_a_value_is_in_the_units_of_its_threshold_or_as_it_reads_best() -> None:
    threshold = MetricThreshold(Metric.MEMORY_RESIDENT, _ABOVE, 2.5, Unit.KILOBYTES)
    assert value_words(Metric.MEMORY_RESIDENT, 3 * 2**20, threshold) == "3,072 KB"
    assert value_words(Metric.MEMORY_RESIDENT, 3 * 2**20, None) == "3 MB"


@each(
    ("facts", "words"),
    [
        ({"hostname": "db1", "port": 27017, "sourceTypeName": "STANDALONE"}, "db1:27017"),
        ({"hostname": "agent1", "sourceTypeName": "MONITORING"}, "the monitoring agent on agent1"),
        ({"replicaSetName": "rs0", "clusterName": "orders"}, "rs0"),
        ({"clusterName": "orders"}, "orders"),
        ({}, "the project"),
    ],
)
def test_it_names_the_target(facts: dict[str, str | int], words: str) -> None:
    assert target_words(facts) == words


@each(
    ("config", "title"),
    [
        (ConfigView("c", EventType.HOST_DOWN), "Host down"),
        (
            ConfigView(
                "c",
                EventType.OUTSIDE_METRIC_THRESHOLD,
                threshold=MetricThreshold(Metric.CACHE_USED_BYTES, _ABOVE, 12, Unit.GIGABYTES),
            ),
            "Used cache > 12 GB",
        ),
        (
            ConfigView("c", EventType.TOO_FEW_HEALTHY_MEMBERS, threshold=CountThreshold(_BELOW, 3)),
            "Healthy members < 3",
        ),
    ],
)
def test_a_configuration_is_called_by_its_condition(config: ConfigView, title: str) -> None:
    assert config_title(config.event_type, config.threshold) == title


def test_every_event_type_that_opens_alerts_says_what_started() -> None:
    opening = {name for name, spec in EVENT_TYPES.items() if spec.kind is AlertEffect.OPENING}
    assert set(_STARTED) == opening
    for event_type in opening:
        said = started_words(event_type, {"hostname": "{target}", "port": 27017})
        assert said.endswith(".")
        assert event_type.value not in said


_AT = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)


@each(
    ("event_type", "details", "words"),
    [
        (
            EventType.HOST_DOWN,
            {"publicKey": "k3yp7b"},
            "An agent observed at 2026-11-21 07:26:14Z that it cannot reach the host",
        ),
        (EventType.HOST_DOWN, {}, "No report of the host for 4 min, while its agent kept reporting"),
        (EventType.MONITORING_AGENT_DOWN, {}, "No report for 4 min"),
        (EventType.NO_PRIMARY, {}, None),
        (
            EventType.HOST_NOT_MEASURED,
            {},
            "No measurement of the host for 4 min, while it was reachable",
        ),
    ],
)
def test_it_says_whether_a_host_was_reported_down_or_not_reported(
    event_type: EventType, details: dict[str, str], words: str | None
) -> None:
    assert down_reason(event_type, details, _AT) == words


@each(
    ("name", "condition", "words"),
    [
        (None, "Host down", "Host down"),
        ("Host down", "Host down", "Host down"),
        ("Host down", "Host down, where TYPE_NAME is MONGOS", "Host down, where TYPE_NAME is MONGOS"),
        ("Host", "Host down", "Host: Host down"),
    ],
)
def test_a_name_is_not_repeated_by_its_condition(name: str | None, condition: str, words: str) -> None:
    assert named_condition(name, condition) == words
