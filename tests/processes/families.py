"""Each family of event types: its cause, its end and its target."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from events.types import EventType
from opsapi import clock
from opsapi.clock import wire_time
from tests.api import bodies
from tests.processes.scenario import HOST, WatchedProject

Project = WatchedProject[Any]
Act = Callable[[Project], object]
Facts = Mapping[str, Any]

SET: Facts = {"replicaSetName": "rs0"}
CLUSTER: Facts = {"clusterName": "orders"}
AT_HOST: Facts = {"hostname": "db1.example.com", "port": 27017}
_OF_HOST: Facts = {"hostnameAndPort": HOST}
_OF_MEMBER: Facts = {**_OF_HOST, **SET}
_NAMESPACE: Facts = {**AT_HOST, "database": "shop", "collection": "carts", "opType": "find"}


@dataclass(frozen=True)
class FamilyRow:
    """An event type and its cause: `end` closes the alert; without `end`, the event is one-shot.

    `about` are the target fields of the alert or event; `threshold` is the threshold of the configuration.
    """

    event_type: str
    cause: Act
    end: Act | None = None
    about: Facts = field(default_factory=dict)
    threshold: Facts = field(default_factory=dict)


NEVER_PRODUCED = frozenset({"ORG_PUBLIC_API_ACCESS_LIST_NOT_REQUIRED", "ORG_PUBLIC_API_ACCESS_LIST_REQUIRED"})
"""Configurations may name them, and nothing the platform does or agents report makes one happen."""


# --- what happens ---------------------------------------------------------------------------------


def hosts(*reported: dict[str, Any], **agent: str) -> Act:
    """An agent reports these hosts."""
    return lambda scenario: scenario.send(hosts=reported, **agent)


def unmeasured(scenario: Project) -> None:
    """For five minutes an agent reaches a host and is refused."""
    for minutes in (5, 0):
        observed = wire_time(clock.now() - timedelta(minutes=minutes))
        scenario.send(hosts=[bodies.host(problem="refused")], observed=observed)


def agent(number: int, version: str, kind: str) -> Act:
    """An agent reports nothing but itself."""
    return hosts(agentType=kind, hostname=f"agent{number}", version=version)


def seen(event_type: str, facts: Facts) -> Act:
    """An agent reports what it saw."""
    return lambda scenario: scenario.send(events=[{"eventTypeName": event_type, **facts}])


def in_turn(*acts: Act) -> Act:
    """One after the other."""
    return lambda scenario: [act(scenario) for act in acts]


def member(number: int, kind: str = "SECONDARY", **changes: Any) -> dict[str, Any]:
    """A host of the replica set, in a report."""
    return bodies.host(
        hostname=f"db{number}.example.com", typeName=f"REPLICA_{kind}", replicaSetName="rs0", **changes
    )


def _add_host(scenario: Project) -> str:
    made: str = scenario.owner.post(f"{scenario.path}/hosts", AT_HOST)["id"]
    return made


def _delete_host(scenario: Project) -> None:
    scenario.owner.delete(f"{scenario.path}/hosts/{_add_host(scenario)}")


def _publish(scenario: Project) -> None:
    scenario.owner.put(f"{scenario.path}/automationConfig", bodies.automation_config())


def _make_team(scenario: Project) -> str:
    team = {"name": "on call", "usernames": ["ada@example.com"]}
    made: str = scenario.owner.post(f"/orgs/{scenario.org}/teams", team)["id"]
    return made


def _add_team(scenario: Project) -> str:
    made = _make_team(scenario)
    roles = [{"teamId": made, "roleNames": ["GROUP_READ_ONLY"]}]
    scenario.owner.post(f"{scenario.path}/teams", roles)
    return made


def _remove_team(scenario: Project) -> None:
    scenario.owner.delete(f"{scenario.path}/teams/{_add_team(scenario)}")


def _join(username: str) -> Act:
    def act(scenario: Project) -> str:
        role = {"roleName": "GROUP_READ_ONLY", "groupId": scenario.group}
        made: str = scenario.owner.post("/users", bodies.user(username=username, roles=[role]))["id"]
        return made

    return act


def _leave(username: str) -> Act:
    return lambda scenario: scenario.owner.delete(f"/users/{_join(username)(scenario)}")


def _join_org(username: str) -> Act:
    def act(scenario: Project) -> None:
        role = {"roleName": "ORG_MEMBER", "orgId": scenario.org}
        scenario.owner.post("/users", bodies.user(username=username, roles=[role]))

    return act


def _invite_to_org(scenario: Project) -> None:
    invitation = {"username": "guest@example.com", "roles": ["ORG_MEMBER"]}
    scenario.owner.post(f"/orgs/{scenario.org}/invites", invitation)


def _add_org_key(scenario: Project) -> str:
    key = {"desc": "of the organization", "roles": ["ORG_MEMBER"]}
    made: str = scenario.owner.post(f"/orgs/{scenario.org}/apiKeys", key)["id"]
    return made


def _delete_org_key(scenario: Project) -> None:
    scenario.owner.delete(f"/orgs/{scenario.org}/apiKeys/{_add_org_key(scenario)}")


def _rename_org(scenario: Project) -> None:
    scenario.owner.patch(f"/orgs/{scenario.org}", {"name": f"renamed {scenario.org}"})


def _delete_team(scenario: Project) -> None:
    scenario.owner.delete(f"/orgs/{scenario.org}/teams/{_make_team(scenario)}")


# --- the table ------------------------------------------------------------------------------------


def _pair(
    opening: str,
    closing: str,
    facts: Facts,
    about: Facts | None = None,
    *,
    known: dict[str, Any] | None = None,
) -> FamilyRow:
    """Both are seen by an agent; `known` is a host that was reported before."""
    before = hosts(known) if known else hosts()
    return FamilyRow(opening, in_turn(before, seen(opening, facts)), seen(closing, facts), about or facts)


def _once(event_type: str, facts: Facts) -> FamilyRow:
    """An agent sees it."""
    return FamilyRow(event_type, seen(event_type, facts), about=facts)


def _agent_behind(kind: str) -> FamilyRow:
    """A second agent is newer, until the first one is as new."""
    return FamilyRow(
        f"{kind}_AGENT_VERSION_BEHIND",
        in_turn(agent(1, "1.9", kind), agent(2, "1.10", kind)),
        agent(1, "1.10", kind),
        {"hostnameAndPort": "agent1"},
    )


def _turn(event_type: str, before: dict[str, Any], after: dict[str, Any]) -> FamilyRow:
    """The host is another one than it was."""
    return FamilyRow(event_type, in_turn(hosts(before), hosts(after)), about=AT_HOST)


_SHARD = bodies.host(typeName="SHARD_PRIMARY", **CLUSTER)
_DOWN: dict[str, Any] = {"reachable": False}
_PRIMARY, _SECONDARY = member(1, "PRIMARY"), member(1)
_BUSY: dict[str, Any] = {"measurements": [{"metricName": "CONNECTIONS", "number": 900}]}
_IDLE: dict[str, Any] = {"measurements": [{"metricName": "CONNECTIONS", "number": 9}]}
_FEWER_THAN_2 = {"threshold": {"operator": "LESS_THAN", "threshold": 2}}
_MORE_THAN_0 = {"threshold": {"operator": "GREATER_THAN", "threshold": 0}}
_OVER_100 = {"metricThreshold": {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 100}}

FAMILIES: Mapping[str, Sequence[FamilyRow]] = {
    "AGENT": [
        FamilyRow("NEW_AGENT", hosts(), about={"hostname": "agent1"}),
        _agent_behind("MONITORING"),
        _agent_behind("BACKUP"),
    ],
    "AUTOMATION_CONFIG": [FamilyRow("AUTOMATION_CONFIG_PUBLISHED_AUDIT", _publish)],
    "BACKUP": [
        _pair("OPLOG_BEHIND", "OPLOG_CURRENT", SET),
        _pair("RESYNC_REQUIRED", "RESYNC_PERFORMED", {**SET, "sourceTypeName": "REPLICA_SET"}),
        _pair("INCONSISTENT_BACKUP_CONFIGURATION", "CONSISTENT_BACKUP_CONFIGURATION", CLUSTER),
        _pair("BAD_CLUSTERSHOTS", "GOOD_CLUSTERSHOT", CLUSTER),
        _once("RESTORE_REQUESTED_AUDIT", SET),
        _once("CLUSTERSHOT_DELETED_AUDIT", CLUSTER),
    ],
    "BI_CONNECTOR": [_pair("BI_CONNECTOR_DOWN", "BI_CONNECTOR_UP", AT_HOST, _OF_HOST)],
    "CLUSTER": [
        _pair("CLUSTER_MONGOS_IS_MISSING", "CLUSTER_MONGOS_IS_PRESENT", CLUSTER, known=_SHARD),
        _once("SHARD_ADDED", {**CLUSTER, "shardName": "shard3"}),
    ],
    "DATA_EXPLORER": [_once("DATA_EXPLORER", _NAMESPACE), _once("DATA_EXPLORER_CRUD", _NAMESPACE)],
    "HOST": [
        FamilyRow("HOST_DOWN", hosts(member(1, **_DOWN)), hosts(_SECONDARY), _OF_MEMBER),
        FamilyRow(
            "HOST_NOT_MEASURED",
            unmeasured,
            hosts(bodies.host(measurements=[{"metricName": "CONNECTIONS", "number": 5}])),
            _OF_HOST,
        ),
        FamilyRow(
            "HOST_RECOVERING",
            hosts(bodies.host(typeName="RECOVERING")),
            hosts(bodies.host(typeName="REPLICA_SECONDARY")),
            _OF_HOST,
        ),
        FamilyRow(
            "VERSION_BEHIND",
            hosts(member(1, version="7.0.9"), member(2, version="7.0.14")),
            hosts(member(1, version="7.0.14")),
            _OF_MEMBER,
        ),
        FamilyRow(
            "OUTSIDE_METRIC_THRESHOLD",
            hosts(member(1, **_BUSY)),
            hosts(member(1, **_IDLE)),
            {**_OF_MEMBER, "metricName": "CONNECTIONS"},
            _OVER_100,
        ),
        _pair("HOST_SSL_CERTIFICATE_STALE", "HOST_SSL_CERTIFICATE_CURRENT", AT_HOST, _OF_HOST),
        FamilyRow("NEW_HOST", hosts(_PRIMARY), about=AT_HOST),
        FamilyRow("ADD_HOST_AUDIT", _add_host, about=AT_HOST),
        FamilyRow("DELETE_HOST_AUDIT", _delete_host, about=AT_HOST),
        _turn("HOST_RESTARTED", member(1, uptimeSeconds=900), member(1, uptimeSeconds=3)),
        _turn("HOST_NOW_PRIMARY", _SECONDARY, _PRIMARY),
        _turn("HOST_NOW_SECONDARY", _PRIMARY, _SECONDARY),
        _turn("HOST_NOW_STANDALONE", _SECONDARY, bodies.host(typeName="STANDALONE")),
        _turn("HOST_UPGRADED", member(1, version="7.0.9"), member(1, version="7.0.14")),
        _turn("HOST_DOWNGRADED", member(1, version="7.0.14"), member(1, version="7.0.9")),
        _once("HOST_ROLLBACK", AT_HOST),
    ],
    "REPLICA_SET": [
        FamilyRow("NO_PRIMARY", hosts(_SECONDARY), hosts(_PRIMARY), SET),
        FamilyRow("MULTIPLE_PRIMARIES", hosts(_PRIMARY, member(2, "PRIMARY")), hosts(member(2)), SET),
        FamilyRow("TOO_FEW_HEALTHY_MEMBERS", hosts(_PRIMARY), hosts(member(2)), SET, _FEWER_THAN_2),
        FamilyRow(
            "TOO_MANY_UNHEALTHY_MEMBERS",
            hosts(_PRIMARY, member(2, **_DOWN)),
            hosts(member(2)),
            SET,
            _MORE_THAN_0,
        ),
        _once("PRIMARY_ELECTED", SET),
        _once("CONFIGURATION_CHANGED", SET),
    ],
    "TEAM": [FamilyRow("TEAM_ADDED_TO_GROUP", _add_team), FamilyRow("TEAM_REMOVED_FROM_GROUP", _remove_team)],
    "USER": [
        FamilyRow(
            "JOINED_GROUP", _join("joiner@example.com"), about={"targetUsername": "joiner@example.com"}
        ),
        FamilyRow(
            "INVITED_TO_GROUP", _join("invited@example.com"), about={"targetUsername": "invited@example.com"}
        ),
        FamilyRow(
            "REMOVED_FROM_GROUP", _leave("leaver@example.com"), about={"targetUsername": "leaver@example.com"}
        ),
        FamilyRow(
            "USER_ROLES_CHANGED_AUDIT",
            _join("member@example.com"),
            about={"targetUsername": "member@example.com"},
        ),
    ],
}

OF_AN_ORGANIZATION: Sequence[FamilyRow] = (
    FamilyRow(
        "JOINED_ORG", _join_org("newcomer@example.com"), about={"targetUsername": "newcomer@example.com"}
    ),
    FamilyRow("INVITED_TO_ORG", _invite_to_org, about={"targetUsername": "guest@example.com"}),
    FamilyRow("ORG_API_KEY_ADDED", _add_org_key),
    FamilyRow("ORG_API_KEY_DELETED", _delete_org_key),
    FamilyRow("ORG_RENAMED", _rename_org),
    FamilyRow("TEAM_CREATED", _make_team),
    FamilyRow("TEAM_DELETED", _delete_team),
    FamilyRow("USER_ADDED_TO_TEAM", _make_team, about={"targetUsername": "ada@example.com"}),
)
"""One-shot events that configurations of the projects, and global configurations covering them, notify."""

REPORTED = [
    each for each in EventType if each.spec.reported and each.spec.alertable and not each.spec.global_only
]
"""What agents may report."""


# --- what has to come of it -----------------------------------------------------------------------

TARGET = ("hostnameAndPort", "replicaSetName", "clusterName", "sourceTypeName", "metricName")
TARGET_IDS = ("hostId", "clusterId")
Settle = Callable[[Project, list[str]], None]
"""Waits until exactly these kinds of messages were sent to the receiver, and no more are due."""


def condition(row: FamilyRow) -> Facts:
    """What a configuration of the project says of the row."""
    return {"eventTypeName": row.event_type, **row.threshold}


def assert_notified(scenario: Project, row: FamilyRow, settle: Settle) -> None:
    """The start and the end of a condition are notified, or a one-shot event once."""
    if row.end:
        _assert_start_and_end_are_notified(scenario, row, row.end, settle)
    else:
        _assert_notified_once(scenario, row, settle)


def _assert_start_and_end_are_notified(scenario: Project, row: FamilyRow, end: Act, settle: Settle) -> None:
    # A new configuration is compared with the latest state, and older reports must not come after it.
    settle(scenario, [])
    row.cause(scenario)
    settle(scenario, ["alert.open"])
    opened = _alert(scenario)
    assert (opened["status"], opened["eventTypeName"]) == ("OPEN", row.event_type)
    _assert_about(scenario, opened, row.about)

    end(scenario)
    settle(scenario, ["alert.open", "alert.close"])
    closed = _alert(scenario)
    assert (closed["id"], closed["status"]) == (opened["id"], "CLOSED")
    assert _target(closed) == _target(opened)
    assert [(alert["id"], alert["status"]) for alert in documents(scenario)] == [
        (closed["id"], "OPEN"),
        (closed["id"], "CLOSED"),
    ]
    _assert_logged(scenario, row.event_type, closed["id"])


def _assert_notified_once(scenario: Project, row: FamilyRow, settle: Settle) -> None:
    row.cause(scenario)
    settle(scenario, ["alert.inform"])
    (event,) = documents(scenario)
    assert (event["eventTypeName"], event["groupId"]) == (row.event_type, scenario.group)
    assert {name: event[name] for name in row.about} == row.about
    assert scenario.log().count(row.event_type) == 1
    found = scenario.owner.get(f"{scenario.path}/events/{event['id']}")
    assert found["eventTypeName"] == row.event_type
    assert scenario.alerts() == []


def assert_notified_in_and_beyond_its_project(scenario: Project, row: FamilyRow, settle: Settle) -> None:
    """An event of an organization is notified by the project's configuration and by a global one."""
    beyond = {"eventTypeName": row.event_type, "forAllGroups": False, "groupIds": [scenario.group]}
    configure_globally(scenario, **beyond)
    row.cause(scenario)
    settle(scenario, ["alert.inform"] * 2)
    first, second = documents(scenario)
    assert first == second
    assert (first["eventTypeName"], first["orgId"]) == (row.event_type, scenario.org)
    assert "groupId" not in first
    assert {name: first[name] for name in row.about} == row.about
    logged = scenario.owner.get(f"{scenario.path}/events/{first['id']}/notifications")["results"]
    assert {notification["status"] for notification in logged} == {"DELIVERED"}
    assert scenario.owner.get(f"/orgs/{scenario.org}/events/{first['id']}")["eventTypeName"] == row.event_type
    assert scenario.alerts() == []


def configure_globally(scenario: Project, **config: Any) -> str:
    """A global configuration that notifies the receivers of the project; answers its id."""
    config = {**config, "notifications": scenario.notifications()}
    made: str = scenario.owner.post("/globalAlertConfigs", config)["id"]
    return made


def kinds(scenario: Project) -> list[str]:
    """The kinds of the messages that were sent to the receiver."""
    return [request.headers["X-Ops-Event"] for request in scenario.receiver.requests]


def documents(scenario: Project) -> list[dict[str, Any]]:
    """The bodies of these messages."""
    return [json.loads(request.body) for request in scenario.receiver.requests]


def _alert(scenario: Project) -> dict[str, Any]:
    """The alert of the configuration; default configurations of the project can have further alerts."""
    (alert,) = (alert for alert in scenario.alerts() if alert["alertConfigId"] == scenario.config)
    return alert


def _target(alert: Mapping[str, Any]) -> Facts:
    return {name: alert.get(name) for name in (*TARGET, *TARGET_IDS)}


def _assert_about(scenario: Project, alert: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """The alert names only its target, with the ids that the project has for these names."""
    assert {name: alert[name] for name in TARGET if name in alert} == about
    known = scenario.owner.get(f"{scenario.path}/hosts")["results"]
    hosts = {f"{host['hostname']}:{host['port']}": host["id"] for host in known}
    assert alert.get("hostId") == hosts.get(alert.get("hostnameAndPort", ""))
    known = scenario.owner.get(f"{scenario.path}/clusters")["results"]
    clusters = {cluster["clusterName"]: cluster["id"] for cluster in known}
    assert alert.get("clusterId") == clusters.get(alert.get("clusterName", ""))


def _assert_logged(scenario: Project, event_type: str, alert_id: str) -> None:
    """The log has the beginning and the end of the alert, in this order."""
    events = scenario.owner.get(f"{scenario.path}/events")["results"]
    closing = EventType(event_type).spec.closed_by
    of_alert = [event["eventTypeName"] for event in reversed(events) if event.get("alertId") == alert_id]
    assert of_alert == [event_type, closing]
