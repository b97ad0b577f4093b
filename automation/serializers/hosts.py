"""Hosts as the API shows and accepts them."""

from typing import Any

from rest_framework import serializers

from automation.choices import Granularity, HostType
from automation.fields import Hostname, Port
from automation.selectors.hosts import HostRow
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.links import Links

_TYPES = [one.value for one in HostType]
_REPLICA_STATES = {
    HostType.REPLICA_PRIMARY.value: "PRIMARY",
    HostType.REPLICA_SECONDARY.value: "SECONDARY",
    HostType.REPLICA_ARBITER.value: "ARBITER",
    HostType.RECOVERING.value: "RECOVERING",
    HostType.SHARD_PRIMARY.value: "PRIMARY",
    HostType.SHARD_SECONDARY.value: "SECONDARY",
}


class HostDocument(Document):
    """A host with its state as last reported."""

    example = {
        "id": AN_ID,
        "groupId": ANOTHER_ID,
        "hostname": "db1.example.com",
        "port": 27017,
        "typeName": HostType.REPLICA_PRIMARY.value,
        "reachable": True,
        "version": "7.0.14",
        "replicaSetName": "rs0",
        "replicaStateName": "PRIMARY",
        "uptimeSeconds": 86400,
        "uptimeMsec": 86_400_000,
        "created": A_TIME,
        "lastReport": A_TIME,
        "lastPing": A_TIME,
        "links": self_link(f"/groups/{ANOTHER_ID}/hosts/{AN_ID}"),
    }

    id = serializers.CharField()
    groupId = serializers.CharField()
    hostname = serializers.CharField()
    port = serializers.IntegerField()
    typeName = serializers.ChoiceField(_TYPES)
    reachable = serializers.BooleanField(required=False, help_text="Absent until the first report.")
    version = serializers.CharField(required=False)
    replicaSetName = serializers.CharField(required=False)
    replicaStateName = serializers.ChoiceField(
        sorted(set(_REPLICA_STATES.values())),
        required=False,
        help_text="Replica set state of the host, derived from typeName.",
    )
    clusterName = serializers.CharField(required=False)
    clusterId = serializers.CharField(required=False)
    shardName = serializers.CharField(required=False)
    uptimeSeconds = serializers.IntegerField(required=False)
    uptimeMsec = serializers.IntegerField(required=False, help_text="uptimeSeconds in milliseconds.")
    created = serializers.DateTimeField()
    lastReport = serializers.DateTimeField(required=False)
    lastPing = serializers.DateTimeField(required=False, help_text="The same as lastReport.")
    links = LinkDocument(many=True)


class NewHost(HostDocument):
    """What makes a host; only agents say the rest."""

    writable = frozenset({"hostname", "port"})

    hostname = Hostname()
    port = Port()


class HostChange(HostDocument):
    """What gives a host another address; what is left out stays, and only agents say the rest."""

    writable = frozenset({"hostname", "port"})

    hostname = Hostname(required=False)
    port = Port(required=False)


def unreported(group_id: str) -> dict[str, Any]:
    """What a new host of the project says of itself, until an agent reports it."""
    return {"groupId": group_id, "typeName": HostType.NO_DATA.value}


def host_path(row: HostRow) -> str:
    """Where the API has the host."""
    return f"/groups/{row['group_id']}/hosts/{row['id']}"


def last_hour(path: str) -> str:
    """The measurements of what is at the path, as a link that answers: they are asked for with a query."""
    return f"{path}/measurements?granularity={Granularity.PT1M.value}&period=PT1H"


def present_host(row: HostRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A host."""
    reported, uptime = row["wire_last_report"] is not None, row["uptime_seconds"]
    shown = {
        "id": row["id"],
        "groupId": row["group_id"],
        "hostname": row["hostname"],
        "port": row["port"],
        "typeName": row["type_name"],
        "reachable": not row["down"] if reported else None,
        "version": row["version"],
        "replicaSetName": row["replica_set_name"],
        "replicaStateName": _REPLICA_STATES.get(row["type_name"]),
        "clusterName": row["cluster_name"],
        "clusterId": row["cluster_id"],
        "shardName": row["shard_name"],
        "uptimeSeconds": uptime,
        "uptimeMsec": None if uptime is None else uptime * 1000,
        "created": row["wire_created"],
        "lastReport": row["wire_last_report"],
        "lastPing": row["wire_last_report"],
        "links": links.related(host_path(row), _relations(row) if alone else {}),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _relations(row: HostRow) -> dict[str, str]:
    group, path = f"/groups/{row['group_id']}", host_path(row)
    cluster = {"cluster": f"{group}/clusters/{row['cluster_id']}"} if row["cluster_id"] else {}
    return {
        "group": group,
        **cluster,
        "databases": f"{path}/databases",
        "measurements": last_hour(path),
    }
