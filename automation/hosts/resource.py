"""Hosts, databases and clusters as the API shows and accepts them."""

from urllib.parse import quote

from django.db.models import Case, F, Value, When
from rest_framework import serializers

from automation.choices import ClusterType, Granularity, HostType
from automation.fields import Port
from automation.hosts.models import Host
from automation.metrics import Engine
from opsapi.api.documents import AN_ID, ANOTHER_ID, LinkDocument, links_of
from opsapi.api.fields import (
    Hostname,
    ShownChoice,
    ShownFlag,
    ShownId,
    ShownList,
    ShownMap,
    ShownNumber,
    ShownText,
    ShownTime,
)
from opsapi.api.resources import Resource

_REPLICA_STATES = {
    HostType.REPLICA_PRIMARY.value: "PRIMARY",
    HostType.REPLICA_SECONDARY.value: "SECONDARY",
    HostType.REPLICA_ARBITER.value: "ARBITER",
    HostType.RECOVERING.value: "RECOVERING",
    HostType.SHARD_PRIMARY.value: "PRIMARY",
    HostType.SHARD_SECONDARY.value: "SECONDARY",
}


def last_hour(path: str) -> str:
    """Return the path of the measurements of the last hour, with the required query parameters."""
    return f"{path}/measurements?granularity={Granularity.PT1M.value}&period=PT1H"


class HostDocument(Resource):
    """A host with its state as last reported."""

    path = "/groups/{groupId}/hosts/{id}"
    relations = {
        "group": "/groups/{groupId}",
        "cluster": "/groups/{groupId}/clusters/{clusterId}",
        "databases": f"{path}/databases",
        "measurements": last_hour(path),
    }
    columns = {
        "reachable": Case(When(last_report__isnull=False, then=~F("down"))),
        "replicaStateName": Case(
            *[
                When(type_name=host_type, then=Value(_REPLICA_STATES[host_type]))
                for host_type in _REPLICA_STATES
            ]
        ),
        "uptimeMsec": F("uptime_seconds") * 1000,
    }

    id = ShownId()
    groupId = ShownId(source="group_id", example=ANOTHER_ID)
    hostname: serializers.CharField = ShownText(example="db1.example.com")
    port: serializers.IntegerField = ShownNumber(example=27017)
    typeName = ShownChoice(
        [host_type.value for host_type in HostType],
        source="type_name",
        example=HostType.REPLICA_PRIMARY.value,
    )
    reachable = ShownFlag(required=False, help_text="Absent until the first report.", example=True)
    engine = ShownChoice(
        [engine.value for engine in Engine],
        required=False,
        help_text="The database engine. Absent while no report says it.",
        example=Engine.MONGODB.value,
    )
    version = ShownText(required=False, example="7.0.14")
    replicaSetName = ShownText(source="replica_set_name", required=False, example="rs0")
    replicaStateName = ShownChoice(
        sorted(set(_REPLICA_STATES.values())),
        required=False,
        help_text="Replica set state of the host, derived from typeName.",
        example="PRIMARY",
    )
    clusterName = ShownText(source="cluster_name", required=False)
    clusterId = ShownText(source="cluster_id", required=False)
    shardName = ShownText(source="shard_name", required=False)
    uptimeSeconds = ShownNumber(source="uptime_seconds", required=False, example=86400)
    uptimeMsec = ShownNumber(required=False, help_text="uptimeSeconds in milliseconds.", example=86_400_000)
    labels = ShownMap(
        child=serializers.CharField(),
        required=False,
        help_text="Names and values that the agent gives its hosts, such as the environment. Service"
        " discovery adds them to the labels of the target. Absent if the host has none.",
        example={"env": "production"},
    )
    created = ShownTime()
    lastReport = ShownTime(source="last_report", required=False)
    observed = ShownTime(
        required=False,
        help_text="Time of the newest observation of the state. It can be older than the last report, "
        "because an agent sends reports later if it cannot reach the platform.",
    )
    lastMeasured = ShownTime(
        source="measured",
        required=False,
        help_text="Time of the newest measurement. Absent if there is none.",
    )
    unmeasuredSince = ShownTime(
        source="unmeasured_since",
        required=False,
        help_text="Time of the first of the newest reports that reached the host and did not measure it. "
        "Four minutes after it, HOST_NOT_MEASURED follows. Absent if the newest report measured the host, or "
        "if the host is down.",
    )
    problem = ShownText(
        required=False,
        help_text="Why the agent could not measure the host, although it is reachable, without secrets in "
        "URLs. Absent if the agent gives no reason.",
    )
    lastPing = ShownTime(source="last_report", required=False, help_text="The same as lastReport.")
    links = LinkDocument(many=True)


class NewHost(HostDocument):
    """A new host. The other fields come from agents."""

    # A field that users write is declared here again, with its checks.
    writable = frozenset({"hostname", "port"})

    hostname = Hostname(example="db1.example.com")
    port = Port(example=27017)


class HostChange(NewHost):
    """A change of a host's address. A field that is left out stays."""

    is_change = True


def host_path(host: Host) -> str:
    """Return the path of the host in the API."""
    return HostDocument.path.format(groupId=host.group_id, id=host.id)


class DatabaseDocument(Resource):
    """A database of a host."""

    path = "/groups/{group_id}/hosts/{host_id}/databases/{databaseName}"
    encoded = ("databaseName",)
    relations = {
        "group": "/groups/{group_id}",
        "host": "/groups/{group_id}/hosts/{host_id}",
        "measurements": last_hour(path),
    }

    databaseName = ShownText(source="name", example="orders")
    links = links_of(f"/groups/{ANOTHER_ID}/hosts/{AN_ID}/databases/orders")


def database_path(host: Host, name: str) -> str:
    """Return the path of the database in the API."""
    return f"{host_path(host)}/databases/{quote(name, safe='')}"


class ClusterDocument(Resource):
    """The hosts that agents report with the same cluster name."""

    path = "/groups/{groupId}/clusters/{id}"
    relations = {"group": "/groups/{groupId}"}

    id = ShownId()
    groupId = ShownId(source="group_id", example=ANOTHER_ID)
    clusterName = ShownText(source="name", example="orders")
    typeName = ShownChoice(
        [cluster_type.value for cluster_type in ClusterType],
        source="type_name",
        required=False,
        help_text="Absent until a host reports whether it is a member of a replica set or shard.",
        example=ClusterType.SHARDED_REPLICA_SET.value,
    )
    replicaSetNames = ShownList(
        child=serializers.CharField(), source="replica_set_names", example=["rs0", "rs1"]
    )
    shardNames = ShownList(child=serializers.CharField(), source="shard_names", example=["shard0", "shard1"])
    replicaSetName = ShownText(
        source="only_replica_set_name", required=False, help_text="Only if there is exactly one."
    )
    shardName = ShownText(source="only_shard_name", required=False, help_text="Only if there is exactly one.")
    lastHeartbeat = ShownTime(
        source="last_report", required=False, help_text="Time of the last report of one of its hosts."
    )
    links = LinkDocument(many=True)
