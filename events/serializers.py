"""Events as the API shows them (contract 2.9)."""

from typing import Any

from rest_framework import serializers

from events.choices import DiffStatus, DiffType
from events.selectors import EventRow
from events.types import EVENT_TYPES, EventTypeSpec
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.links import Links


class CurrentValueDocument(Document):
    """A measured value with its units."""

    number = serializers.FloatField()
    units = serializers.CharField()


class EventDocument(Document):
    """An event."""

    id = serializers.CharField()
    created = serializers.DateTimeField()
    eventTypeName = serializers.CharField()
    alertId = serializers.CharField(required=False)
    alertConfigId = serializers.CharField(required=False)
    apiKeyId = serializers.CharField(required=False)
    publicKey = serializers.CharField(required=False)
    userId = serializers.CharField(required=False)
    username = serializers.CharField(required=False)
    isGlobalAdmin = serializers.BooleanField(required=False)
    remoteAddress = serializers.CharField(required=False)
    clusterId = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    collection = serializers.CharField(required=False)
    database = serializers.CharField(required=False)
    currentValue = CurrentValueDocument(required=False)
    groupId = serializers.CharField(required=False)
    orgId = serializers.CharField(required=False)
    hostId = serializers.CharField(required=False)
    hostname = serializers.CharField(required=False)
    metricName = serializers.CharField(required=False)
    opType = serializers.CharField(required=False)
    port = serializers.IntegerField(required=False)
    replicaSetName = serializers.CharField(required=False)
    shardName = serializers.CharField(required=False)
    targetPublicKey = serializers.CharField(required=False)
    targetUsername = serializers.CharField(required=False)
    teamId = serializers.CharField(required=False)
    accessListEntry = serializers.CharField(required=False)
    maintenanceWindowId = serializers.CharField(required=False)
    links = LinkDocument(many=True)


class DiffParamDocument(Document):
    """One changed parameter."""

    param = serializers.CharField()
    display = serializers.CharField()
    old = serializers.CharField(required=False)
    new = serializers.CharField(required=False)


class DiffDocument(Document):
    """Changes to one resource."""

    id = serializers.CharField()
    type = serializers.ChoiceField([kind.value for kind in DiffType])
    status = serializers.ChoiceField([status.value for status in DiffStatus])
    params = DiffParamDocument(many=True)


class GroupEventDocument(EventDocument):
    """A project event, with what changed."""

    diffs = DiffDocument(many=True)
    raw = serializers.DictField(required=False, help_text="Only with includeRaw=true.")


class EventTypeDocument(Document):
    """One event type."""

    eventTypeName = serializers.CharField()
    category = serializers.CharField()
    alertable = serializers.BooleanField(help_text="Whether an alert configuration can name it.")
    toldOnce = serializers.BooleanField(help_text="Notifies once and opens nothing.")
    globalOnly = serializers.BooleanField()
    reported = serializers.BooleanField(help_text="Whether agents may report it.")
    closedBy = serializers.CharField(required=False)


def present_event(
    row: EventRow, links: Links, *, alone: bool = False, in_group: bool = False
) -> dict[str, Any]:
    """An event; its self link is the project's where it was read there, else the global one."""
    shown = {"id": row["id"], "created": row["wire_created"], "eventTypeName": row["event_type"]}
    for name, column in (("groupId", "group_id"), ("orgId", "org_id"), ("alertId", "alert_id")):
        if row[column] is not None:
            shown[name] = row[column]
    shown.update(row["details"])
    # The kind of host a backup concerns is for alerts; the event document does not have it.
    shown.pop("sourceTypeName", None)
    path = f"/groups/{row['group_id']}/events/{row['id']}" if in_group else f"/globalEvents/{row['id']}"
    relations = {"group": f"/groups/{row['group_id']}"} if alone and row["group_id"] else {}
    return {**shown, "links": links.related(path, relations)}


def present_group_event(row: EventRow, links: Links, *, alone: bool, include_raw: bool) -> dict[str, Any]:
    """A project event with its diffs, and raw when asked for."""
    shown = present_event(row, links, alone=alone, in_group=True)
    shown["diffs"] = row["diffs"]
    if include_raw:
        shown["raw"] = row["raw"]
    return shown


def present_event_type(spec: EventTypeSpec) -> dict[str, Any]:
    """An event type of the table."""
    shown: dict[str, Any] = {
        "eventTypeName": spec.name,
        "category": spec.category.value,
        "alertable": spec.alertable,
        "toldOnce": spec.told_once,
        "globalOnly": spec.global_only,
        "reported": spec.reported,
    }
    if spec.closed_by:
        shown["closedBy"] = spec.closed_by
    return shown


EVENT_TYPE_ROWS = [present_event_type(spec) for spec in EVENT_TYPES.values()]
