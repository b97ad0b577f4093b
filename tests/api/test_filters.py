"""Filters, other requests and formats that clients of this kind of API rely on."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.models import Cluster
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import path, published, publisher, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, make_key
from tests.factories.documents import ABSENT, document

__all__ = ["path", "publisher"]

BAD_NAME = (400, "INVALID_QUERY_PARAMETER", ["name"])
pytestmark = pytest.mark.django_db


def listed(client: ApiClient, path: str, field: str = "name") -> list[Any]:
    """That field of every result; the count is held against them."""
    shown: dict[str, Any] = client.get(path).json()
    assert shown["totalCount"] == len(shown["results"])
    return [row[field] for row in shown["results"]]


class TestByName:
    """`name` of projects and organizations: what begins with it, without regard to case."""

    @each(
        ("asked", "shown"),
        [
            ("payments", ["payments", "Payments EU"]),
            ("PAYMENTS%20e", ["Payments EU"]),
            ("pay%25", ["pay%day"]),
            ("pay_", []),
            ("%C3%A4", ["Änderungen"]),
            ("ments", []),
        ],
    )
    @each("below", ["/groups", "/orgs/{}/groups", "/orgs"])
    def test_it_narrows_the_list(
        self, owner: ApiClient, project: Project, below: str, asked: str, shown: list[str]
    ) -> None:
        for name in ("payments", "staging", "Payments EU", "pay%day", "Änderungen"):
            if below == "/orgs":
                OrganizationFactory.create(name=name)
            else:
                ProjectFactory.create(name=name, org=project.org)
        assert listed(owner, f"{below.format(project.org_id)}?name={asked}") == shown

    def test_the_pages_of_a_narrowed_list_keep_the_filter(self, owner: ApiClient) -> None:
        for name in ("payments", "staging", "payments eu"):
            ProjectFactory.create(name=name)
        first = owner.get("/groups?name=pay&itemsPerPage=1").json()
        (after,) = [link["href"] for link in first["links"] if link["rel"] == "next"]
        second = owner.request("GET", after.removeprefix("http://testserver"), base="").json()
        assert [row["name"] for row in (*first["results"], *second["results"])] == ["payments", "payments eu"]
        assert first["totalCount"] == second["totalCount"] == 2

    def test_it_shows_nothing_that_the_caller_does_not_see(self, project: Project) -> None:
        ProjectFactory.create(name="payments")
        member = ApiClient(make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id)))
        assert listed(member, "/groups?name=payments") == []

    @each("below", ["/groups", "/orgs", "/orgs/{}/groups"])
    @each("asked", ["", "a%00", "x" * 201])
    def test_what_no_name_can_begin_with_is_refused(
        self, owner: ApiClient, project: Project, below: str, asked: str
    ) -> None:
        assert refusal(owner.get(f"{below.format(project.org_id)}?name={asked}")) == BAD_NAME


class TestHostsOfACluster:
    """`clusterId` of hosts."""

    @pytest.fixture
    def cluster(self, agent: ApiClient, project: Project) -> Cluster:
        """Two of the project's three hosts."""
        hosts = [bodies.host(port=port, clusterName="orders") for port in (1, 2)]
        assert agent.report(project.id, bodies.report(*hosts, bodies.host(port=3))).status_code == 202
        return Cluster.objects.get()

    def test_it_narrows_the_list(self, reader: ApiClient, project: Project, cluster: Cluster) -> None:
        hosts = f"/groups/{project.id}/hosts"
        assert listed(reader, f"{hosts}?clusterId={cluster.id}", "port") == [1, 2]
        assert listed(reader, f"{hosts}?clusterId={new_id()}", "port") == []
        assert listed(reader, hosts, "port") == [1, 2, 3]

    @each("asked", ["", "x", "6560D1C2A7B3F94E5D8C1B20"])
    def test_what_is_no_id_is_refused(self, reader: ApiClient, project: Project, asked: str) -> None:
        answer = reader.get(f"/groups/{project.id}/hosts?clusterId={asked}")
        assert refusal(answer) == (400, "INVALID_QUERY_PARAMETER", ["clusterId"])


class TestAgentsOfAType:
    """`/groups/{id}/agents/{agentType}`."""

    def test_it_lists_alerts_of_the_type(self, agent: ApiClient, reader: ApiClient, project: Project) -> None:
        for kind, hostname in (("MONITORING", "a"), ("BACKUP", "b"), ("MONITORING", "c")):
            agent.report(project.id, bodies.report(agentType=kind, hostname=hostname))
        agents = f"/groups/{project.id}/agents"
        assert listed(reader, f"{agents}/MONITORING", "hostname") == ["a", "c"]
        assert listed(reader, f"{agents}/AUTOMATION", "hostname") == []
        (backup,) = reader.get(f"{agents}/BACKUP?itemsPerPage=1").json()["results"]
        assert backup in reader.get(agents).json()["results"]

    @each("kind", ["monitoring", "versions", "X"])
    def test_what_is_no_type_is_not_found(self, reader: ApiClient, project: Project, kind: str) -> None:
        answer = reader.get(f"/groups/{project.id}/agents/{kind}")
        assert refusal(answer) == (404, "INVALID_AGENT_TYPE", [])
        assert answer.json()["parameters"] == [kind]


class TestNamesClientsDecode:
    """The names under which clients of this API shape read what they show."""

    def test_an_agent(self, agent: ApiClient, reader: ApiClient, project: Project) -> None:
        agent.report(project.id, bodies.report())
        (shown,) = reader.get(f"/groups/{project.id}/agents").json()["results"]
        assert (shown["typeName"], shown["stateName"]) == (shown["agentType"], "ACTIVE")
        assert shown["lastPing"] == shown["lastReport"]

    @each(
        ("type_name", "state"),
        [
            ("REPLICA_PRIMARY", "PRIMARY"),
            ("SHARD_PRIMARY", "PRIMARY"),
            ("SHARD_SECONDARY", "SECONDARY"),
            ("REPLICA_ARBITER", "ARBITER"),
            ("RECOVERING", "RECOVERING"),
            ("STANDALONE", None),
            ("SHARD_MONGOS", None),
        ],
    )
    def test_a_host(
        self, agent: ApiClient, reader: ApiClient, project: Project, type_name: str, state: str | None
    ) -> None:
        agent.report(project.id, bodies.report(bodies.host(typeName=type_name, uptimeSeconds=60)))
        (shown,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
        assert (shown.get("replicaStateName"), shown["uptimeMsec"]) == (state, 60_000)
        assert shown["lastPing"] == shown["lastReport"]

    def test_a_host_without_a_report(self, owner: ApiClient, project: Project) -> None:
        shown = owner.post(f"/groups/{project.id}/hosts", bodies.new_host()).json()
        assert not {"replicaStateName", "uptimeMsec", "lastPing"} & set(shown)

    def test_a_cluster(self, agent: ApiClient, reader: ApiClient, project: Project) -> None:
        cluster_of_set = {"clusterName": "orders", "replicaSetName": "rs0", "shardName": "s0"}
        agent.report(project.id, bodies.report(bodies.host(**cluster_of_set)))
        (shown,) = reader.get(f"/groups/{project.id}/clusters").json()["results"]
        assert (shown["replicaSetName"], shown["shardName"]) == ("rs0", "s0")
        (host,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
        assert shown["lastHeartbeat"] == host["lastReport"]
        agent.report(
            project.id, bodies.report(bodies.host(port=2, **{**cluster_of_set, "replicaSetName": "rs1"}))
        )
        (shown,) = reader.get(f"/groups/{project.id}/clusters").json()["results"]
        assert (shown.get("replicaSetName"), shown["replicaSetNames"]) == (None, ["rs0", "rs1"])

    def test_the_matcher_fields(self) -> None:
        names = ApiClient(make_key()).get("/alertConfigs/matchers/fieldNames").json()
        assert names == [
            "HOSTNAME",
            "PORT",
            "HOSTNAME_AND_PORT",
            "REPLICA_SET_NAME",
            "TYPE_NAME",
            "SHARD_NAME",
            "CLUSTER_NAME",
        ]


class TestFirstPublish:
    """A client that leaves out what is 0 sends no version with its first automation configuration."""

    @each("version", [ABSENT, None], ids=["absent", "null"])
    def test_it_follows_upon_version_0(self, publisher: ApiClient, path: str, version: Any) -> None:
        assert published(publisher, path, document(version=version))["version"] == 1

    @each("version", [ABSENT, None], ids=["absent", "null"])
    def test_a_later_one_has_to_say_its_version(self, publisher: ApiClient, path: str, version: Any) -> None:
        published(publisher, path, document(version=0))
        answer = publisher.put(path, document(version=version))
        assert refusal(answer) == (400, "MISSING_ATTRIBUTE", ["/version"])
