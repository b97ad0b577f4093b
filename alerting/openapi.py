"""Describes notifications to drf-spectacular."""

from typing import cast

from drf_spectacular.openapi import AutoSchema

from alerting.configs.notification_documents import TypedNotification
from integrations.openapi import TypedDocumentExtension
from opsapi.wire_json import JsonObject


class TypedNotificationExtension(TypedDocumentExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Adds the fields that answers always have to the OpenAPI document."""

    target_class = TypedNotification
    priority = 2

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonObject:
        """The document's schema; a deleted team has no name."""
        schema = super().map_serializer(auto_schema, direction)
        required = [name for name in schema["required"] if name != "teamName"]
        arrays = cast(TypedNotification, self.target).kind.arrays
        in_answers = ["delayMin", "id", *arrays] if direction == "response" else []
        return {**schema, "required": sorted([*required, *in_answers])}
