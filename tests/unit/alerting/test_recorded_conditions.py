"""The condition of an alert with the values that are recorded of its start."""

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator, MatchSubject
from alerting.configs.rules import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.engine.transition import ConfigView
from alerting.insight.host_reasons import NOT_RECORDED
from alerting.insight.recorded_conditions import (
    ConditionState,
    condition_detail,
    recorded_matchers,
    recorded_threshold,
)
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType

SUBJECT = MatchSubject(hostname="db1.example.com", port=27017)
ABOVE = ThresholdOperator.GREATER_THAN


def test_facts_of_the_alert_are_compared_and_the_type_of_its_host_is_not_recorded() -> None:
    name = Matcher(MatcherField.HOSTNAME, MatcherOperator.EQUALS, "DB1.example.com")
    port = Matcher(MatcherField.PORT, MatcherOperator.EQUALS, "1")
    kind = Matcher(MatcherField.TYPE_NAME, MatcherOperator.EQUALS, "PRIMARY")
    found = recorded_matchers([name, port, kind], SUBJECT)
    assert [(each.actual, each.matched) for each in found] == [
        ("db1.example.com", True),
        ("27017", False),
        (None, None),
    ]
    assert [each.found for each in found] == ["“db1.example.com”", "“27017”", NOT_RECORDED]


def test_a_value_is_shown_in_the_units_of_the_threshold() -> None:
    threshold = MetricThreshold(Metric.MEMORY_RESIDENT, ABOVE, 1, Unit.GIGABYTES)
    view = ConfigView("a" * 24, EventType.OUTSIDE_METRIC_THRESHOLD, threshold=threshold)
    kept = recorded_threshold(view, 2 * 1024**3)
    assert kept is not None
    assert (kept.value, kept.threshold.units) == (2, Unit.GIGABYTES)
    gone = recorded_threshold(view, None)
    assert gone is not None
    assert gone.value is None
    assert (kept.found, gone.found) == ("2 GB", NOT_RECORDED)


def test_the_number_of_members_is_not_recorded() -> None:
    view = ConfigView("a" * 24, EventType.TOO_FEW_HEALTHY_MEMBERS, threshold=CountThreshold(ABOVE, 2))
    found = recorded_threshold(view, None)
    assert found is not None
    assert (found.value, found.threshold.units) == (None, Unit.RAW)
    assert recorded_threshold(ConfigView("a" * 24, EventType.HOST_DOWN), None) is None


def test_each_state_of_the_condition_has_its_sentence() -> None:
    view = ConfigView("a" * 24, EventType.HOST_DOWN)
    views = {ConditionState.SAME: view, ConditionState.PERHAPS_CHANGED: view}
    details = {condition_detail(state, views.get(state)) for state in ConditionState}
    assert len(details) == len(ConditionState)
