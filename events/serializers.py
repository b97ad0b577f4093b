"""Events as the API shows them."""

from rest_framework import serializers

from events.choices import DiffStatus, DiffType
from events.selectors import EventRow
from events.types import EVENT_TYPES, Category, EventType, EventTypeSpec
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, LinkDocument, self_link
from opsapi.api.links import Links
from opsapi.wire_json import JsonObject, without_nulls

GLOBAL_EVENTS = "/globalEvents"
_ONE_SHOTS = frozenset(spec.name for spec in EVENT_TYPES.values() if spec.one_shot)


class CurrentValueDocument(Document):
    """A measured value with its units."""

    example = {"number": 812, "units": "RAW"}

    number = serializers.FloatField()
    units = serializers.CharField()


class EventDocument(Document):
    """An event."""

    example = {
        "id": AN_ID,
        "created": A_TIME,
        "eventTypeName": EventType.ALERT_CONFIG_CHANGED_AUDIT.value,
        "groupId": ANOTHER_ID,
        "alertConfigId": "69201a2b3c4d5e6f70819205",
        "apiKeyId": "69201a2b3c4d5e6f70819206",
        "publicKey": "k3yp7b",
        "isGlobalAdmin": False,
        "remoteAddress": "192.0.2.7",
        "links": self_link(f"/globalEvents/{AN_ID}"),
    }

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
    """An event of a project or an organization, with what changed."""

    example = {
        **EventDocument.example,
        "links": self_link(f"/groups/{ANOTHER_ID}/events/{AN_ID}"),
        "diffs": [
            {
                "id": "69201a2b3c4d5e6f70819205",
                "type": DiffType.ALERT_CONFIG.value,
                "status": DiffStatus.MODIFIED.value,
                "params": [{"param": "enabled", "display": "enabled", "old": "true", "new": "false"}],
            }
        ],
    }

    diffs = DiffDocument(many=True)
    raw = serializers.DictField(required=False, help_text="Only with includeRaw=true.")


class EventTypeDocument(Document):
    """One event type."""

    example = {
        "eventTypeName": EventType.HOST_DOWN.value,
        "category": Category.HOST.value,
        "alertable": True,
        "toldOnce": False,
        "globalOnly": False,
        "reported": False,
        "produced": True,
        "closedBy": EventType.HOST_UP.value,
    }

    eventTypeName = serializers.CharField()
    category = serializers.CharField()
    alertable = serializers.BooleanField(help_text="Whether an alert configuration can use the type.")
    toldOnce = serializers.BooleanField(help_text="Notifies once and opens no alert.")
    globalOnly = serializers.BooleanField()
    reported = serializers.BooleanField(help_text="Whether agents can report the type.")
    produced = serializers.BooleanField(help_text="Whether this version creates such events.")
    closedBy = serializers.CharField(required=False)


def present_event(
    row: EventRow, links: Links, *, among: str = GLOBAL_EVENTS, alone: bool = False
) -> JsonObject:
    """An event; `among` is the path of the list that contains it, which its self link uses."""
    scope = {"groupId": row["group_id"], "orgId": row["org_id"], "alertId": row["alert_id"]}
    shown = {
        "id": row["id"],
        "created": row["wire_created"],
        "eventTypeName": row["event_type"],
        **without_nulls(scope),
        **row["details"],
    }
    # The host type of a backup is for alerts only; the event document does not have it.
    shown.pop("sourceTypeName", None)
    return {**shown, "links": links.related(f"{among}/{row['id']}", _relations(row) if alone else {})}


def present_changes(row: EventRow, *, include_raw: bool) -> JsonObject:
    """The other fields of a project's or an organization's event: its diffs, and `raw` if requested."""
    return {"diffs": row["diffs"], **({"raw": row["raw"]} if include_raw else {})}


def _relations(row: EventRow) -> dict[str, str]:
    """Its project and organization; for a one-shot event also the notifications."""
    scopes = (("group", "groups", row["group_id"]), ("org", "orgs", row["org_id"]))
    relations = {name: f"/{path}/{scope_id}" for name, path, scope_id in scopes if scope_id}
    if row["group_id"] and row["event_type"] in _ONE_SHOTS:
        relations["notifications"] = f"{relations['group']}/events/{row['id']}/notifications"
    return relations


def present_event_type(spec: EventTypeSpec) -> JsonObject:
    """An event type of the table."""
    shown: JsonObject = {
        "eventTypeName": spec.name,
        "category": spec.category.value,
        "alertable": spec.alertable,
        "toldOnce": spec.one_shot,
        "globalOnly": spec.global_only,
        "reported": spec.reported,
        "produced": spec.produced,
    }
    if spec.closed_by:
        shown["closedBy"] = spec.closed_by
    return shown


EVENT_TYPE_ROWS = [present_event_type(spec) for spec in EVENT_TYPES.values()]
