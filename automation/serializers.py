"""The fleet as the API shows it."""

from typing import Any

from rest_framework import serializers

from automation.choices import HostType
from automation.metrics import Metric, allowed_units, base_unit
from automation.selectors import HostRow
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.links import Links


class HostDocument(Document):
    """A host with its state as last reported."""

    id = serializers.CharField()
    groupId = serializers.CharField()
    hostname = serializers.CharField()
    port = serializers.IntegerField()
    typeName = serializers.ChoiceField([one.value for one in HostType])
    reachable = serializers.BooleanField(required=False, help_text="Absent until the first report.")
    version = serializers.CharField(required=False)
    replicaSetName = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    shardName = serializers.CharField(required=False)
    uptimeSeconds = serializers.IntegerField(required=False)
    created = serializers.DateTimeField()
    lastReport = serializers.DateTimeField(required=False)
    links = LinkDocument(many=True)


class MetricDocument(Document):
    """One metric with its units."""

    metricName = serializers.CharField()
    units = serializers.CharField(help_text="What a report without units means, and what is stored.")
    allowedUnits = serializers.ListField(child=serializers.CharField())


def present_host(row: HostRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A host."""
    reported = row["wire_last_report"] is not None
    shown = {
        "id": row["id"],
        "groupId": row["group_id"],
        "hostname": row["hostname"],
        "port": row["port"],
        "typeName": row["type_name"],
        "reachable": not row["down"] if reported else None,
        "version": row["version"],
        "replicaSetName": row["replica_set_name"],
        "clusterName": row["cluster_name"],
        "shardName": row["shard_name"],
        "uptimeSeconds": row["uptime_seconds"],
        "created": row["wire_created"],
        "lastReport": row["wire_last_report"],
        "links": _links(row, links, alone),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _links(row: HostRow, links: Links, alone: bool) -> list[dict[str, str]]:
    group = f"/groups/{row['group_id']}"
    return links.related(f"{group}/hosts/{row['id']}", {"group": group} if alone else {})


METRIC_ROWS: list[dict[str, Any]] = [
    {
        "metricName": metric.value,
        "units": base_unit(metric).value,
        "allowedUnits": [unit.value for unit in allowed_units(metric)],
    }
    for metric in Metric
]
