"""Conditions, limits and matchers in words for people. Pure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from alerting.configs.matchers import Matcher, MatcherOperator
from alerting.configs.rules import MetricThreshold, Threshold, ThresholdOperator
from alerting.engine.transition import ConfigView
from automation.metrics import Metric, base_unit
from automation.quantities import measured_quantity, quantity_of, readable_quantity, unit_words
from automation.units import Unit, convert
from events.types import EventType, Target
from events.wording import in_words, inner_words
from opsapi.clock import age_words

_COMPARED: Mapping[MatcherOperator, str] = {
    MatcherOperator.EQUALS: "is",
    MatcherOperator.NOT_EQUALS: "is not",
    MatcherOperator.CONTAINS: "contains",
    MatcherOperator.NOT_CONTAINS: "does not contain",
    MatcherOperator.STARTS_WITH: "starts with",
    MatcherOperator.ENDS_WITH: "ends with",
    MatcherOperator.REGEX: "matches",
}
_SIDES: Mapping[ThresholdOperator, str] = {
    ThresholdOperator.GREATER_THAN: "above",
    ThresholdOperator.LESS_THAN: "below",
}
_SIGNS: Mapping[ThresholdOperator, str] = {
    ThresholdOperator.GREATER_THAN: ">",
    ThresholdOperator.LESS_THAN: "<",
}
OPERATOR_WORDS: Mapping[str, str] = {
    operator.value: words for words_of in (_SIDES, _COMPARED) for operator, words in words_of.items()
}
"""The operators of thresholds and matchers: `above`, `starts with`."""
_COUNTED: Mapping[EventType, str] = {
    EventType.TOO_FEW_HEALTHY_MEMBERS: "Healthy members",
    EventType.TOO_MANY_UNHEALTHY_MEMBERS: "Unhealthy members",
}
_EVERYWHERE: Mapping[Target, str] = {
    Target.AGENT: "all agents",
    Target.HOST: "all hosts",
    Target.HOST_METRIC: "all hosts",
    Target.REPLICA_SET: "all replica sets",
    Target.CLUSTER: "all clusters",
    Target.GROUP: "",
}
"""The targets of a configuration without matchers; empty for the project itself."""


def condition_words(config: ConfigView, *, with_matchers: bool = True) -> str:
    """The condition of a configuration: `Connections above 900, where HOSTNAME starts with “db”`."""
    where = where_words(config.matchers) if with_matchers else ""
    return ", ".join(filter(None, (_threshold_words(config), where)))


def config_words(config: ConfigView, *, with_matchers: bool = True) -> str:
    """The name and the condition: `Too busy: Connections above 900, where HOSTNAME starts with “db”`."""
    return named_condition(config.name, condition_words(config, with_matchers=with_matchers))


def named_condition(name: str | None, condition: str) -> str:
    """The name and the condition, unless the condition begins with the name."""
    return f"{name}: {condition}" if name and not f"{condition}, ".startswith(f"{name}, ") else condition


def config_title(event_type: str, threshold: Threshold | None) -> str:
    """The condition of a configuration in a few words: `Used cache > 12 GB`, `Host down`."""
    words = in_words(event_type)
    return compared_words(_compared(EventType(event_type), threshold), threshold) if threshold else words


def compared_words(words: str, threshold: Threshold) -> str:
    return f"{words} {_SIGNS[threshold.operator]} {_limit(threshold)}"


def limit_words(threshold: Threshold) -> str:
    """On which side of a threshold a value is outside: `above 2 GB`."""
    return f"{_SIDES[threshold.operator]} {_limit(threshold)}"


def value_words(metric: Metric, value: float, threshold: MetricThreshold | None) -> str:
    """A stored value of a metric: in the threshold's units, or, where none is known, as it reads best."""
    if threshold is None:
        return quantity_of(metric, value)
    return measured_quantity(convert(value, base_unit(metric), threshold.units), threshold.units)


def _threshold_words(config: ConfigView) -> str:
    if config.threshold:
        return f"{_compared(config.event_type, config.threshold)} {limit_words(config.threshold)}"
    return in_words(config.event_type)


def _compared(event_type: EventType, threshold: Threshold) -> str:
    """The noun for the number that the threshold is compared with: `Connections`, `Healthy members`."""
    if isinstance(threshold, MetricThreshold):
        return threshold.metric.spec.words
    return _COUNTED.get(event_type, in_words(event_type))


def comparison(metric: Metric, value: float, threshold: MetricThreshold) -> str:
    """A value outside its threshold: `2 GB > 1 GB`, with enough digits to show the difference."""
    measured, limit = value_words(metric, value, threshold), _limit(threshold)
    if measured == measured_quantity(threshold.threshold, threshold.units):
        measured = _in_full(convert(value, base_unit(metric), threshold.units), threshold.units)
        limit = _in_full(threshold.threshold, threshold.units)
    return f"{measured} {_SIGNS[threshold.operator]} {limit}"


def _limit(threshold: Threshold) -> str:
    return readable_quantity(threshold.threshold, threshold.units)


def _in_full(number: float, units: Unit) -> str:
    return f"{number:,.15g} {unit_words(units)}".rstrip()


def matcher_words(matcher: Matcher) -> str:
    """A matcher in words: `HOSTNAME starts with “db”`."""
    return f"{matcher.field.value} {_COMPARED[matcher.operator]} “{matcher.value}”"


def where_words(matchers: Sequence[Matcher]) -> str:
    """The matchers of a condition: `where HOSTNAME starts with “db”`; empty without matchers."""
    return f"where {' and '.join(map(matcher_words, matchers))}" if matchers else ""


def lasting_words(condition: str, delay: timedelta) -> str:
    """A condition with the time that it lasts before somebody is notified: `Used cache > 12 GB for 5 min`."""
    return f"{condition} for {age_words(delay)}" if delay else condition


def extent_words(config: ConfigView) -> str:
    """The targets of a configuration: `all hosts`, `hostname starts with “db”`."""
    if not config.matchers:
        return _EVERYWHERE[config.event_type.spec.target]
    return " and ".join(
        f"{inner_words(matcher.field.value)} {_COMPARED[matcher.operator]} “{matcher.value}”"
        for matcher in config.matchers
    )
