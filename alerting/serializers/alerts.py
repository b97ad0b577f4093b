"""Alerts as the API and webhooks show them (contract 2.6)."""

from typing import Any

from rest_framework import serializers

from alerting.choices import AlertStatus
from alerting.selectors.alerts import AlertRow
from automation.metrics import Metric, base_unit
from events.serializers import CurrentValueDocument
from events.types import EventType
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.links import Links


class AlertDocument(Document):
    """An alert."""

    example = {
        "id": AN_ID,
        "alertConfigId": "69201a2b3c4d5e6f70819205",
        "groupId": ANOTHER_ID,
        "eventTypeName": EventType.OUTSIDE_METRIC_THRESHOLD.value,
        "created": A_TIME,
        "updated": A_TIME,
        "lastNotified": A_TIME,
        "status": AlertStatus.OPEN.value,
        "tags": [],
        "metricName": Metric.CONNECTIONS.value,
        "currentValue": CurrentValueDocument.example,
        "hostId": "69201a2b3c4d5e6f70819206",
        "hostnameAndPort": "db1.example.com:27017",
        "replicaSetName": "rs0",
        "links": self_link(f"/groups/{ANOTHER_ID}/alerts/{AN_ID}"),
    }

    id = serializers.CharField()
    alertConfigId = serializers.CharField()
    groupId = serializers.CharField()
    eventTypeName = serializers.CharField()
    created = serializers.DateTimeField()
    updated = serializers.DateTimeField()
    lastNotified = serializers.DateTimeField(required=False)
    resolved = serializers.DateTimeField(required=False)
    status = serializers.ChoiceField([status.value for status in AlertStatus])
    tags = serializers.ListField(child=serializers.CharField())
    links = LinkDocument(many=True)
    acknowledgedUntil = serializers.DateTimeField(required=False)
    acknowledgementComment = serializers.CharField(required=False)
    acknowledgingUsername = serializers.CharField(required=False)
    currentValue = CurrentValueDocument(required=False)
    metricName = serializers.CharField(required=False)
    clusterId = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    hostId = serializers.CharField(required=False)
    hostnameAndPort = serializers.CharField(required=False)
    replicaSetName = serializers.CharField(required=False)
    sourceTypeName = serializers.CharField(required=False)


def present_alert(row: AlertRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """An alert."""
    group = f"/groups/{row['group_id']}"
    shown = {
        "id": row["id"],
        "alertConfigId": row["config_id"],
        "groupId": row["group_id"],
        "eventTypeName": row["event_type"],
        "created": row["wire_created"],
        "updated": row["wire_updated"],
        "status": row["status"],
        "tags": row["tags"],
        **_target(row["facts"]),
    }
    for name, column in _OPTIONAL:
        if row[column] is not None:
            shown[name] = row[column]
    if row["current_value"] is not None:
        units = base_unit(Metric(row["metric_name"])).value
        shown["currentValue"] = {"number": row["current_value"], "units": units}
    relations = {"group": group, "alertConfig": f"{group}/alertConfigs/{row['config_id']}"} if alone else {}
    shown["links"] = links.related(f"{group}/alerts/{row['id']}", relations)
    return shown


_OPTIONAL = (
    ("lastNotified", "wire_last_notified"),
    ("resolved", "wire_resolved"),
    ("acknowledgedUntil", "wire_acknowledged_until"),
    ("acknowledgementComment", "acknowledgement_comment"),
    ("acknowledgingUsername", "acknowledging_username"),
    ("metricName", "metric_name"),
)


def _target(facts: dict[str, Any]) -> dict[str, Any]:
    """The fields that say what an alert is about (decisions 6 "other fields")."""
    shown = {name: facts[name] for name in _TARGET if name in facts}
    if "hostname" in facts:
        port = facts.get("port")
        shown["hostnameAndPort"] = facts["hostname"] if port is None else f"{facts['hostname']}:{port}"
    return shown


_TARGET = ("clusterId", "clusterName", "hostId", "replicaSetName", "sourceTypeName")
