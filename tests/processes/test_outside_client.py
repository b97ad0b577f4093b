"""A client others wrote, opsmanager 0.5.3, unchanged against a running platform."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import opsmanager
import pytest
from opsmanager import OpsManagerClient

from opsapi.api.links import PUBLIC
from tests.documents import ROOT, blocks
from tests.eventually import eventually
from tests.processes.conftest import ProcessCaller, make_first_user
from tests.processes.outside_client import CALLS, NOT_OURS, OTHERWISE, SERVICES_NOT_OURS, Scene
from tests.processes.platform import RunningPlatform, prepared_installation

pytestmark = pytest.mark.processes

COOKBOOK = ROOT / "docs" / "how-to" / "api-cookbook.md"
NOBODY = "0123456789abcdef01234567"


@pytest.fixture(scope="module")
def owner() -> Iterator[ProcessCaller]:
    """The first user of a platform of its own."""
    with prepared_installation(OPSAPI_RATE_FIRST_USER="2") as platform:
        platform.start()
        yield make_first_user(platform)
        assert platform.stop() == 0


@pytest.fixture(scope="module")
def client(owner: ProcessCaller) -> Iterator[OpsManagerClient]:
    """The outside client with the first user's key."""
    with connect(owner.platform, owner.public_key, owner.private_key) as made:
        yield made


def connect(platform: RunningPlatform, public_key: str, private_key: str) -> OpsManagerClient:
    """The client as its README says, without its pauses."""
    return OpsManagerClient(platform.base_url, public_key, private_key, rate_limit=0, retry_count=0)


@pytest.fixture(scope="module")
def scene(owner: ProcessCaller, client: OpsManagerClient) -> Scene:
    """Something of everything, and of most things two, so that pages follow each other."""
    made = _Maker(client)
    group_name = "päyments eu 1"
    group = made.post("groups", {"name": group_name})
    made.post("groups", {"name": "another"})
    org = group["orgId"]
    made.post("groups", {"name": "staging", "orgId": org})
    grace = made.user("grace@example.com", org)
    made.user("edsger@example.com", org)
    team = made.post(f"orgs/{org}/teams", {"name": "on call", "usernames": [grace["username"]]})
    made.post(f"orgs/{org}/teams", {"name": "night shift", "usernames": ["edsger@example.com"]})
    made.post(f"groups/{group['id']}/teams", [{"teamId": team["id"], "roleNames": ["GROUP_READ_ONLY"]}])
    keys = [made.post(f"groups/{group['id']}/apiKeys", {"desc": "x", "roles": ["GROUP_AGENT"]}) for _ in "ab"]
    for block in ("192.0.2.0/24", "198.51.100.0/24"):
        made.post("admin/whitelist", {"cidrBlock": block, "description": "office"})
    config = made.post(f"groups/{group['id']}/alertConfigs", _config())
    windows = [made.post(f"groups/{group['id']}/maintenanceWindows", _window()) for _ in "ab"]
    made.post("globalAlertConfigs", {**_config(), "forAllGroups": True})
    owner.with_key(keys[0]).report(group["id"], _report())
    global_alerts = eventually(
        lambda: made.results("globalAlerts?status=OPEN")[1:], message="alerts of a global configuration"
    )
    opened = f"groups/{group['id']}/alerts?status=OPEN"
    alerts = eventually(
        lambda: [alert for alert in made.results(opened) if alert["alertConfigId"] == config["id"]],
        message="the alert of the project's configuration",
    )
    hosts = {host["hostname"]: host["id"] for host in made.results(f"groups/{group['id']}/hosts")}
    return Scene(
        org=org,
        group=group["id"],
        group_name=group_name,
        user=grace["id"],
        username=grace["username"],
        team=team["id"],
        team_name=team["name"],
        key=keys[0]["id"],
        entry=made.results("admin/whitelist")[0]["id"],
        config=config["id"],
        alert=alerts[0]["id"],
        global_alert=global_alerts[0]["id"],
        event=made.results(f"groups/{group['id']}/events?eventType=GROUP_CREATED")[0]["id"],
        window=windows[0]["id"],
        host=hosts["db1.example.com"],
        router=hosts["router.example.com"],
        primary=hosts["db3.example.com"],
        cluster=made.results(f"groups/{group['id']}/clusters")[0]["id"],
        owner_key=made.results("admin/apiKeys")[0]["id"],
    )


class _Maker:
    """Makes things through the client's own session."""

    def __init__(self, client: OpsManagerClient) -> None:
        self._session = client._session

    def post(self, path: str, body: Any) -> Any:
        """What POST answers."""
        return self._session.post(f"{PUBLIC}/{path}", json=body)

    def results(self, path: str) -> list[Any]:
        """The first page of a list."""
        found: list[Any] = self._session.get(f"{PUBLIC}/{path}")["results"]
        return found

    def user(self, username: str, org: str) -> Any:
        """A member of the organization."""
        names = {"username": username, "firstName": "A", "lastName": "B", "password": "a long enough phrase"}
        return self.post("users", {**names, "roles": [{"roleName": "ORG_READ_ONLY", "orgId": org}]})


def _config() -> dict[str, Any]:
    notification = {"typeName": "EMAIL", "emailAddress": "oncall@example.com"}
    return {"eventTypeName": "HOST_DOWN", "notifications": [notification]}


def _window() -> dict[str, Any]:
    return {
        "alertTypeNames": ["BACKUP"],
        "startDate": "2099-11-28T22:00:00Z",
        "endDate": "2099-11-29T02:00:00Z",
    }


def _report() -> dict[str, Any]:
    hosts: list[dict[str, Any]] = [
        {"hostname": f"db{number}.example.com", "port": 27017, "typeName": "STANDALONE", "reachable": False}
        for number in (1, 2)
    ]
    samples = [
        {"metricName": "OPCOUNTER_QUERY", "number": 7},
        {"metricName": "OPLOG_SLAVE_LAG_MASTER_TIME", "number": 3},
    ]
    size = {"metricName": "DB_DATA_SIZE_TOTAL", "number": 4096}
    databases = [{"databaseName": name, "measurements": [size]} for name in ("orders", "users")]
    hosts[0] |= {"measurements": samples, "databases": databases}
    router = {"hostname": "router.example.com", "port": 27016, "typeName": "SHARD_MONGOS", "reachable": True}
    members = [
        {"hostname": f"db{number}.example.com", "port": 27017, "typeName": f"REPLICA_{state}"}
        | {"reachable": True, "clusterName": "orders", "replicaSetName": "rs0", "uptimeSeconds": 60}
        for number, state in ((3, "PRIMARY"), (4, "SECONDARY"))
    ]
    reported = [*hosts, router, *members]
    return {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": reported}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_brings_what_is_there(client: OpsManagerClient, scene: Scene, name: str) -> None:
    call, wanted = CALLS[name]
    brought = call(client, scene)
    found = [item.id for item in (brought if isinstance(brought, list) else [brought])]
    assert getattr(scene, wanted) in found
    assert len(set(found)) == len(found)


def test_its_pages_bring_every_row_once(client: OpsManagerClient, scene: Scene) -> None:
    for list_all in (client.projects.list, client.organizations.list, client.global_admin.list_whitelist):
        whole = [item.id for item in list_all(items_per_page=500)]
        assert len(whole) > 1
        assert [item.id for item in list_all(items_per_page=1)] == whole
    pages = client.projects.list_iter(items_per_page=1)
    assert len(list(pages)) == pages.total_count


def test_its_objects_hold_what_was_written(client: OpsManagerClient, scene: Scene) -> None:
    project = client.projects.get(scene.group)
    assert (project.name, project.org_id) == (scene.group_name, scene.org)
    user = client.users.get(scene.user)
    assert (user.username, user.first_name, user.team_ids) == (scene.username, "A", [scene.team])
    entry = client.global_admin.get_whitelist_entry(scene.entry)
    assert (entry.cidr_block, entry.description, entry.type) == ("192.0.2.0/24", "office", "GLOBAL_ROLE")
    alert = client.alerts.get(scene.group, scene.alert)
    assert (alert.event_type_name, alert.status) == ("HOST_DOWN", "OPEN")
    config = client.alert_configurations.get(scene.group, scene.config)
    assert [notification.email_address for notification in config.notifications] == ["oncall@example.com"]
    key = client.api_keys.get_organization_key(scene.org, scene.key)
    assert (key.private_key or "").startswith("******")
    window = client.maintenance_windows.get(scene.group, scene.window)
    assert (window.group_id, window.alert_type_names) == (scene.group, ["BACKUP"])
    assert (window.start_date, window.end_date) == ("2099-11-28T22:00:00Z", "2099-11-29T02:00:00Z")
    host = client.deployments.get_host(scene.group, scene.host)
    assert host.host_port == "db1.example.com:27017"
    primary = client.deployments.get_host(scene.group, scene.primary)
    assert (primary.is_primary, primary.cluster_id, primary.uptime_msec) == (True, scene.cluster, 60_000)
    assert primary.last_ping
    cluster = client.clusters.get(scene.group, scene.cluster)
    assert (cluster.cluster_name, cluster.replica_set_name) == ("orders", "rs0")
    assert cluster.last_heartbeat == primary.last_ping


def test_its_filters_narrow_the_list(client: OpsManagerClient, scene: Scene) -> None:
    of_cluster = client.deployments.list_hosts(scene.group, cluster_id=scene.cluster)
    assert [host.hostname for host in of_cluster] == ["db3.example.com", "db4.example.com"]
    assert client.deployments.get_mongos_hosts(scene.group, cluster_id=scene.cluster) == []
    assert client.alerts.list(scene.group, status="CLOSED") == []
    created = client.events.list_project_events(scene.group, event_type="GROUP_CREATED")
    assert {event.event_type_name for event in created} == {"GROUP_CREATED"}


def test_the_agents_are_read(client: OpsManagerClient, scene: Scene) -> None:
    (agent,) = client.agents.list_monitoring(scene.group)
    assert (agent.hostname, agent.type_name, agent.state_name) == ("agent1", "MONITORING", "ACTIVE")
    assert agent.last_ping
    assert client.agents.list(scene.group, "MONITORING", items_per_page=1) == [agent]
    assert list(client.agents.list_iter(scene.group, "AUTOMATION")) == []
    assert client.agents.list_backup(scene.group) == []
    assert client.agents.list_links(scene.group)["totalCount"] == 1


def test_the_teams_of_a_project_are_read(client: OpsManagerClient, scene: Scene) -> None:
    teams: list[Any] = list(client.projects.get_teams(scene.group, as_obj=False))
    assert [(team["teamId"], team["roleNames"]) for team in teams] == [(scene.team, ["GROUP_READ_ONLY"])]


def test_the_matcher_fields_are_read(client: OpsManagerClient, scene: Scene) -> None:
    assert "HOSTNAME" in client.alert_configurations.list_matcher_fields()


def test_the_databases_of_a_host_are_read(client: OpsManagerClient, scene: Scene) -> None:
    databases = client.deployments.list_databases(scene.group, scene.host, items_per_page=1)
    assert [database.database_name for database in databases] == ["orders", "users"]
    assert client.deployments.get_database(scene.group, scene.host, "orders").database_name == "orders"


def test_what_was_measured_is_read(client: OpsManagerClient, scene: Scene) -> None:
    of_host: Any = client.measurements.host(scene.group, scene.host, period="PT1H")
    of_database: Any = client.measurements.database(scene.group, scene.host, "orders", period="PT1H")
    opcounters: Any = client.measurements.get_opcounters(scene.group, scene.host, period="PT1H")
    assert of_host.host_id == scene.host
    lag = {"OPLOG_SLAVE_LAG_MASTER_TIME": [3.0]}
    assert _measured(of_host) == {"OPCOUNTER_QUERY": [7.0], **lag}
    assert _measured(opcounters) == {"OPCOUNTER_QUERY": [7.0]}
    assert (
        _measured(client.measurements.get_replication_metrics(scene.group, scene.host, period="PT1H")) == lag
    )
    assert _measured(of_database) == {"DB_DATA_SIZE_TOTAL": [4096.0]}
    assert _measured(client.measurements.get_query_targeting(scene.group, scene.host, period="PT1H")) == {}


def test_the_automation_configuration_and_its_status_are_read(client: OpsManagerClient, scene: Scene) -> None:
    path = f"{PUBLIC}/groups/{scene.group}/automationConfig"
    stored = client.automation.get_config(scene.group)
    assert stored["version"] == 0
    sent = {**stored, "auth": {"key": "a secret"}, "processes": [_process()]}
    client._session.put(path, json=sent)
    assert client.automation.get_config(scene.group) == {**sent, "version": 1}
    status = client.automation.get_status(scene.group)
    assert (status.goal_version, [process.hostname for process in status.processes]) == (
        1,
        ["db1.example.com"],
    )
    assert not status.is_in_goal_state


def _process() -> dict[str, Any]:
    return {
        "name": "orders_1",
        "hostname": "db1.example.com",
        "args2_6": {"net": {"port": 27017}},
        "authSchemaVersion": 5,
        "featureCompatibilityVersion": "7.0",
    }


def _measured(found: Any) -> dict[str, list[float]]:
    """The values of each metric that has values."""
    values = {
        measurement.name: [point.value for point in measurement.data_points]
        for measurement in found.measurements
    }
    return {name: points for name, points in values.items() if points}


# --- refusals -------------------------------------------------------------------------------------

Refused = Callable[[OpsManagerClient, Scene], Any]
REFUSALS: list[tuple[Refused, str, str]] = [
    (lambda c, s: c.projects.get("x"), "OpsManagerNotFoundError", "INVALID_GROUP_ID"),
    (lambda c, s: c.projects.get(NOBODY), "OpsManagerNotFoundError", "GROUP_NOT_FOUND"),
    (lambda c, s: c.projects.get_by_name("no such"), "OpsManagerNotFoundError", "GROUP_NAME_NOT_FOUND"),
    (lambda c, s: c.users.get_by_name("nobody"), "OpsManagerNotFoundError", "USERNAME_NOT_FOUND"),
    (lambda c, s: c.alerts.get(s.group, NOBODY), "OpsManagerNotFoundError", "ALERT_NOT_FOUND"),
    (lambda c, s: c.alerts.list(s.group, status="X"), "OpsManagerBadRequestError", "INVALID_ALERT_STATUS"),
    (
        lambda c, s: c.projects.list(items_per_page=501),
        "OpsManagerBadRequestError",
        "INVALID_QUERY_PARAMETER",
    ),
    (
        lambda c, s: c._session.post(f"{PUBLIC}/groups", json={"name": s.group_name}),
        "OpsManagerConflictError",
        "GROUP_ALREADY_EXISTS",
    ),
]


@pytest.mark.parametrize(("call", "error", "code"), REFUSALS, ids=[code for *_, code in REFUSALS])
def test_a_refusal_is_its_own_error(
    client: OpsManagerClient, scene: Scene, call: Refused, error: str, code: str
) -> None:
    with pytest.raises(getattr(opsmanager, error)) as raised:
        call(client, scene)
    assert raised.value.error_code == code
    assert raised.value.detail


def test_a_wrong_key_is_an_authentication_error(owner: ProcessCaller) -> None:
    refused = pytest.raises(opsmanager.OpsManagerAuthenticationError)
    with connect(owner.platform, owner.public_key, "x") as stranger, refused as raised:
        stranger.projects.list()
    assert raised.value.error_code == "UNAUTHORIZED"


def test_a_missing_role_is_a_forbidden_error(owner: ProcessCaller, scene: Scene) -> None:
    key = owner.post(f"/groups/{scene.group}/apiKeys", {"desc": "reader", "roles": ["GROUP_READ_ONLY"]})
    with connect(owner.platform, key["publicKey"], key["privateKey"]) as reader:
        assert [project.id for project in reader.projects.list()] == [scene.group]
        with pytest.raises(opsmanager.OpsManagerForbiddenError) as raised:
            reader.global_admin.list_api_keys()
    assert raised.value.error_code == "USER_UNAUTHORIZED"


def test_a_throttle_is_a_rate_limit_error(client: OpsManagerClient, scene: Scene) -> None:
    def ask() -> None:
        for _ in range(6):  # twice the limit, should a new minute begin in between
            with pytest.raises(opsmanager.OpsManagerBadRequestError):
                client._session.post(f"{PUBLIC}/unauth/users", json={})

    with pytest.raises(opsmanager.OpsManagerRateLimitError) as raised:
        ask()
    assert 0 < (raised.value.retry_after or 0) <= 60


# --- the tables are whole -------------------------------------------------------------------------


def test_every_call_is_in_one_of_the_tables(client: OpsManagerClient) -> None:
    services = {name for name, member in vars(OpsManagerClient).items() if isinstance(member, property)}
    assert set(SERVICES_NOT_OURS) < services
    calls = {
        f"{service}.{name}"
        for service in services - set(SERVICES_NOT_OURS)
        for name, member in vars(type(getattr(client, service))).items()
        if callable(member) and not name.startswith("_")
    }
    tables = [set(CALLS), OTHERWISE, set(NOT_OURS)]
    assert set.union(*tables) == calls
    assert sum(map(len, tables)) == len(calls)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c, s: c.automation.get_backup_agent_config(s.group),
        lambda c, s: c.deployments.list_disks(s.group, s.host),
        lambda c, s: c.measurements.disk(s.group, s.host, "sda"),
        lambda c, s: c.clusters.list_all(),
        lambda c, s: c.agents.get_project_versions(s.group),
        lambda c, s: c.agents.get_global_versions(),
        lambda c, s: c.agents.list_api_keys(s.group),
        lambda c, s: c.version.get_service_version(),
    ],
)
def test_what_is_not_ours_is_not_found(client: OpsManagerClient, scene: Scene, ask: Refused) -> None:
    with pytest.raises(opsmanager.OpsManagerNotFoundError):
        ask(client, scene)


def test_the_cookbook_works_as_printed(owner: ProcessCaller, client: OpsManagerClient, scene: Scene) -> None:
    made = _Maker(client)
    project = made.post("groups", {"name": "payments"})
    group = project["id"]
    config = made.post(f"groups/{group}/alertConfigs", _config())
    key = made.post(f"groups/{group}/apiKeys", {"desc": "x", "roles": ["GROUP_AGENT"]})
    owner.with_key(key).report(group, _report())
    opened = f"groups/{group}/alerts?status=OPEN"
    alerts = eventually(lambda: made.results(opened)[1:], message="two open alerts")
    environment = {
        **os.environ,
        "OPS": owner.platform.base_url,
        "PUBLIC_KEY": owner.public_key,
        "PRIVATE_KEY": owner.private_key,
        "ALERT": alerts[0]["id"],
        "CONFIG": config["id"],
        "USER_ID": made.user("grace", project["orgId"])["id"],
    }
    python = "\n".join(block.text for block in blocks(COOKBOOK) if block.language == "python")
    _ran([sys.executable, "-c", python], environment)
    assert {alert["acknowledgementComment"] for alert in made.results(opened)} == {"Replacing the disk"}
    staging = made.results("groups?name=staging")[0]["id"]
    copied = {config["eventTypeName"] for config in made.results(f"groups/{staging}/alertConfigs")}
    assert "HOST_DOWN" in copied
    shell = "\n".join(
        line
        for block in blocks(COOKBOOK)
        if block.language == "sh" and not block.text.startswith("pip install")
        for line in block.text.splitlines()
        if not line.startswith("export ")
    )
    said = _ran(["sh", "-eu", "-c", shell], environment)
    assert '"privateKey"' in said
    assert '"notified"' in said
    assert {window["description"] for window in made.results(f"groups/{group}/maintenanceWindows")} == {
        "upgrade of the replica sets",
        "backups of the orders",
    }


def _ran(command: list[str], environment: dict[str, str]) -> str:
    """What a program printed, which has to succeed."""
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout
