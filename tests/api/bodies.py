"""Valid bodies, each created from nothing; `changes` replace fields, None takes one away."""

from typing import Any

SECRET = "s3cret-Value-0123456789-Zx9q"
"""The value of every field that can hold a secret."""

ODD_NAMES = [
    "a b",
    "a/b",
    "/a",
    "a/",
    "a//b/",
    "/",
    "100 %",
    "%2F",
    "50%25",
    "é/ü?#&=+",
    "日本語",
    "byName",
    "groups",
    "a;b:c@d",
    "...",
    "x" * 200,
]
"""Names that a path has to hold, escaped or not."""


def _with(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**document, **changes}.items() if value is not None}


def user(**changes: Any) -> dict[str, Any]:
    """What endpoint 5 takes."""
    document = {
        "username": "ada@example.com",
        "password": "correct horse battery",
        "firstName": "Ada",
        "lastName": "Lovelace",
    }
    return _with(document, changes)


HOST_ID = "4057" + "0" * 20
"""The host of the tests, for bodies that name a host by its id."""

TEAM_ID = "7ea7" + "0" * 20
"""The team of the tests: bodies name teams by their id."""

COLLEAGUE = "grace@example.com"
"""Somebody who is in no team yet."""


def team(**changes: Any) -> dict[str, Any]:
    """What makes a team."""
    return _with({"name": "on call", "usernames": [COLLEAGUE]}, changes)


def invitation(*roles: str, **changes: Any) -> dict[str, Any]:
    """What invites by a link."""
    return _with({"roles": list(roles or ["GROUP_READ_ONLY"])}, changes)


def team_roles(*roles: str, **changes: Any) -> list[dict[str, Any]]:
    """What gives the team of the tests roles in a project."""
    return [_with({"teamId": TEAM_ID, "roleNames": list(roles or ("GROUP_READ_ONLY",))}, changes)]


def org(**changes: Any) -> dict[str, Any]:
    """What makes or renames an organization."""
    return _with({"name": "finance"}, changes)


def group(**changes: Any) -> dict[str, Any]:
    """What makes a project."""
    return _with({"name": "payments"}, changes)


def api_key(**changes: Any) -> dict[str, Any]:
    """What makes a key of a project."""
    return _with({"desc": "for a script", "roles": ["GROUP_READ_ONLY"]}, changes)


def entry(**changes: Any) -> dict[str, Any]:
    """What makes an entry of the global access list."""
    return _with({"cidrBlock": "198.51.100.0/24", "description": "office"}, changes)


def email(**changes: Any) -> dict[str, Any]:
    """A notification by e-mail."""
    return _with({"typeName": "EMAIL", "emailAddress": "oncall@example.com"}, changes)


def webhook(**changes: Any) -> dict[str, Any]:
    """A notification by webhook, with secrets in both fields that hold one."""
    url = f"https://hooks.example.com/in/{SECRET}"
    return _with({"typeName": "WEBHOOK", "webhookUrl": url, "webhookSecret": SECRET}, changes)


def alert_config(**changes: Any) -> dict[str, Any]:
    """What makes an alert configuration."""
    return _with({"eventTypeName": "HOST_DOWN", "notifications": [email()]}, changes)


def global_alert_config(**changes: Any) -> dict[str, Any]:
    """What makes a global alert configuration, on what the tests' projects never see."""
    return _with(alert_config(eventTypeName="BACKUP_AGENT_DOWN", forAllGroups=True), changes)


def metric_config(**threshold: Any) -> dict[str, Any]:
    """What makes a configuration on a metric; `threshold` are changes to its metricThreshold."""
    wanted = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 100}
    return alert_config(eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=_with(wanted, threshold))


def presets(*names: str, engine: str = "MONGODB") -> dict[str, Any]:
    """What makes presets of an engine; without names all of them."""
    return {"engine": engine, **({"presets": list(names)} if names else {})}


def scraper(**changes: Any) -> dict[str, Any]:
    """What makes a SCRAPER integration, with a secret where it has one."""
    return _with({"username": "scraper", "password": SECRET}, changes)


def agent_settings(**changes: Any) -> dict[str, Any]:
    """What makes the settings that a project keeps for its agents, with a secret wherever they have one."""
    mongodb, postgresql = f"mongodb://ada:{SECRET}@db1", f"postgresql://ada:{SECRET}@db2"
    return _with({"mongodb": [mongodb], "postgresql": [postgresql]}, changes)


def window(**changes: Any) -> dict[str, Any]:
    """What makes a maintenance window, to come in any run of the tests."""
    document = {
        "alertTypeNames": ["HOST", "REPLICA_SET"],
        "startDate": "2099-11-28T22:00:00Z",
        "endDate": "2099-11-29T02:00:00Z",
        "description": "new disks",
    }
    return _with(document, changes)


def question(**changes: Any) -> dict[str, Any]:
    """Asks whether a configuration alerts on the host of the tests."""
    return _with({"hostId": HOST_ID}, changes)


def dry_run(config: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Asks what a configuration would have done on the last day."""
    return _with({"config": config or alert_config(), "period": "P1D"}, changes)


def new_host(**changes: Any) -> dict[str, Any]:
    """What makes a host."""
    return _with({"hostname": "db2.example.com", "port": 27017}, changes)


def host(**changes: Any) -> dict[str, Any]:
    """A host in a report."""
    document = {"hostname": "db1.example.com", "port": 27017, "typeName": "STANDALONE", "reachable": True}
    return _with(document, changes)


def turn(**changes: Any) -> dict[str, Any]:
    """A request for the turn of the process of the automation configuration."""
    document = {
        "hostname": "db1.example.com",
        "process": "orders_1",
        "move": "RESTART",
        "requestId": "asked",
    }
    return _with(document, changes)


def observations(**changes: Any) -> dict[str, Any]:
    """Observations of the member of the automation configuration."""
    document = {
        "hostname": "db9.example.com",
        "goalVersion": 2,
        "replicaSetName": "stock",
        "processes": [{"name": "stock_1", "running": True, "state": "SECONDARY"}],
    }
    return _with(document, changes)


def report(*hosts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A report of a monitoring agent."""
    document = {
        "agentType": "MONITORING",
        "hostname": "agent1.example.com",
        "version": "1.0",
        "hosts": list(hosts),
    }
    return _with(document, changes)


def automation_config(**changes: Any) -> dict[str, Any]:
    """The first automation configuration of a project: a process on the host of reports, and a member."""
    process = {
        "name": "orders_1",
        "hostname": "db1.example.com",
        "args2_6": {"net": {"port": 27017}},
        "authSchemaVersion": 5,
        "featureCompatibilityVersion": "7.0",
    }
    member = {
        **process,
        "name": "stock_1",
        "hostname": "db9.example.com",
        "args2_6": {"replication": {"replSetName": "stock"}},
    }
    document = {
        "version": 0,
        "options": {"downloadBase": "/var/lib/ops-agent"},
        "databaseVersions": [],
        "processes": [process, member],
    }
    return _with(document, changes)
