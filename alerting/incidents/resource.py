"""Alerts as the API and webhooks show them, and their acknowledgement."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from rest_framework import serializers

from alerting.incidents.choices import AlertStatus
from alerting.incidents.store import AlertRow, current_value
from alerting.severities import SEVERITIES
from automation.metrics import Metric
from events.log.resource import CurrentValueDocument
from events.types import EVENT_TYPES, Category, EventType, Severity
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, invalid, links_of
from opsapi.api.fields import DateTime, ShownChoice, ShownId, ShownList, ShownText, ShownTime, Text
from opsapi.api.links import Links
from opsapi.hostnames import host_and_port
from opsapi.wire_json import JsonObject, without_nulls

GLOBAL_ALERTS = "/globalAlerts"
STATUSES = [status.value for status in AlertStatus]

_HOST = ("hostId", "hostnameAndPort")
_CLUSTER = ("clusterId", "clusterName")
_BY_CATEGORY: Mapping[Category, tuple[str, ...]] = {
    Category.AGENT: ("hostnameAndPort",),
    Category.AUTOMATION_CONFIG: (*_CLUSTER, *_HOST, "replicaSetName"),
    Category.BACKUP: (*_CLUSTER, *_HOST, "replicaSetName", "sourceTypeName"),
    Category.BI_CONNECTOR: _HOST,
    Category.CLUSTER: _CLUSTER,
    Category.HOST: (*_CLUSTER, *_HOST, "replicaSetName"),
    Category.REPLICA_SET: (*_CLUSTER, *_HOST, "replicaSetName"),
}
TARGET_FIELDS = (*_CLUSTER, "hostId", "replicaSetName", "sourceTypeName", "hostnameAndPort")
"""The fields of a target, in the order of answers."""
# The fields of the target that an alert of a type has, where they are known.
_TARGET = {name.value: _BY_CATEGORY.get(spec.category, ()) for name, spec in EVENT_TYPES.items()}


class AlertDocument(Document):
    """An alert."""

    order = (
        "id",
        "alertConfigId",
        "groupId",
        "eventTypeName",
        "created",
        "updated",
        "lastNotified",
        "status",
        "severity",
        "tags",
        "metricName",
        "currentValue",
        "hostId",
        "hostnameAndPort",
        "replicaSetName",
    )

    id = ShownId()
    alertConfigId = ShownId(example="69201a2b3c4d5e6f70819205")
    groupId = ShownId(example=ANOTHER_ID)
    eventTypeName = ShownText(example=EventType.OUTSIDE_METRIC_THRESHOLD.value)
    created = ShownTime()
    updated = ShownTime()
    lastNotified = ShownTime(required=False)
    resolved = serializers.DateTimeField(required=False)
    status = ShownChoice(STATUSES, example=AlertStatus.OPEN.value)
    severity = ShownChoice(
        SEVERITIES,
        example=Severity.WARNING.value,
        help_text="That of its configuration when the alert began.",
    )
    tags = ShownList(child=serializers.CharField(), example=[])
    links = links_of(f"/groups/{ANOTHER_ID}/alerts/{AN_ID}")
    acknowledgedUntil = serializers.DateTimeField(required=False)
    acknowledgementComment = serializers.CharField(required=False)
    acknowledgingUsername = serializers.CharField(required=False)
    currentValue = CurrentValueDocument(required=False)
    metricName = ShownText(required=False, example=Metric.CONNECTIONS.value)
    clusterId = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    hostId = ShownId(required=False, example="69201a2b3c4d5e6f70819206")
    hostnameAndPort = ShownText(required=False, example="db1.example.com:27017")
    replicaSetName = ShownText(required=False, example="rs0")
    sourceTypeName = serializers.CharField(required=False)

    @classmethod
    def present(
        cls, row: AlertRow, links: Links, *, now: datetime, among: str | None = None, alone: bool = False
    ) -> JsonObject:
        """Return an alert; `among` is the path of the list that contains it, by default its project's."""
        project_list = f"/groups/{row['group_id']}/alerts"
        path = f"{among or project_list}/{row['id']}"
        document = {
            "id": row["id"],
            "alertConfigId": row["config_id"],
            "groupId": row["group_id"],
            "eventTypeName": row["event_type"],
            "created": row["wire_created"],
            "updated": row["wire_updated"],
            "status": row["status"],
            "severity": row["severity"],
            "tags": row["tags"],
            **target_facts(row["event_type"], row["facts"]),
        }
        for name, column in _OPTIONAL:
            if row[column] is not None:
                document[name] = row[column]
        # An acknowledgement that has lapsed is absent. Times in this format sort in order of time.
        if row["wire_acknowledged_until"] is not None and row["wire_acknowledged_until"] > _on_the_wire(now):
            document |= _acknowledgement(row)
        if row["metric_name"] is not None:
            document |= _metric(row)
        document["links"] = links.related(path, _relations(document, row, path, among) if alone else {})
        return document


_OPTIONAL = (("lastNotified", "wire_last_notified"), ("resolved", "wire_resolved"))


def _acknowledgement(row: AlertRow) -> JsonObject:
    return without_nulls(
        {
            "acknowledgedUntil": row["wire_acknowledged_until"],
            "acknowledgementComment": row["acknowledgement_comment"],
            "acknowledgingUsername": row["acknowledging_username"],
        }
    )


@lru_cache(maxsize=1)
def _on_the_wire(now: datetime) -> str:
    """Once for the rows of a list."""
    return clock.wire_time(now)


def _metric(row: AlertRow) -> JsonObject:
    return without_nulls(
        {
            "metricName": row["metric_name"],
            "currentValue": current_value(row["metric_name"], row["current_value"]),
        }
    )


def _relations(document: Mapping[str, Any], row: AlertRow, path: str, among: str | None) -> dict[str, str]:
    """Links of a single alert, to its configuration and host if these still exist.

    A project's readers get no link to a global configuration.
    """
    group = f"/groups/{row['group_id']}"
    relations = {"group": group}
    if among == GLOBAL_ALERTS and row["has_config"]:
        relations["alertConfig"] = f"/globalAlertConfigs/{row['config_id']}"
    elif not row["is_global"] and row["has_config"]:
        relations["alertConfig"] = f"{group}/alertConfigs/{row['config_id']}"
    if "hostId" in document and row["has_host"]:
        relations["host"] = f"{group}/hosts/{document['hostId']}"
    return {**relations, "alertConfigs": f"{path}/alertConfigs", "notifications": f"{path}/notifications"}


def target_facts(event_type: str, facts: Mapping[str, Any]) -> JsonObject:
    """The target of an alert or event of this type, from its facts."""
    names = _TARGET[event_type]
    target = {name: facts[name] for name in names if name in facts}
    if "hostname" in facts and "hostnameAndPort" in names:
        target["hostnameAndPort"] = host_and_port(facts["hostname"], facts.get("port"))  # agents have no port
    return target


class Comment(Text):
    """Why an alert is acknowledged, or by when something is done about it."""

    code = ErrorCode.ACKNOWLEDGEMENT_COMMENT_TOO_LONG

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=500, single_line=False, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        if isinstance(data, str) and len(data) > self.bounds[1]:
            raise invalid(f"must have at most {self.bounds[1]} characters", self.code)
        return super().run_validation(data)


class AcknowledgementDocument(AlertDocument):
    """Acknowledges an alert; the other fields of its document are ignored if unchanged."""

    request_example = {"acknowledgedUntil": A_TIME, "acknowledgementComment": "New disks have been ordered."}
    writable = frozenset({"acknowledgedUntil", "acknowledgementComment"})

    acknowledgedUntil = DateTime(help_text="A time in the past removes the acknowledgement.")
    acknowledgementComment = Comment(required=False)
