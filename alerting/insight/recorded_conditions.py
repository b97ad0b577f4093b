"""The condition of an alert with the values that are recorded of its start. Pure.

An alert keeps the facts of its first signal except the type of the host. A value that is not recorded, or is
no longer stored, is None: the present value never replaces it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from alerting.configs.matchers import Matcher, MatcherField, MatchSubject
from alerting.configs.rules import MetricThreshold, Threshold
from alerting.configs.wording import condition_words, limit_words
from alerting.engine.transition import ConfigView
from alerting.insight.host_reasons import NOT_RECORDED, ComparedMatcher, compared_matcher
from automation.metrics import base_unit
from automation.quantities import measured_quantity
from automation.units import convert

HIDDEN_CONDITION = "The alert belongs to a global alert configuration; you need a global role to see it."


class ConditionState(StrEnum):
    """How the condition that is shown relates to the condition that opened the alert."""

    SAME = "SAME"
    PERHAPS_CHANGED = "PERHAPS_CHANGED"
    """The configuration was changed after the alert ended: the current condition is shown."""
    DELETED = "DELETED"
    """The configuration was deleted: there is no condition to show."""
    HIDDEN = "HIDDEN"
    """The configuration is global, and the reader has no global role."""


@dataclass(frozen=True, slots=True)
class RecordedThreshold:
    """The threshold, and the value that was compared with it, in its units; None if it is not recorded."""

    threshold: Threshold
    value: float | None

    @property
    def required(self) -> str:
        """For example: Connections above 900."""
        threshold = self.threshold
        measured = threshold.metric.spec.words if isinstance(threshold, MetricThreshold) else "Members"
        return f"{measured} {limit_words(threshold)}"

    @property
    def found(self) -> str:
        """For example: 1,650."""
        return NOT_RECORDED if self.value is None else measured_quantity(self.value, self.threshold.units)


_NOT_KEPT = frozenset({MatcherField.TYPE_NAME})
"""Fields of matchers whose fact an alert does not keep."""


def recorded_matchers(matchers: Sequence[Matcher], subject: MatchSubject) -> list[ComparedMatcher]:
    """Compare matchers with the facts of an alert, as evaluation did when the alert started."""
    return [
        ComparedMatcher(matcher, None, None)
        if matcher.field in _NOT_KEPT
        else compared_matcher(matcher, subject)
        for matcher in matchers
    ]


def recorded_threshold(view: ConfigView, value: float | None) -> RecordedThreshold | None:
    """The threshold of a configuration with a value in the base unit of its metric; None without it."""
    threshold = view.threshold
    if threshold is None:
        return None
    if value is None or not isinstance(threshold, MetricThreshold):
        return RecordedThreshold(threshold, None)  # An alert does not keep the number of members.
    return RecordedThreshold(threshold, convert(value, base_unit(threshold.metric), threshold.units))


def condition_detail(state: ConditionState, view: ConfigView | None) -> str:
    """The condition in words, or why it is not shown."""
    if state is ConditionState.HIDDEN:
        return HIDDEN_CONDITION
    if view is None or state is ConditionState.DELETED:
        return "The alert configuration was deleted, so its condition is not shown."
    words = condition_words(view)
    if state is ConditionState.PERHAPS_CHANGED:
        changed = "The alert configuration was changed after the alert ended; this is its current condition."
        return f"{words}. {changed}"
    return f"{words}."
