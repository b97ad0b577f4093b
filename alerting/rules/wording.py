"""What an alert is about, in words for people: conditions, limits, targets. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from alerting.rules.matchers import Matcher, MatcherOperator
from alerting.rules.thresholds import CountThreshold, MetricThreshold, ThresholdOperator
from automation.metrics import Metric, base_unit
from automation.quantities import quantity_of, readable_quantity
from automation.units import Unit, convert
from events.types import EventType
from opsapi.hostnames import host_and_port

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
_COUNTED: Mapping[EventType, str] = {
    EventType.TOO_FEW_HEALTHY_MEMBERS: "healthy members",
    EventType.TOO_MANY_UNHEALTHY_MEMBERS: "unhealthy members",
}


def condition_words(
    event_type: EventType,
    *,
    matchers: Sequence[Matcher] = (),
    metric_threshold: MetricThreshold | None = None,
    threshold: CountThreshold | None = None,
) -> str:
    """What a configuration asks for: `CONNECTIONS above 900, where HOSTNAME starts with “db”`."""
    held = [matcher_words(matcher) for matcher in matchers]
    where = f", where {' and '.join(held)}" if held else ""
    return _threshold_words(event_type, metric_threshold, threshold) + where


def limit_words(operator: ThresholdOperator, limit: float, units: Unit) -> str:
    """On which side of a threshold a value is outside: `above 2 GB`."""
    return f"{_SIDES[operator]} {readable_quantity(limit, units)}"


def value_words(metric: Metric, value: float, threshold: MetricThreshold | None) -> str:
    """A stored value of a metric: in the threshold's units, or, where none is known, as it reads best."""
    if threshold is None:
        return quantity_of(metric, value)
    return readable_quantity(convert(value, base_unit(metric), threshold.units), threshold.units)


def target_of(shown: Mapping[str, Any]) -> str | None:
    """What it is about, from an alert's facts or document or an event's: host, replica set or cluster."""
    if hostname := shown.get("hostname"):
        return host_and_port(hostname, shown.get("port"))
    return shown.get("hostnameAndPort") or shown.get("replicaSetName") or shown.get("clusterName")


def target_words(facts: Mapping[str, Any]) -> str:
    """What an alert is about, from its facts."""
    address = target_of(facts)
    if address is None:
        return "the project"
    if facts.get("hostname") and facts.get("port") is None and facts.get("sourceTypeName"):
        return f"the {facts['sourceTypeName']} agent on {address}"
    return address


def _threshold_words(
    event_type: EventType, metric_threshold: MetricThreshold | None, threshold: CountThreshold | None
) -> str:
    if metric_threshold is not None:
        one = metric_threshold
        return f"{one.metric.value} {limit_words(one.operator, one.threshold, one.units)}"
    if threshold is not None:
        counted = _COUNTED.get(event_type, event_type.value)
        return f"{counted} {limit_words(threshold.operator, threshold.threshold, Unit.RAW)}"
    return event_type.value


def matcher_words(matcher: Matcher) -> str:
    """What a matcher asks for: `HOSTNAME starts with “db”`."""
    return f"{matcher.field.value} {_COMPARED[matcher.operator]} “{matcher.value}”"
