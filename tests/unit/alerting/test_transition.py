"""What an observation does to an alert: every case of the fold."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator
from alerting.configs.rules import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.engine.observations import Condition, Observation
from alerting.engine.transition import AlertAction, AlertView, ConfigView, Decision, step, target_of
from alerting.reasons import AlertReason
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType
from tests.each import each

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
DOWN = ConfigView("config", EventType.HOST_DOWN)
ONCE = ConfigView("config", EventType.NEW_HOST)
HIGH = ConfigView(
    "config",
    EventType.OUTSIDE_METRIC_THRESHOLD,
    threshold=MetricThreshold(Metric.CONNECTIONS, ThresholdOperator.GREATER_THAN, 100, Unit.RAW),
)
FEW = ConfigView(
    "config",
    EventType.TOO_FEW_HEALTHY_MEMBERS,
    threshold=CountThreshold(ThresholdOperator.LESS_THAN, 2),
)
ACTIVE = AlertView()
FACTS = {"hostId": "h1", "hostname": "db1", "port": 27017, "typeName": "STANDALONE"}


def seen(condition: Condition, config: ConfigView = DOWN, *samples: float) -> Observation:
    """An observation of the host."""
    measured = {"CONNECTIONS": samples} if samples else {}
    return Observation(config.event_type, condition, FACTS, measured)


def counted(count: int | None) -> Observation:
    """So many healthy members."""
    return Observation(FEW.event_type, Condition.MEASURED, {"replicaSetName": "rs0"}, count=count)


@each(
    ("config", "observation", "alert", "expected"),
    [
        (DOWN, seen(Condition.HOLDS), None, Decision(AlertAction.START, AlertReason.HOLDS)),
        (DOWN, seen(Condition.HOLDS), ACTIVE, Decision(AlertAction.NOTHING, AlertReason.STILL_HOLDS)),
        (DOWN, seen(Condition.ENDED), None, Decision(AlertAction.NOTHING, AlertReason.NO_ALERT)),
        (DOWN, seen(Condition.ENDED), ACTIVE, Decision(AlertAction.CLOSE, AlertReason.ENDED)),
        (DOWN, seen(Condition.GONE), None, Decision(AlertAction.NOTHING, AlertReason.NO_ALERT)),
        (DOWN, seen(Condition.GONE), ACTIVE, Decision(AlertAction.CANCEL, AlertReason.GONE)),
        (FEW, counted(2), None, Decision(AlertAction.NOTHING, AlertReason.NO_ALERT)),
        (FEW, counted(1), None, Decision(AlertAction.START, AlertReason.OUTSIDE)),
        (FEW, counted(0), ACTIVE, Decision(AlertAction.NOTHING, AlertReason.STILL_HOLDS)),
        (FEW, counted(2), ACTIVE, Decision(AlertAction.CLOSE, AlertReason.INSIDE_THRESHOLD)),
        (FEW, counted(None), ACTIVE, Decision(AlertAction.NOTHING, AlertReason.METRIC_NOT_REPORTED)),
        (DOWN, counted(0), ACTIVE, Decision(AlertAction.NOTHING, AlertReason.METRIC_NOT_REPORTED)),
        (ONCE, seen(Condition.HAPPENED, ONCE), None, Decision(AlertAction.NOTIFY, AlertReason.HAPPENED)),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH),
            None,
            Decision(AlertAction.NOTHING, AlertReason.METRIC_NOT_REPORTED),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH),
            ACTIVE,
            Decision(AlertAction.NOTHING, AlertReason.METRIC_NOT_REPORTED),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH, 101),
            None,
            Decision(AlertAction.START, AlertReason.OUTSIDE, 101),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH, 100),
            None,
            Decision(AlertAction.NOTHING, AlertReason.NO_ALERT),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH, 101),
            ACTIVE,
            Decision(AlertAction.UPDATE, AlertReason.STILL_HOLDS, 101),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH, 101),
            AlertView(101),
            Decision(AlertAction.NOTHING, AlertReason.STILL_HOLDS, 101),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH, 100),
            ACTIVE,
            Decision(AlertAction.CLOSE, AlertReason.INSIDE_THRESHOLD, 100),
        ),
        (
            HIGH,
            seen(Condition.MEASURED, HIGH, 50, 200),
            None,
            Decision(AlertAction.START, AlertReason.OUTSIDE, 125),
        ),
    ],
)
def test_it_decides(
    config: ConfigView, observation: Observation, alert: AlertView | None, expected: Decision
) -> None:
    assert step(config, observation, alert) == expected


@each(
    ("happened", "action"),
    [
        (None, AlertAction.CLOSE),
        (NOW - timedelta(seconds=1), AlertAction.NOTHING),
        (NOW, AlertAction.CLOSE),
        (NOW + timedelta(seconds=1), AlertAction.CLOSE),
    ],
    ids=["undated", "before", "in-the-same-second", "after"],
)
def test_what_ended_before_an_alert_began_does_not_close_it(
    happened: datetime | None, action: AlertAction
) -> None:
    ended = replace(seen(Condition.ENDED), happened=happened)
    alert = AlertView(created=NOW + timedelta(milliseconds=900))
    assert step(DOWN, ended, alert).action is action
    assert step(DOWN, ended, ACTIVE).action is AlertAction.CLOSE


def test_it_leaves_alone_what_a_matcher_does_not_mean() -> None:
    matcher = Matcher(MatcherField.HOSTNAME, MatcherOperator.EQUALS, "db2")
    config = ConfigView("config", EventType.HOST_DOWN, matchers=(matcher,))
    assert step(config, seen(Condition.HOLDS), None) == Decision(AlertAction.NOTHING, AlertReason.MATCHER)


def test_an_alert_ends_with_its_condition_whatever_matchers_say_by_then() -> None:
    matcher = Matcher(MatcherField.TYPE_NAME, MatcherOperator.EQUALS, "PRIMARY")
    config = ConfigView("config", EventType.HOST_DOWN, matchers=(matcher,))
    assert step(config, seen(Condition.ENDED), ACTIVE) == Decision(AlertAction.CLOSE, AlertReason.ENDED)


def test_a_metric_has_a_target_of_its_own_on_the_same_host() -> None:
    assert (
        target_of(seen(Condition.MEASURED, HIGH, 1), Metric.CONNECTIONS)
        == '["HOST_METRIC","db1",27017,"CONNECTIONS"]'
    )
    assert target_of(seen(Condition.HOLDS)) == '["HOST","db1",27017]'
