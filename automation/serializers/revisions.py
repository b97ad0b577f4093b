"""Revisions of the automation configuration as the API lists them."""

from rest_framework import serializers

from automation.selectors.revisions import RevisionRow
from events.choices import DiffStatus
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import Whole
from opsapi.api.links import Links
from opsapi.api.principal import ActorKind
from opsapi.wire_json import JsonObject


class RevisionDocument(Document):
    """A published version: its time, its author, and the number of changed processes."""

    example = {
        "version": 2,
        "created": A_TIME,
        "apiKeyId": AN_ID,
        "publicKey": "k3yp7b",
        "changes": {DiffStatus.MODIFIED.value: 1},
        "links": self_link(f"/groups/{ANOTHER_ID}/automationConfig/revisions/2"),
    }

    version = serializers.IntegerField()
    created = serializers.DateTimeField()
    apiKeyId = serializers.CharField(required=False)
    publicKey = serializers.CharField(required=False)
    userId = serializers.CharField(required=False)
    username = serializers.CharField(required=False)
    restoredFrom = serializers.IntegerField(required=False, help_text="The version that was restored.")
    changes = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Number of changed processes by status, as in the event of the publication.",
    )
    links = LinkDocument(many=True)


class RestoreDocument(Document):
    """The optional body of a restore."""

    example = {"version": 2}

    version = Whole(required=False, help_text="Must be the current version.")


def present_revision(row: RevisionRow, links: Links) -> JsonObject:
    """Return the document of a revision in a list."""
    is_user = row["actor_kind"] == ActorKind.USER.value
    id_name, name = ("userId", "username") if is_user else ("apiKeyId", "publicKey")
    shown = {
        "version": row["number"],
        "created": row["wire_created"],
        id_name: row["actor_id"],
        name: row["actor_name"],
        "restoredFrom": row["restored_from"],
        "changes": row["changes"],
        "links": links.self_only(f"/groups/{row['group_id']}/automationConfig/revisions/{row['number']}"),
    }
    return {field: value for field, value in shown.items() if value is not None}
