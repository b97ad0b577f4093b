"""A host that left its replica set, shard and cluster, as the API shows it."""

import pytest

from accesslist.models import Project
from opsapi.api.links import DISCOVERY
from tests.api.bodies import host, report
from tests.api.hosts import hosts_of
from tests.client import ApiClient

pytestmark = pytest.mark.django_db
PLACE = {"replicaSetName": "rq", "shardName": "s0", "clusterName": "orders"}


def test_a_host_that_is_alone_is_shown_in_nothing(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(project.id, report(host(typeName="REPLICA_SECONDARY", **PLACE)))
    agent.report(project.id, report(host(typeName="STANDALONE")))
    (shown,) = reader.get(hosts_of(project)).json()["results"]
    assert shown["typeName"] == "STANDALONE"
    assert not shown.keys() & {*PLACE, "clusterId"}
    assert reader.get(f"/groups/{project.id}/clusters").json()["results"] == []
    (found,) = reader.request("GET", f"{DISCOVERY}/groups/{project.id}/discovery", base="").json()
    assert not found["labels"].keys() & {"rs_nm", "cl_name"}
    path = f"/groups/{project.id}/events?eventType=HOST_NOW_STANDALONE"
    (event,) = reader.get(path).json()["results"]
    assert not event.keys() & {*PLACE, "clusterId"}
