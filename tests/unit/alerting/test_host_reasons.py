"""Why a configuration alerts on a host or not: each reason, and the first reason of several."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator
from alerting.configs.rules import MetricThreshold, ThresholdOperator
from alerting.engine.observations import Condition, Observation
from alerting.engine.transition import ConfigView
from alerting.incidents.choices import AlertStatus
from alerting.insight.host_reasons import ActiveAlert, Situation, explain
from alerting.reasons import AlertReason
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType
from tests.each import each

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FACTS = {"hostId": "h1", "hostname": "db1", "port": 27017, "typeName": "STANDALONE"}
DOWN = ConfigView("config", EventType.HOST_DOWN)
NEW_HOST = ConfigView("config", EventType.NEW_HOST)
HIGH = ConfigView(
    "config",
    EventType.OUTSIDE_METRIC_THRESHOLD,
    threshold=MetricThreshold(Metric.CONNECTIONS, ThresholdOperator.GREATER_THAN, 100, Unit.RAW),
)
OTHER_HOST = Matcher(MatcherField.HOSTNAME, MatcherOperator.EQUALS, "db2")


def observed(condition: Condition, config: ConfigView = DOWN, *samples: float) -> Observation:
    """What is known of the host."""
    return Observation(config.event_type, condition, FACTS, {"CONNECTIONS": samples} if samples else {})


HOLDS = Situation(
    config=DOWN,
    delay=timedelta(0),
    enabled=True,
    observed=observed(Condition.HOLDS),
    reported=True,
    now=NOW,
)
"""The host is down: an alert opens."""
OPEN = ActiveAlert("alert", AlertStatus.OPEN, None, NOW - MINUTE)
UNCONFIRMED = ActiveAlert("alert", AlertStatus.TRACKING, None, NOW - MINUTE, is_unconfirmed=True)
MEASURED = replace(HOLDS, config=HIGH, observed=observed(Condition.MEASURED, HIGH, 101.0))
"""The host has more connections than the threshold allows."""


@each(
    ("situation", "reason"),
    [
        (HOLDS, None),
        (replace(HOLDS, alert=OPEN), None),
        (MEASURED, None),
        (replace(HOLDS, enabled=False), AlertReason.DISABLED),
        (replace(HOLDS, observed=None), AlertReason.OTHER_TARGET),
        (replace(HOLDS, reported=False), AlertReason.NOT_REPORTED),
        (replace(HOLDS, config=replace(DOWN, matchers=[OTHER_HOST])), AlertReason.MATCHER),
        (
            replace(HOLDS, config=NEW_HOST, observed=observed(Condition.HAPPENED, NEW_HOST)),
            AlertReason.NO_EVENT,
        ),
        (replace(MEASURED, observed=observed(Condition.MEASURED, HIGH)), AlertReason.METRIC_NOT_REPORTED),
        (
            replace(MEASURED, observed=observed(Condition.MEASURED, HIGH, 100.0)),
            AlertReason.INSIDE_THRESHOLD,
        ),
        (replace(HOLDS, observed=observed(Condition.ENDED)), AlertReason.CONDITION_FALSE),
        (replace(HOLDS, observed=observed(Condition.GONE)), AlertReason.CONDITION_FALSE),
        (replace(HOLDS, delay=MINUTE), AlertReason.TRACKED),
        (replace(HOLDS, alert=UNCONFIRMED), AlertReason.UNCONFIRMED),
        (replace(HOLDS, alert=UNCONFIRMED, window="w1"), AlertReason.UNCONFIRMED),
        (replace(HOLDS, window="w1"), AlertReason.MUTED),
        (replace(HOLDS, window="w1", delay=MINUTE), AlertReason.TRACKED),
        (replace(HOLDS, window="w1", enabled=False), AlertReason.DISABLED),
    ],
)
def test_the_first_reason_counts(situation: Situation, reason: AlertReason | None) -> None:
    found = explain(situation)
    assert (found.reason, found.would_alert) == (reason, reason is None)


def test_an_active_alert_stays_although_a_matcher_no_longer_matches() -> None:
    config = replace(DOWN, matchers=[OTHER_HOST])
    found = explain(replace(HOLDS, config=config, alert=OPEN))
    assert found.would_alert
    assert [compared.matched for compared in found.matchers] == [False]


def test_it_names_the_time_of_the_opening_and_the_compared_value() -> None:
    found = explain(replace(MEASURED, delay=MINUTE))
    assert (found.opens, found.value) == (NOW + MINUTE, 101.0)
    assert explain(replace(MEASURED, alert=OPEN)).opens == OPEN.opens
