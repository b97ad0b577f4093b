"""Events as the API shows them."""

from rest_framework import serializers

from events.choices import DiffStatus, DiffType
from events.log.store import EventRow
from events.types import EVENT_TYPES, EventType, Severity
from opsapi.api.answers import Answer
from opsapi.api.documents import AN_ID, ANOTHER_ID, Document, links_of
from opsapi.api.fields import ShownFlag, ShownFloat, ShownId, ShownText, ShownTime
from opsapi.api.links import Links
from opsapi.wire_json import JsonObject, without_nulls

GLOBAL_EVENTS = "/globalEvents"
_ONE_SHOTS = frozenset(spec.name for spec in EVENT_TYPES.values() if spec.one_shot)


class CurrentValueDocument(Document):
    """A measured value with its units."""

    number = ShownFloat(example=812)
    units = ShownText(example="RAW")


class EventDocument(Document):
    """An event."""

    order = ("id", "created", "eventTypeName", "groupId", "orgId", "alertId")

    id = ShownId()
    created = ShownTime()
    eventTypeName = ShownText(example=EventType.ALERT_CONFIG_CHANGED_AUDIT.value)
    alertId = serializers.CharField(required=False)
    alertConfigId = ShownId(required=False, example="69201a2b3c4d5e6f70819205")
    apiKeyId = ShownId(required=False, example="69201a2b3c4d5e6f70819206")
    publicKey = ShownText(required=False, example="k3yp7b")
    userId = serializers.CharField(required=False)
    username = serializers.CharField(required=False)
    isGlobalAdmin = ShownFlag(required=False, example=False)
    remoteAddress = ShownText(required=False, example="192.0.2.7")
    clusterId = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    collection = serializers.CharField(required=False)
    database = serializers.CharField(required=False)
    currentValue = CurrentValueDocument(required=False, example={})
    groupId = ShownId(required=False, example=ANOTHER_ID)
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
    links = links_of(f"{GLOBAL_EVENTS}/{AN_ID}")

    @classmethod
    def present(
        cls, row: EventRow, links: Links, *, among: str = GLOBAL_EVENTS, alone: bool = False
    ) -> JsonObject:
        """Return an event; `among` is the path of the list that contains it, which its self link uses."""
        scope = {"groupId": row["group_id"], "orgId": row["org_id"], "alertId": row["alert_id"]}
        document = {
            "id": row["id"],
            "created": row["wire_created"],
            "eventTypeName": row["event_type"],
            **without_nulls(scope),
            **row["details"],
        }
        # The host type of a backup is for alerts only; the event document does not have it.
        document.pop("sourceTypeName", None)
        return {**document, "links": links.related(f"{among}/{row['id']}", _relations(row) if alone else {})}


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

    links = links_of(f"/groups/{ANOTHER_ID}/events/{AN_ID}")
    diffs = DiffDocument(
        many=True,
        example={
            "id": "69201a2b3c4d5e6f70819205",
            "type": DiffType.ALERT_CONFIG.value,
            "status": DiffStatus.MODIFIED.value,
            "params": [{"param": "enabled", "display": "enabled", "old": "true", "new": "false"}],
        },
    )
    raw = serializers.DictField(required=False, help_text="Only with includeRaw=true.")


class EventTypeDocument(Answer):
    """One event type."""

    eventTypeName = serializers.CharField(source="name")
    category = serializers.CharField()
    alertable = serializers.BooleanField(help_text="Whether an alert configuration can use the type.")
    toldOnce = serializers.BooleanField(source="one_shot", help_text="Notifies once and opens no alert.")
    globalOnly = serializers.BooleanField(source="global_only")
    reported = serializers.BooleanField(help_text="Whether agents can report the type.")
    produced = serializers.BooleanField(help_text="Whether this version creates such events.")
    closedBy = serializers.CharField(source="closed_by", required=False)
    severity = serializers.ChoiceField(
        list(Severity), required=False, help_text="The severity of alert configurations that choose none."
    )

    @classmethod
    def sample(cls) -> JsonObject:
        return cls.of(EVENT_TYPES[EventType.HOST_DOWN])


def _relations(row: EventRow) -> dict[str, str]:
    """Its project and organization; for a one-shot event also the notifications."""
    scopes = (("group", "groups", row["group_id"]), ("org", "orgs", row["org_id"]))
    relations = {name: f"/{path}/{scope_id}" for name, path, scope_id in scopes if scope_id}
    if row["group_id"] and row["event_type"] in _ONE_SHOTS:
        relations["notifications"] = f"{relations['group']}/events/{row['id']}/notifications"
    return relations
