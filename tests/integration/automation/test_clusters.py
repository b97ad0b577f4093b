"""Clusters and agents, as reports create them, over the API."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.models import Agent, Cluster, Host
from events.models import Event, Signal
from tests.api import bodies
from tests.api.bodies import report
from tests.api.hosts import hosts_of, recorded, relations
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db


class TestClusters:
    """Only the names that agents report create clusters."""

    def test_hosts_of_one_name_are_one_cluster_whatever_its_case(
        self, agent: ApiClient, reader: ApiClient, project: Project
    ) -> None:
        agent.report(project.id, report(bodies.host(port=1, clusterName="Orders")))
        agent.report(
            project.id,
            report(bodies.host(port=2, clusterName="orders"), bodies.host(port=3, clusterName="ORDERS")),
        )
        (cluster,) = reader.get(f"/groups/{project.id}/clusters").json()["results"]
        assert (cluster["clusterName"], cluster["id"]) == ("Orders", Cluster.objects.get().id)
        hosts = reader.get(hosts_of(project)).json()["results"]
        assert {(host["clusterName"], host["clusterId"]) for host in hosts} == {("Orders", cluster["id"])}

    @each(
        ("hosts", "shown"),
        [
            ([{}], {}),
            (
                [{"replicaSetName": "rs0"}],
                {"typeName": "REPLICA_SET", "replicaSetNames": ["rs0"], "replicaSetName": "rs0"},
            ),
            ([{"typeName": "REPLICA_PRIMARY"}], {"typeName": "REPLICA_SET"}),
            ([{"typeName": "SHARD_MONGOS"}], {"typeName": "SHARDED_REPLICA_SET"}),
            (
                [
                    {"replicaSetName": "rs1", "shardName": "s1"},
                    {"replicaSetName": "rs0", "shardName": "s0"},
                    {"replicaSetName": "rs0", "shardName": "s0"},
                ],
                {
                    "typeName": "SHARDED_REPLICA_SET",
                    "replicaSetNames": ["rs0", "rs1"],
                    "shardNames": ["s0", "s1"],
                },
            ),
        ],
    )
    def test_a_cluster_is_what_its_hosts_report(
        self,
        agent: ApiClient,
        reader: ApiClient,
        project: Project,
        hosts: list[dict[str, Any]],
        shown: dict[str, Any],
    ) -> None:
        reported = [bodies.host(port=port + 1, clusterName="c", **host) for port, host in enumerate(hosts)]
        agent.report(project.id, report(*reported))
        cluster = Cluster.objects.get()
        path = f"/groups/{project.id}/clusters/{cluster.id}"
        document = reader.get(path).json()
        assert document == {
            "id": cluster.id,
            "groupId": project.id,
            "clusterName": "c",
            "replicaSetNames": [],
            "shardNames": [],
            **shown,
            "lastHeartbeat": document["lastHeartbeat"],
            "links": document["links"],
        }
        assert relations(document) == {"self": path, "group": f"/groups/{project.id}"}

    def test_clusters_are_listed_by_name(self, agent: ApiClient, reader: ApiClient, project: Project) -> None:
        names = ["b", "A", "c"]
        agent.report(project.id, report(*(bodies.host(port=ord(name), clusterName=name) for name in names)))
        listed = reader.get(f"/groups/{project.id}/clusters").json()["results"]
        assert [cluster["clusterName"] for cluster in listed] == ["A", "b", "c"]

    def test_a_cluster_is_there_while_it_has_hosts_and_comes_back_as_itself(
        self, owner: ApiClient, agent: ApiClient, project: Project
    ) -> None:
        agent.report(project.id, report(bodies.host(clusterName="c")))
        path = f"/groups/{project.id}/clusters/{Cluster.objects.get().id}"
        owner.delete(f"{hosts_of(project)}/{Host.objects.get().id}")
        assert refusal(owner.get(path)) == (404, "CLUSTER_NOT_FOUND")
        assert owner.get(f"/groups/{project.id}/clusters").json()["totalCount"] == 0
        agent.report(project.id, report(bodies.host(clusterName="C")))
        assert owner.get(path).json()["clusterName"] == "c"

    def test_a_host_that_changes_its_cluster_leaves_the_old_one(
        self, agent: ApiClient, reader: ApiClient, project: Project
    ) -> None:
        for name in ("a", "b"):
            agent.report(project.id, report(bodies.host(clusterName=name)))
        (cluster,) = reader.get(f"/groups/{project.id}/clusters").json()["results"]
        assert cluster["clusterName"] == "b"

    def test_events_and_signals_name_the_cluster_by_id_too(self, agent: ApiClient, project: Project) -> None:
        agent.report(project.id, report(bodies.host(clusterName="Orders", reachable=False)))
        event = {"eventTypeName": "SHARD_ADDED", "clusterName": "orders"}
        agent.report(project.id, report(events=[event, {**event, "clusterName": "unknown"}]))
        cluster = {"clusterId": Cluster.objects.get().id, "clusterName": "Orders"}
        for event_type in ("NEW_HOST", "HOST_DOWN"):
            assert cluster.items() <= recorded(event_type).details.items()
        added = Event.objects.filter(event_type="SHARD_ADDED").order_by("id")
        assert cluster.items() <= added[0].details.items()
        assert (added[1].details["clusterName"], added[1].details.get("clusterId")) == ("unknown", None)
        states = Signal.objects.get(kind="hosts").payload["hosts"]
        assert cluster.items() <= states[0].items()
        assert Cluster.objects.count() == 1

    def test_an_event_that_names_another_cluster_than_its_hosts_keeps_no_id_of_that(
        self, agent: ApiClient, project: Project
    ) -> None:
        event = {"eventTypeName": "HOST_ROLLBACK", "hostname": "db1.example.com", "port": 27017}
        agent.report(project.id, report(bodies.host(clusterName="a"), events=[event]))
        agent.report(project.id, report(events=[{**event, "clusterName": "b"}]))
        first, second = Event.objects.filter(event_type="HOST_ROLLBACK").order_by("id")
        assert first.details["clusterId"] == Cluster.objects.get().id
        assert (second.details["clusterName"], second.details.get("clusterId")) == ("b", None)


def test_agents_are_listed_by_type_and_hostname(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    for kind, hostname in (("MONITORING", "b"), ("MONITORING", "A"), ("BACKUP", "c")):
        agent.report(project.id, report(agentType=kind, hostname=hostname, version=f"of {hostname}"))
    listed = reader.get(f"/groups/{project.id}/agents").json()["results"]
    assert [(agent["agentType"], agent["hostname"], agent["version"]) for agent in listed] == [
        ("BACKUP", "c", "of c"),
        ("MONITORING", "A", "of A"),
        ("MONITORING", "b", "of b"),
    ]
    assert all(agent["lastReport"] >= agent["created"] for agent in listed)
    paths = [link["href"].rpartition("/agents/")[2] for agent in listed for link in agent["links"]]
    assert paths == ["BACKUP/c", "MONITORING/A", "MONITORING/b"]
    assert [agent["down"] for agent in listed] == [False] * 3
    Agent.objects.filter(hostname="c").update(down=True)
    listed = reader.get(f"/groups/{project.id}/agents").json()["results"]
    assert [agent["down"] for agent in listed] == [True, False, False]
