"""Alerts and events in words for people: conditions, limits, targets, and the texts of messages. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from alerting.rules.matchers import Matcher, MatcherOperator
from alerting.rules.thresholds import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.rules.transition import ConfigView
from automation.agents.rules import AGENT_DOWN, HEARTBEAT_TIMEOUT
from automation.hosts.rules import UNMEASURED_TIMEOUT
from automation.metrics import Metric, base_unit
from automation.quantities import quantity_of, readable_quantity, unit_words
from automation.units import Unit, convert
from events.types import EventType
from events.wording import acting, in_words
from integrations.choices import MessageKind
from opsapi.clock import age_words, parse_time, time_words
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
_SIGNS: Mapping[ThresholdOperator, str] = {
    ThresholdOperator.GREATER_THAN: ">",
    ThresholdOperator.LESS_THAN: "<",
}
_COUNTED: Mapping[EventType, str] = {
    EventType.TOO_FEW_HEALTHY_MEMBERS: "Healthy members",
    EventType.TOO_MANY_UNHEALTHY_MEMBERS: "Unhealthy members",
}


def condition_words(config: ConfigView, *, with_matchers: bool = True) -> str:
    """The condition of a configuration: `Connections above 900, where HOSTNAME starts with “db”`."""
    where = where_words(config.matchers) if with_matchers else ""
    return ", ".join(filter(None, (_threshold_words(config), where)))


def config_title(
    event_type: str, metric_threshold: MetricThreshold | None, threshold: CountThreshold | None
) -> str:
    """The condition of a configuration in a few words: `Used cache > 12 GB`, `Host down`."""
    words = in_words(event_type)
    if metric_threshold:
        return _compared_words(metric_threshold.metric.spec.words, metric_threshold)
    if threshold:
        return _compared_words(_COUNTED.get(EventType(event_type), words), threshold)
    return words


def _compared_words(words: str, threshold: MetricThreshold | CountThreshold) -> str:
    return f"{words} {_SIGNS[threshold.operator]} {_limit(threshold)}"


_STARTED: Mapping[EventType, str] = {
    EventType.AUTOMATION_AGENT_DOWN: "{Target} stopped reporting",
    EventType.BACKUP_AGENT_DOWN: "{Target} stopped reporting",
    EventType.MONITORING_AGENT_DOWN: "{Target} stopped reporting",
    EventType.MONITORING_AGENT_VERSION_BEHIND: "{Target} is older than another agent of the project",
    EventType.BACKUP_AGENT_VERSION_BEHIND: "{Target} is older than another agent of the project",
    EventType.OPLOG_BEHIND: "The backup of {target} fell behind its oplog",
    EventType.RESYNC_REQUIRED: "The backup of {target} needs a resync",
    EventType.INCONSISTENT_BACKUP_CONFIGURATION: "The backup configuration of {target} is inconsistent",
    EventType.BAD_CLUSTERSHOTS: "The cluster {target} has bad snapshots",
    EventType.BI_CONNECTOR_DOWN: "The BI connector of {target} is down",
    EventType.CLUSTER_MONGOS_IS_MISSING: "The cluster {target} has no mongos",
    EventType.HOST_DOWN: "The host {target} is down",
    EventType.HOST_NOT_MEASURED: "The host {target} is reachable, but not measured",
    EventType.HOST_RECOVERING: "The host {target} is recovering",
    EventType.HOST_SSL_CERTIFICATE_STALE: "The certificate of {target} is stale",
    EventType.VERSION_BEHIND: "The host {target} runs an older version than another host of the project",
    EventType.OUTSIDE_METRIC_THRESHOLD: "A value of {target} crossed its threshold",
    EventType.ORG_USERS_WITHOUT_MFA: "A user of the organization has no second factor",
    EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH: "A user of the project has no second factor",
    EventType.NO_PRIMARY: "The replica set {target} has no primary",
    EventType.MULTIPLE_PRIMARIES: "The replica set {target} has more than one primary",
    EventType.TOO_FEW_HEALTHY_MEMBERS: "The replica set {target} has too few healthy members",
    EventType.TOO_MANY_UNHEALTHY_MEMBERS: "The replica set {target} has too many unhealthy members",
}
"""What started, for each event type that opens alerts. `{Target}` starts with "the"."""


def started_words(event_type: EventType, facts: Mapping[str, Any]) -> str:
    """What started an alert, as a sentence: `The host db1:27017 is down.`"""
    target = target_words(facts)
    words = _STARTED[event_type].format(target=target, Target=target[:1].upper() + target[1:])
    return f"{words}."


def down_reason(event_type: EventType, details: Mapping[str, Any], at: datetime) -> str | None:
    """Why a host or agent counts as down or not measured, from the event that says it; None for other types.

    `at`: the time of observation. Reports have an author. The platform itself notices a heartbeat timeout.
    """
    if event_type in AGENT_DOWN.values():
        return f"No report for {age_words(HEARTBEAT_TIMEOUT)}"
    if event_type is EventType.HOST_NOT_MEASURED:
        return f"No measurement of the host for {age_words(UNMEASURED_TIMEOUT)}, while it was reachable"
    if event_type is not EventType.HOST_DOWN:
        return None
    if acting(details):
        return f"An agent observed at {time_words(at)} that it cannot reach the host"
    return f"No report of the host for {age_words(HEARTBEAT_TIMEOUT)}, while its agent kept reporting"


def limit_words(threshold: MetricThreshold | CountThreshold) -> str:
    """On which side of a threshold a value is outside: `above 2 GB`."""
    return f"{_SIDES[threshold.operator]} {_limit(threshold)}"


def value_words(metric: Metric, value: float, threshold: MetricThreshold | None) -> str:
    """A stored value of a metric: in the threshold's units, or, where none is known, as it reads best."""
    if threshold is None:
        return quantity_of(metric, value)
    return readable_quantity(convert(value, base_unit(metric), threshold.units), threshold.units)


def target_of(shown: Mapping[str, Any]) -> str | None:
    """The host, replica set or cluster of an alert or event, from its facts or document."""
    if hostname := shown.get("hostname"):
        return host_and_port(hostname, shown.get("port"))
    return shown.get("hostnameAndPort") or shown.get("replicaSetName") or shown.get("clusterName")


def target_words(facts: Mapping[str, Any]) -> str:
    """The target of an alert in words, from its facts."""
    address = target_of(facts)
    if address is None:
        return "the project"
    if facts.get("hostname") and facts.get("port") is None and facts.get("sourceTypeName"):
        return f"the {in_words(facts['sourceTypeName']).lower()} agent on {address}"
    return address


def _threshold_words(config: ConfigView) -> str:
    if config.metric_threshold:
        return f"{config.metric_threshold.metric.spec.words} {limit_words(config.metric_threshold)}"
    counted = in_words(config.event_type)
    if config.threshold:
        return f"{_COUNTED.get(config.event_type, counted)} {limit_words(config.threshold)}"
    return counted


Facts = dict[str, str]

TARGETS_NAMED = 5
"""The most alerts of an incident that a line names."""
_LASTING: Mapping[MessageKind, str] = {
    MessageKind.UPDATE: "for",
    MessageKind.CLOSE: "after",
    MessageKind.CANCEL: "after",
}
"""Messages with the duration of the alert, and the preposition."""
_TARGETS = (
    ("replicaSetName", "Replica set"),
    ("clusterName", "Cluster"),
    ("shardName", "Shard"),
    ("database", "Database"),
    ("collection", "Collection"),
)
_CONCERNED = (
    ("targetUsername", "User"),
    ("targetPublicKey", "API key"),
    ("accessListEntry", "Access list entry"),
)


def alert_headline(
    document: Mapping[str, Any], config: ConfigView | None, *, kind: MessageKind, now: datetime
) -> str:
    """The headline of an alert without its target: `Resident memory 2 GB > 1 GB`, `Host down after 12 min`.

    `config` is its configuration, None if its condition is no longer known.
    """
    words = in_words(document["eventTypeName"])
    if "metricName" in document:
        words = _metric_headline(document, config.metric_threshold if config else None)
    length = f" {_LASTING[kind]} {age_words(_length(document, now))}" if kind in _LASTING else ""
    return words + length


def alert_facts(document: Mapping[str, Any], config: ConfigView | None, *, project: str) -> Facts:
    """The facts about an alert for people, the most important first; unknown facts are left out."""
    return {
        "Alert": with_wire_name(in_words(document["eventTypeName"]), document["eventTypeName"]),
        **_measured_facts(document, config),
        **_target_facts(document),
        "Project": project,
        **_time_facts(document),
        **_acknowledgement_facts(document),
        **config_facts(config),
    }


def incident_headline(headline: str, members: int) -> str:
    """The headline of a message about several open alerts: `Host down (12 alerts)`."""
    return f"{headline} ({members} alerts)" if members > 1 else headline


def incident_facts(
    root: str | None, opened: Sequence[Mapping[str, Any]], members: int, *, has_recovered: bool
) -> Facts:
    """The facts about an incident: its root, and the targets of its open alerts.

    `opened`: the facts of the first of its `members` open alerts: TARGETS_NAMED, or all if there are fewer.
    """
    facts: Facts = {"Root": root} if root else {}
    if has_recovered and members:
        facts["Root"] = "has recovered"
    if members > 1:
        names = ", ".join(target_words(each) for each in opened[:TARGETS_NAMED])
        more = f" and {members - TARGETS_NAMED} more" if members > TARGETS_NAMED else ""
        facts["Open alerts"] = f"{members}: {names}{more}"
    return facts


def event_facts(document: Mapping[str, Any], *, project: str | None) -> Facts:
    """The facts about an event that opens no alert, for people.

    Strangers can make the platform record USER_CREATED_AUDIT, so none of its texts from them are shown.
    """
    name = document["eventTypeName"]
    facts = {"Event": with_wire_name(in_words(name), name), **_target_facts(document)}
    if name != EventType.USER_CREATED_AUDIT:
        facts |= {label: document[key] for key, label in _CONCERNED if key in document}
        facts |= {"By": by} if (by := acting(document)) else {}
    facts |= {"Project": project} if project else {}
    return {**facts, "Time": _time(document["created"])}


def facts_of_test(document: Mapping[str, Any], config: ConfigView, *, project: str | None) -> Facts:
    """The facts of a test: the configuration, who tested it, and when."""
    tested = {"Alert": with_wire_name(in_words(config.event_type), config.event_type.value)}
    known = event_facts(document, project=project)
    return {**tested, **config_facts(config), **{name: known[name] for name in known if name != "Event"}}


def config_facts(config: ConfigView | None) -> Facts:
    """The name and the condition of the configuration.

    The scope of a global configuration is shown only to its readers.
    """
    if config is None:
        return {}
    words = condition_words(config, with_matchers=not config.is_global)
    named = f"{config.name}: {words}" if config.name else words
    return {"Configuration": f"{named} (global)" if config.is_global else named}


def with_wire_name(words: str, name: str) -> str:
    """`Host down (HOST_DOWN)`."""
    return f"{words} ({name})"


def comparison(metric: Metric, value: float, threshold: MetricThreshold) -> str:
    """A value outside its threshold: `2 GB > 1 GB`, with enough digits to show the difference."""
    shown, limit = value_words(metric, value, threshold), _limit(threshold)
    if shown == limit:
        shown = _in_full(convert(value, base_unit(metric), threshold.units), threshold.units)
        limit = _in_full(threshold.threshold, threshold.units)
    return f"{shown} {_SIGNS[threshold.operator]} {limit}"


def _metric_headline(document: Mapping[str, Any], threshold: MetricThreshold | None) -> str:
    metric, value = Metric(document["metricName"]), _value(document)
    words = metric.spec.words
    if threshold is None:
        return words if value is None else f"{words} {value_words(metric, value, None)}"
    # The last value of an ended alert is inside its threshold.
    if value is None or "resolved" in document:
        return _compared_words(words, threshold)
    return f"{words} {comparison(metric, value, threshold)}"


def _measured_facts(document: Mapping[str, Any], config: ConfigView | None) -> Facts:
    facts: Facts = {}
    threshold = config.metric_threshold if config else None
    if "metricName" in document:
        metric, value = Metric(document["metricName"]), _value(document)
        facts["Metric"] = with_wire_name(metric.spec.words, metric.value)
        if value is not None:
            facts["Value"] = value_words(metric, value, threshold)
    if limit := threshold or (config and config.threshold):
        facts["Threshold"] = limit_words(limit)
    return facts


def _target_facts(document: Mapping[str, Any]) -> Facts:
    host = document.get("hostnameAndPort")
    if "hostname" in document:
        host = host_and_port(document["hostname"], document.get("port"))
    found = {label: document[name] for name, label in _TARGETS if name in document}
    return {"Host": host, **found} if host else found


def _time_facts(document: Mapping[str, Any]) -> Facts:
    facts = {"Since": _time(document["created"])}
    if "resolved" in document:
        ended = parse_time(document["resolved"])
        facts |= {"Until": time_words(ended), "Duration": age_words(_length(document, ended))}
    return facts


_TIMES = ("Since", "Until", "Duration")


def with_acknowledgement(facts: Mapping[str, str], at: datetime) -> Facts:
    """The facts about an alert with the time of its acknowledgement, after the other times."""
    before = 1 + max((place for place, name in enumerate(facts) if name in _TIMES), default=len(facts))
    known = list(facts.items())
    return dict([*known[:before], ("Acknowledged at", time_words(at)), *known[before:]])


def _acknowledgement_facts(document: Mapping[str, Any]) -> Facts:
    facts: Facts = {}
    if "acknowledgingUsername" in document:
        facts["Acknowledged by"] = document["acknowledgingUsername"]
    if "acknowledgedUntil" in document:
        facts["Acknowledged until"] = _time(document["acknowledgedUntil"])
    if "acknowledgementComment" in document:
        facts["Comment"] = document["acknowledgementComment"]
    return facts


def _value(document: Mapping[str, Any]) -> float | None:
    """In the base unit of the metric, as in documents."""
    found = document.get("currentValue")
    return float(found["number"]) if found else None


def _length(document: Mapping[str, Any], now: datetime) -> timedelta:
    ended = parse_time(document["resolved"]) if "resolved" in document else now
    return ended - parse_time(document["created"])


def _limit(threshold: MetricThreshold | CountThreshold) -> str:
    return readable_quantity(threshold.threshold, threshold.units)


def _in_full(number: float, units: Unit) -> str:
    return f"{number:,.15g} {unit_words(units)}".rstrip()


def _time(wire: str) -> str:
    return time_words(parse_time(wire))


def matcher_words(matcher: Matcher) -> str:
    """A matcher in words: `HOSTNAME starts with “db”`."""
    return f"{matcher.field.value} {_COMPARED[matcher.operator]} “{matcher.value}”"


def where_words(matchers: Sequence[Matcher]) -> str:
    """The matchers of a condition: `where HOSTNAME starts with “db”`; empty without matchers."""
    return f"where {' and '.join(map(matcher_words, matchers))}" if matchers else ""


def counted_words(number: int, noun: str) -> str:
    """For example: no alerts, 1 alert, 1,200 alerts."""
    return f"{f'{number:,}' if number else 'no'} {noun}{'' if number == 1 else 's'}"
