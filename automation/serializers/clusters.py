"""Clusters as the API shows them."""

from rest_framework import serializers

from automation.choices import ClusterType
from opsapi.api.documents import ANOTHER_ID, LinkDocument
from opsapi.api.fields import ShownChoice, ShownId, ShownList, ShownText, ShownTime
from opsapi.api.resources import Resource


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
