"""What an observation does to the alert of one configuration: matching, threshold, lifecycle, in this order.

`step` is a pure function: evaluation reads the facts, calls it, and writes the result. A configuration has at
most one active alert for each target (`events.targets`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alerting.configs.matchers import Matcher, matches
from alerting.configs.rules import MetricThreshold, Threshold, ThresholdState, ThresholdVerdict
from alerting.engine.observations import Condition, Observation
from alerting.reasons import AlertReason
from automation.metrics import Metric
from events.targets import target_key
from events.types import EVENT_TYPES, EventType, Severity, severity_of


@dataclass(frozen=True, slots=True)
class ConfigView:
    """The facts of an enabled configuration for rules. `messages`: the number of its notifications.

    `is_grouped`: its alerts can join incidents. `name` is only in views of a configuration that was read
    alone.
    """

    id: str
    event_type: EventType
    matchers: Sequence[Matcher] = ()
    threshold: Threshold | None = None
    is_global: bool = False
    tags: Sequence[str] = ()
    messages: int = 1
    is_grouped: bool = False
    chosen_severity: str | None = None
    name: str = ""

    @property
    def severity(self) -> Severity:
        return severity_of(self.chosen_severity, self.event_type)

    @property
    def metric_threshold(self) -> MetricThreshold | None:
        return self.threshold if isinstance(self.threshold, MetricThreshold) else None

    @property
    def metric(self) -> Metric | None:
        """The metric that its alerts are about."""
        return self.metric_threshold.metric if self.metric_threshold else None

    def verdict(self, observation: Observation) -> ThresholdVerdict:
        """Compare the observation with the threshold; NO_DATA without a threshold."""
        if self.threshold is None:
            return ThresholdVerdict(ThresholdState.NO_DATA)
        return self.threshold.verdict(observation)


@dataclass(frozen=True, slots=True)
class AlertView:
    """The active alert of a configuration and target. Without `created`, times are not compared."""

    current_value: float | None = None
    created: datetime | None = None


class AlertAction(StrEnum):
    """The effect on the alert."""

    NOTHING = "NOTHING"
    START = "START"
    """A new alert: tracked, or open at once when nothing is delayed."""
    UPDATE = "UPDATE"
    """Store the new value of the active alert."""
    CLOSE = "CLOSE"
    CANCEL = "CANCEL"
    """End it because its target is gone."""
    NOTIFY = "NOTIFY"
    """Send a one-shot notification: there is no alert."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one configuration and observation; `value` in the metric's base unit."""

    action: AlertAction
    reason: AlertReason
    value: float | None = None


def target_of(observation: Observation, metric: Metric | None = None) -> str:
    """The target key of an alert on the observation; `metric` if the alert is about one."""
    facts = dict(observation.facts)
    if metric:
        facts["metricName"] = metric.value
    return target_key(EVENT_TYPES[observation.event_type].target, facts)


def step(config: ConfigView, observation: Observation, alert: AlertView | None) -> Decision:
    """Decide what the observation changes; `alert` is the active alert of the configuration and target."""
    # Matchers decide where an alert may start. An active alert ends with its condition, whatever has changed
    # about its target in between: a primary that comes back as a secondary is up as well.
    if alert is None and not matches(config.matchers, observation.subject):
        return Decision(AlertAction.NOTHING, AlertReason.MATCHER)
    match observation.condition:
        case Condition.HAPPENED:
            return Decision(AlertAction.NOTIFY, AlertReason.HAPPENED)
        case Condition.MEASURED:
            return _measured(config, observation, alert)
        case Condition.HOLDS:
            begins = Decision(AlertAction.START, AlertReason.HOLDS)
            return Decision(AlertAction.NOTHING, AlertReason.STILL_HOLDS) if alert else begins
        case Condition.ENDED:
            return _condition_over(observation, alert)
        case Condition.GONE:
            is_other = config.metric is not None and config.metric.value not in observation.samples
            return _end_of_alert(None if is_other else alert, AlertReason.GONE, action=AlertAction.CANCEL)


def _condition_over(observation: Observation, alert: AlertView | None) -> Decision:
    if alert and _is_older(observation, alert):
        return Decision(AlertAction.NOTHING, AlertReason.ENDED_BEFORE)
    return _end_of_alert(alert, AlertReason.ENDED)


def _is_older(observation: Observation, alert: AlertView) -> bool:
    """Whether the reporter says that it happened before the alert; reporters use whole seconds."""
    if observation.happened is None or alert.created is None:
        return False
    return observation.happened < alert.created.replace(microsecond=0)


def _measured(config: ConfigView, observation: Observation, alert: AlertView | None) -> Decision:
    verdict = config.verdict(observation)
    # The number of members decides, but it is not shown as the value of the alert.
    value = verdict.value if config.metric else None
    match verdict.state:
        case ThresholdState.NO_DATA:
            return Decision(AlertAction.NOTHING, AlertReason.METRIC_NOT_REPORTED)
        case ThresholdState.INSIDE:
            return _end_of_alert(alert, AlertReason.INSIDE_THRESHOLD, value)
        case ThresholdState.OUTSIDE:
            if alert is None:
                return Decision(AlertAction.START, AlertReason.OUTSIDE, value)
            changed = alert.current_value != value
            return Decision(
                AlertAction.UPDATE if changed else AlertAction.NOTHING, AlertReason.STILL_HOLDS, value
            )


def _end_of_alert(
    alert: AlertView | None,
    reason: AlertReason,
    value: float | None = None,
    *,
    action: AlertAction = AlertAction.CLOSE,
) -> Decision:
    if alert is None:
        return Decision(AlertAction.NOTHING, AlertReason.NO_ALERT)
    return Decision(action, reason, value)
