"""Clusters as the API shows them."""

from collections.abc import Sequence

from rest_framework import serializers

from automation.choices import ClusterType
from automation.selectors.clusters import ClusterRow
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.links import Links
from opsapi.wire_json import JsonObject


class ClusterDocument(Document):
    """The hosts that agents report with the same cluster name."""

    example = {
        "id": AN_ID,
        "groupId": ANOTHER_ID,
        "clusterName": "orders",
        "typeName": ClusterType.SHARDED_REPLICA_SET.value,
        "replicaSetNames": ["rs0", "rs1"],
        "shardNames": ["shard0", "shard1"],
        "lastHeartbeat": A_TIME,
        "links": self_link(f"/groups/{ANOTHER_ID}/clusters/{AN_ID}"),
    }

    id = serializers.CharField()
    groupId = serializers.CharField()
    clusterName = serializers.CharField()
    typeName = serializers.ChoiceField(
        [cluster_type.value for cluster_type in ClusterType],
        required=False,
        help_text="Absent until a host reports whether it is a member of a replica set or shard.",
    )
    replicaSetNames = serializers.ListField(child=serializers.CharField())
    shardNames = serializers.ListField(child=serializers.CharField())
    replicaSetName = serializers.CharField(required=False, help_text="Only if there is exactly one.")
    shardName = serializers.CharField(required=False, help_text="Only if there is exactly one.")
    lastHeartbeat = serializers.DateTimeField(
        required=False, help_text="Time of the last report of one of its hosts."
    )
    links = LinkDocument(many=True)


def present_cluster(row: ClusterRow, links: Links, *, alone: bool = False) -> JsonObject:
    """Return the document of a cluster; `alone` adds its relations."""
    group = f"/groups/{row['group_id']}"
    shown = {
        "id": row["id"],
        "groupId": row["group_id"],
        "clusterName": row["name"],
        "typeName": _type_name(row),
        "replicaSetNames": row["replica_set_names"],
        "shardNames": row["shard_names"],
        "replicaSetName": _single(row["replica_set_names"]),
        "shardName": _single(row["shard_names"]),
        "lastHeartbeat": row["wire_last_report"],
        "links": links.related(f"{group}/clusters/{row['id']}", {"group": group} if alone else {}),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _single(names: Sequence[str]) -> str | None:
    return names[0] if len(names) == 1 else None


def _type_name(row: ClusterRow) -> str | None:
    if row["sharded"]:
        return ClusterType.SHARDED_REPLICA_SET.value
    return ClusterType.REPLICA_SET.value if row["replicated"] else None
