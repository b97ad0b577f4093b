"""Targets and starts of alerts in words for people. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from automation.agents.rules import AGENT_DOWN, HEARTBEAT_TIMEOUT
from automation.hosts.rules import UNMEASURED_TIMEOUT
from events.types import EventType
from events.wording import acting, in_words
from opsapi.clock import age_words, time_words
from opsapi.hostnames import host_and_port

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
