"""Why an alert configuration alerts on a host now, or why it does not. Pure.

The checks run in the order of `explain`; the first check that fails is the reason. The condition itself is
decided by `engine.transition.step`, the function that evaluation uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.configs.matchers import Matcher, MatchSubject, fact_of, matches
from alerting.configs.rules import MetricThreshold
from alerting.configs.wording import condition_words, limit_words, matcher_words, value_words
from alerting.engine.observations import Condition, Observation
from alerting.engine.transition import AlertAction, AlertView, ConfigView, Decision, step
from alerting.incidents.choices import AlertStatus
from alerting.reasons import AlertReason, in_full
from events.wording import in_words
from opsapi.clock import time_words

NOT_RECORDED = "not recorded"


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
    """The active alert of the configuration on the host.

    `is_unconfirmed`: whether its delay has passed, and it waits for reports.
    """

    id: str
    status: AlertStatus
    current_value: float | None
    opens: datetime
    is_unconfirmed: bool = False


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

    reason: AlertReason | None
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
        return _no(AlertReason.DISABLED)
    if observed is None:
        return _no(AlertReason.OTHER_TARGET, event=in_words(config.event_type))
    if not situation.reported:
        return _no(AlertReason.NOT_REPORTED)
    compared = [compared_matcher(matcher, observed.subject) for matcher in config.matchers]
    # As in evaluation, matchers decide only where an alert can start.
    failed = (
        None
        if situation.alert
        else next((comparison for comparison in compared if not comparison.matched), None)
    )
    if failed is not None:
        return _no(AlertReason.MATCHER, compared, required=failed.required, found=failed.found)
    return _decided(situation, observed, compared)


def compared_matcher(matcher: Matcher, subject: MatchSubject) -> ComparedMatcher:
    """Compare a matcher with the facts of a subject."""
    return ComparedMatcher(matcher, fact_of(matcher.field, subject), matches([matcher], subject))


def _no(
    reason: AlertReason,
    compared: Sequence[ComparedMatcher] = (),
    value: float | None = None,
    **facts: str,
) -> Explanation:
    """Explain with the sentence of the reason; `facts` are the names in the sentence."""
    detail = in_full(reason.value.format(**facts))
    return Explanation(reason=reason, detail=detail, matchers=compared, value=value)


def _decided(situation: Situation, observed: Observation, compared: Sequence[ComparedMatcher]) -> Explanation:
    config, alert = situation.config, situation.alert
    if observed.condition is Condition.HAPPENED:
        if alert is None:
            return _no(AlertReason.NO_EVENT, compared, event=in_words(config.event_type))
        return _alerting(situation, alert.opens, compared, alert.current_value)
    decision = step(config, observed, AlertView(alert.current_value) if alert else None)
    value = config.verdict(observed).value
    if decision.reason is AlertReason.METRIC_NOT_REPORTED and alert is None:
        return _unmeasured(situation, compared)
    if _is_false(decision, observed):
        return _false_condition(situation, compared, value)
    opens = alert.opens if alert else situation.now + situation.delay
    return _alerting(situation, opens, compared, value)


def _is_false(decision: Decision, observed: Observation) -> bool:
    """Whether the observation ends an alert, or would if there were any."""
    ends = decision.action in {AlertAction.CLOSE, AlertAction.CANCEL}
    return ends or decision.reason is AlertReason.NO_ALERT or observed.condition is Condition.GONE


def _unmeasured(situation: Situation, compared: Sequence[ComparedMatcher]) -> Explanation:
    metric = situation.config.metric
    name = metric.spec.words if metric else "the number of members"
    if situation.measured is None:
        detail = f"The host has no measurements, so {name} is unknown."
        return Explanation(reason=AlertReason.METRIC_NOT_REPORTED, detail=detail, matchers=compared)
    measured = time_words(situation.measured)
    return _no(AlertReason.METRIC_NOT_REPORTED, compared, measured=measured, metric=name)


def _false_condition(
    situation: Situation, compared: Sequence[ComparedMatcher], value: float | None
) -> Explanation:
    config = situation.config
    limit = config.threshold
    if limit is None or value is None:
        return _no(AlertReason.CONDITION_FALSE, compared, value, event=in_words(config.event_type))
    metric, number = "the number of members", f"{value:g}"
    if isinstance(limit, MetricThreshold):
        metric, number = limit.metric.spec.words, value_words(limit.metric, value, limit)
    facts = {"metric": metric, "number": number, "limit": limit_words(limit)}
    return _no(AlertReason.INSIDE_THRESHOLD, compared, value, **facts)


def _alerting(
    situation: Situation, opens: datetime, compared: Sequence[ComparedMatcher], value: float | None
) -> Explanation:
    """The explanation of a condition that is true."""
    true = f"The condition is true: {condition_words(situation.config, with_matchers=False)}"
    is_open = situation.alert is not None and situation.alert.status is AlertStatus.OPEN
    if not is_open and opens > situation.now:
        reason, why = AlertReason.TRACKED, AlertReason.TRACKED.value.format(opens=time_words(opens))
    elif situation.alert is not None and situation.alert.is_unconfirmed:
        reason, why = AlertReason.UNCONFIRMED, AlertReason.UNCONFIRMED.value
    elif situation.window:
        reason, why = AlertReason.MUTED, AlertReason.MUTED.value.format(window=situation.window)
    elif not situation.mute_is_known:
        reason, why = AlertReason.PERHAPS_MUTED, AlertReason.PERHAPS_MUTED.value
    else:
        detail = f"{true}, and nothing mutes the alert."
        return Explanation(reason=None, detail=detail, matchers=compared, value=value, opens=opens)
    detail = f"{true}. {in_full(why)}"
    return Explanation(reason=reason, detail=detail, matchers=compared, value=value, opens=opens)
