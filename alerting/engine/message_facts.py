"""The headlines and facts of messages, in words for people. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from alerting.configs.rules import MetricThreshold
from alerting.configs.wording import _compared_words, comparison, config_words, limit_words, value_words
from alerting.engine.transition import ConfigView
from alerting.incidents.wording import target_words
from automation.metrics import Metric
from events.types import EventType
from events.wording import acting, in_words
from integrations.choices import MessageKind
from opsapi.clock import age_words, parse_time, time_words
from opsapi.hostnames import host_and_port

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
    words = config_words(config, with_matchers=not config.is_global)
    return {"Configuration": f"{words} (global)" if config.is_global else words}


def with_wire_name(words: str, name: str) -> str:
    """`Host down (HOST_DOWN)`."""
    return f"{words} ({name})"


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


def _time(wire: str) -> str:
    return time_words(parse_time(wire))
