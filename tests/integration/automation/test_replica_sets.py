"""Replica sets as reports name them."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import HostType
from automation.hosts.changes import host_change, host_delete
from automation.models import Host, ReplicaSet
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
PRIMARY, SECONDARY = HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY


def member(hostname: str, type_name: HostType = SECONDARY, **said: Any) -> Any:
    """What is said of a member of rs0."""
    return host_report(hostname, type_name=type_name, **{"replica_set_name": "rs0", **said})


def standing(name: str = "rs0", **where: Any) -> tuple[int, int, int]:
    """Primaries, healthy and unhealthy members."""
    replica_set = ReplicaSet.objects.get(name=name, **where)
    return replica_set.primaries, replica_set.healthy, replica_set.unhealthy


def recorded() -> list[str]:
    """The events about primaries, oldest first."""
    names = ("NO_PRIMARY", "MULTIPLE_PRIMARIES", "ONE_PRIMARY")
    return list(
        Event.objects.filter(event_type__in=names).order_by("id").values_list("event_type", flat=True)
    )


def last_states() -> list[dict[str, Any]]:
    """What the newest signal says of replica sets."""
    states: list[dict[str, Any]] = Signal.objects.filter(kind="hosts").latest("id").payload["replicaSets"]
    return states


def delete(hostname: str) -> None:
    """Delete the host."""
    host = Host.objects.get(hostname=hostname)
    host_delete(group_id=host.group_id, host_id=host.id, actor=SYSTEM, now=clock.now())


def test_reports_of_different_members_are_one_set(project: Project) -> None:
    ingest(project, member("a", PRIMARY, cluster_name="c"), agent="one")
    ingest(
        project, member("b", cluster_name="C", shard_name="s0"), member("c", cluster_name="c"), agent="two"
    )
    assert standing() == (1, 3, 0)
    (state,) = last_states()
    assert state == {
        "replicaSetName": "rs0",
        "clusterName": "c",
        "clusterId": Host.objects.get(hostname="a").cluster_id,
        "shardName": "s0",
        "primaries": 1,
        "healthy": 3,
        "unhealthy": 0,
        "unknown": 0,
        "primaryUnknown": False,
    }
    assert recorded() == []


def test_the_same_name_in_another_cluster_or_project_is_another_set(
    project: Project, other_project: Project
) -> None:
    ingest(project, member("a", PRIMARY, cluster_name="c"), member("b", PRIMARY, cluster_name="d"))
    ingest(project, member("c", PRIMARY))
    ingest(other_project, member("a", PRIMARY))
    assert ReplicaSet.objects.count() == 4
    assert recorded() == []


def test_a_primary_that_goes_and_comes_is_reported_at_the_edges_alone(project: Project) -> None:
    ingest(project, member("a", PRIMARY), member("b"))
    for _ in range(2):
        ingest(project, member("a", PRIMARY, reachable=False))
    assert standing() == (0, 1, 1)
    for _ in range(2):
        ingest(project, member("b", PRIMARY))
    assert standing() == (1, 1, 1)
    for _ in range(2):
        ingest(project, member("a", PRIMARY))
    assert standing() == (2, 2, 0)
    ingest(project, member("a"))
    assert recorded() == ["NO_PRIMARY", "ONE_PRIMARY", "MULTIPLE_PRIMARIES", "ONE_PRIMARY"]
    assert {event.details["replicaSetName"] for event in Event.objects.filter(event_type="NO_PRIMARY")} == {
        "rs0"
    }
    assert not Signal.objects.filter(kind="event", payload__eventTypeName__contains="PRIMAR").exclude(
        payload__eventTypeName__startswith="HOST_NOW"
    )


def refused(hostname: str, **said: Any) -> Any:
    """What is said of a reachable server that refuses the login: its type and set are not observed."""
    return host_report(hostname, type_name=HostType.NO_DATA, problem="login refused", **said)


def test_a_member_that_is_not_observed_may_be_the_primary(project: Project) -> None:
    ingest(project, member("a", PRIMARY), member("b"))
    ingest(project, refused("a"), member("b"))
    assert standing() == (0, 1, 0)
    assert (last_states()[0]["unknown"], last_states()[0]["primaryUnknown"]) == (1, True)
    ingest(project, member("b", PRIMARY))
    ingest(project, member("a"))
    assert standing() == (1, 2, 0)
    assert recorded() == []
    ingest(project, member("b"))
    ingest(project, refused("a"))
    assert not last_states()[0]["primaryUnknown"]
    ingest(project, member("a"))
    ingest(project, member("a", PRIMARY))
    assert recorded() == ["NO_PRIMARY", "ONE_PRIMARY"]
    ingest(project, refused("a", reachable=False))
    assert standing() == (0, 1, 1)


def test_a_member_that_was_never_observed_may_be_the_primary(project: Project) -> None:
    ingest(project, refused("a", replica_set_name="rs0"), member("b"))
    assert standing() == (0, 1, 0)
    assert recorded() == []
    ingest(project, member("a"))
    assert recorded() == ["NO_PRIMARY"]


def test_a_host_that_changes_its_set_leaves_the_old_one(project: Project) -> None:
    ingest(project, member("a", PRIMARY), member("b"))
    ingest(project, member("a", PRIMARY, replica_set_name="rs1"))
    assert (standing("rs0"), standing("rs1")) == ((0, 1, 0), (1, 1, 0))
    assert [state["replicaSetName"] for state in last_states()] == ["rs0", "rs1"]
    assert recorded() == ["NO_PRIMARY"]


def test_a_host_whose_cluster_becomes_known_leaves_the_old_one(project: Project) -> None:
    ingest(project, member("a", PRIMARY))
    ingest(project, member("a", PRIMARY, cluster_name="c"))
    assert standing(cluster=None) == (0, 0, 0)
    assert standing(cluster__name="c") == (1, 1, 0)
    assert recorded() == []


def test_a_set_without_members_says_so_and_comes_back_as_itself(project: Project) -> None:
    ingest(project, member("a", PRIMARY))
    before = ReplicaSet.objects.get().id
    delete("a")
    assert standing() == (0, 0, 0)
    assert [(state["healthy"], state["unhealthy"]) for state in last_states()] == [(0, 0)]
    ingest(project, member("b"))
    assert ReplicaSet.objects.get().id == before
    assert recorded() == ["NO_PRIMARY"]


def test_a_deleted_member_counts_no_more(project: Project) -> None:
    ingest(project, member("a", PRIMARY), member("b"), member("c"))
    delete("a")
    assert standing() == (0, 2, 0)
    assert recorded() == ["NO_PRIMARY"]
    (event,) = Event.objects.filter(event_type="NO_PRIMARY")
    # The platform derives it; another event names the key that deleted the host.
    assert "publicKey" not in event.details


def test_another_address_keeps_a_member_in_its_set(project: Project) -> None:
    ingest(project, member("a", PRIMARY), member("b"))
    host = Host.objects.get(hostname="b")
    host_change(group_id=project.id, host_id=host.id, changes={"port": 27018}, actor=SYSTEM, now=clock.now())
    ingest(project, member("a", PRIMARY))
    assert standing() == (1, 2, 0)


def test_hosts_in_no_replica_set_cost_no_row(project: Project) -> None:
    ingest(project, host_report("a"), host_report("b", cluster_name="c"))
    assert not ReplicaSet.objects.exists()
    assert last_states() == []
