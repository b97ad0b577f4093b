"""Why an alert configuration alerts on a host now, or why it does not. Pure.

The checks run in the order of `explain`; the first check that fails is the reason. The condition itself is
decided by `rules.transition.step`, the function that evaluation uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from alerting.choices import AlertStatus
from alerting.rules.matchers import Matcher, MatchSubject, fact_of, matches
from alerting.rules.observations import Condition, Observation
from alerting.rules.transition import (
    AlertAction,
    AlertView,
    ConfigView,
    Decision,
    Reason,
    step,
    threshold_verdict,
)
from alerting.rules.wording import condition_words, limit_words, matcher_words, value_words
from events.wording import in_words
from opsapi.clock import time_words

NOT_RECORDED = "not recorded"


class NoAlertReason(StrEnum):
    """Why a configuration does not alert on a host."""

    DISABLED = "DISABLED"
    OTHER_TARGET = "OTHER_TARGET"
    """Its event type is not about hosts or replica sets, or the host is in no replica set."""
    NOT_REPORTED = "NOT_REPORTED"
    """No agent has reported the host."""
    MATCHER = "MATCHER"
    NO_EVENT = "NO_EVENT"
    """Only an event opens such an alert, and no event has opened an alert that is still active."""
    METRIC_NOT_REPORTED = "METRIC_NOT_REPORTED"
    INSIDE_THRESHOLD = "INSIDE_THRESHOLD"
    CONDITION_FALSE = "CONDITION_FALSE"
    TRACKED = "TRACKED"
    """The condition is true, and the smallest delayMin has not passed."""
    MUTED = "MUTED"
    """The alert is open, and a maintenance window mutes it."""
    PERHAPS_MUTED = "PERHAPS_MUTED"
    """The alert is open, and comparing it with all maintenance windows takes too long."""


@dataclass(frozen=True, slots=True)
class ComparedMatcher:
    """A matcher, the value that it was compared with, and the result; None if the value is not recorded."""

    matcher: Matcher
    actual: str | None
    matched: bool | None

    @property
    def required(self) -> str:
        """For example: HOSTNAME starts with “db”."""
        return matcher_words(self.matcher)

    @property
    def found(self) -> str:
        """For example: “db1.example.com”."""
        return NOT_RECORDED if self.actual is None else f"“{self.actual}”"


@dataclass(frozen=True, slots=True)
class ActiveAlert:
    """The active alert of the configuration on the host."""

    id: str
    status: AlertStatus
    current_value: float | None
    opens: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The facts that `explain` decides with.

    `delay`: the shortest delay of the notifications. `observed`: what is known of the host or of its replica
    set for the event type of the configuration; None if the event type is about something else. `measured`:
    the time of the newest measurements of the host. `window`: the name of the maintenance window that mutes
    the alert. `mute_is_known`: whether the alert was compared with all windows.
    """

    config: ConfigView
    delay: timedelta
    enabled: bool
    observed: Observation | None
    reported: bool
    measured: datetime | None = None
    alert: ActiveAlert | None = None
    window: str | None = None
    mute_is_known: bool = True
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Whether the configuration alerts; otherwise `reason` says why not. `detail` is a sentence.

    `value`: the measured value or the counted members, compared with the threshold. `opens`: when the alert
    opens if its condition stays true.
    """

    reason: NoAlertReason | None
    detail: str
    matchers: Sequence[ComparedMatcher] = ()
    value: float | None = None
    opens: datetime | None = None

    @property
    def would_alert(self) -> bool:
        """Whether an alert is open, or would open now, and no maintenance window mutes it."""
        return self.reason is None


def explain(situation: Situation) -> Explanation:
    """Return the first reason why the configuration does not alert now, or that it does."""
    config, observed = situation.config, situation.observed
    if not situation.enabled:
        return _no(NoAlertReason.DISABLED, "The configuration is disabled.")
    if observed is None:
        return _no(NoAlertReason.OTHER_TARGET, f"“{in_words(config.event_type)}” is not about this host.")
    if not situation.reported:
        return _no(NoAlertReason.NOT_REPORTED, "No agent has reported the host.")
    compared = [compared_matcher(matcher, observed.subject) for matcher in config.matchers]
    # As in evaluation, matchers decide only where an alert can start.
    failed = None if situation.alert else next((each for each in compared if not each.matched), None)
    if failed is not None:
        detail = f"The matcher requires: {matcher_words(failed.matcher)}. The host has {failed.found}."
        return _no(NoAlertReason.MATCHER, detail, compared)
    return _decided(situation, observed, compared)


def compared_matcher(matcher: Matcher, subject: MatchSubject) -> ComparedMatcher:
    """Compare a matcher with the facts of a subject."""
    return ComparedMatcher(matcher, fact_of(matcher.field, subject), matches([matcher], subject))


def _no(
    reason: NoAlertReason, detail: str, compared: Sequence[ComparedMatcher] = (), value: float | None = None
) -> Explanation:
    return Explanation(reason=reason, detail=detail, matchers=compared, value=value)


def _decided(situation: Situation, observed: Observation, compared: Sequence[ComparedMatcher]) -> Explanation:
    config, alert = situation.config, situation.alert
    if observed.condition is Condition.HAPPENED:
        if alert is None:
            detail = (
                f"An alert opens when the event “{in_words(config.event_type)}” is recorded for the host."
            )
            return _no(NoAlertReason.NO_EVENT, detail, compared)
        return _alerting(situation, alert.opens, compared, alert.current_value)
    decision = step(config, observed, AlertView(alert.current_value) if alert else None)
    value = threshold_verdict(config, observed).value
    if decision.reason is Reason.NOT_MEASURED and alert is None:
        return _no(NoAlertReason.METRIC_NOT_REPORTED, _unmeasured(situation), compared)
    if _is_false(decision, observed):
        return _no(*_false_condition(situation, value), compared, value)
    opens = alert.opens if alert else situation.now + situation.delay
    return _alerting(situation, opens, compared, value)


def _is_false(decision: Decision, observed: Observation) -> bool:
    """Whether the observation ends an alert, or would if there were any."""
    ends = decision.action in {AlertAction.CLOSE, AlertAction.CANCEL}
    return ends or decision.reason is Reason.NO_ALERT or observed.condition is Condition.GONE


def _unmeasured(situation: Situation) -> str:
    threshold = situation.config.metric_threshold
    name = threshold.metric.spec.words if threshold else "the number of members"
    if situation.measured is None:
        return f"The host has no measurements, so {name} is unknown."
    return f"The newest measurements, of {time_words(situation.measured)}, do not contain {name}."


def _false_condition(situation: Situation, value: float | None) -> tuple[NoAlertReason, str]:
    config = situation.config
    if (threshold := config.metric_threshold) and value is not None:
        shown = value_words(threshold.metric, value, threshold)
        detail = f"{threshold.metric.spec.words} is {shown}, which is not {limit_words(threshold)}."
        return NoAlertReason.INSIDE_THRESHOLD, detail
    if config.threshold and value is not None:
        detail = f"The number of members is {value:g}, which is not {limit_words(config.threshold)}."
        return NoAlertReason.INSIDE_THRESHOLD, detail
    return (
        NoAlertReason.CONDITION_FALSE,
        f"The condition “{in_words(config.event_type)}” is false for the host.",
    )


def _alerting(
    situation: Situation, opens: datetime, compared: Sequence[ComparedMatcher], value: float | None
) -> Explanation:
    """The explanation of a condition that is true."""
    true = f"The condition is true: {condition_words(situation.config, with_matchers=False)}"
    is_open = situation.alert is not None and situation.alert.status is AlertStatus.OPEN
    if not is_open and opens > situation.now:
        detail = f"{true}. An alert opens at {time_words(opens)} if it stays true."
        reason: NoAlertReason | None = NoAlertReason.TRACKED
    elif situation.window:
        detail = f"{true}. Maintenance window {situation.window} mutes the alert."
        reason = NoAlertReason.MUTED
    elif not situation.mute_is_known:
        detail = f"{true}. Comparing the alert with all maintenance windows takes too long."
        reason = NoAlertReason.PERHAPS_MUTED
    else:
        detail, reason = f"{true}, and nothing mutes the alert.", None
    return Explanation(reason=reason, detail=detail, matchers=compared, value=value, opens=opens)
