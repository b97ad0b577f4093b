"""The targets of scrapers as the API shows them."""

from typing import Any, ClassVar

from rest_framework import serializers

from opsapi.api.documents import AN_ID, ANOTHER_ID, Document
from opsapi.api.fields import ShownList
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.wire_json import JsonObject


class TargetLabels(ShapedDocument):
    """The labels of a target: computed labels, and labels from the agent of the host."""

    example = {
        "group_id": AN_ID,
        "group_name": "payments",
        "org_id": ANOTHER_ID,
        "process_port": "27017",
        "cl_name": "orders",
        "rs_nm": "orders_0",
        "env": "production",
    }

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:  # noqa: ARG003 - it refers to no other
        """An object of strings. The labels from the agent have any other names."""
        text = {"type": "string"}
        return {
            "type": "object",
            "description": cls.__doc__,
            "properties": {
                "group_id": text,
                "group_name": text,
                "org_id": text,
                "process_port": text,
                "cl_name": {**text, "description": "Name of the cluster."},
                "rs_nm": {**text, "description": "Name of the replica set."},
            },
            "required": ["group_id", "group_name", "org_id"],
            "additionalProperties": text,
        }


class TargetGroup(Document):
    """A target and its labels."""

    targets = ShownList(child=serializers.CharField(), example=["db1.example.com:9216"])
    labels = TargetLabels()


class DiscoveryDocument(ShapedDocument):
    """The targets of a project."""

    example: ClassVar[Any] = [TargetGroup.sample()]

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        return {"type": "array", "items": reference(TargetGroup)}
