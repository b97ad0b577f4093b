"""The answer of discovery: a bare array, as scrapers expect it."""

from typing import Any, ClassVar

from rest_framework import serializers

from opsapi.api.documents import AN_ID, ANOTHER_ID, Document
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.wire_json import JsonObject


class TargetLabels(Document):
    """The labels of a target."""

    example = {
        "group_id": AN_ID,
        "group_name": "payments",
        "org_id": ANOTHER_ID,
        "process_port": "27017",
        "cl_name": "orders",
        "rs_nm": "orders_0",
    }

    group_id = serializers.CharField()
    group_name = serializers.CharField()
    org_id = serializers.CharField()
    process_port = serializers.CharField(required=False)
    cl_name = serializers.CharField(required=False, help_text="Name of the cluster.")
    rs_nm = serializers.CharField(required=False, help_text="Name of the replica set.")


class TargetGroup(Document):
    """A target and its labels."""

    example = {"targets": ["db1.example.com:9216"], "labels": TargetLabels.example}

    targets = serializers.ListField(child=serializers.CharField())
    labels = TargetLabels()


class DiscoveryDocument(ShapedDocument):
    """The targets of a project."""

    example: ClassVar[Any] = [TargetGroup.example]

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        """An array of targets."""
        return {"type": "array", "items": reference(TargetGroup)}
