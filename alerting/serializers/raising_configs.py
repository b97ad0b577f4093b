"""The configuration that raised an alert: a project's own, or a global one."""

from alerting.serializers.configs import AlertConfigDocument, GlobalAlertConfigDocument
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.wire_json import JsonObject


class RaisingConfigDocument(ShapedDocument):
    """An alert configuration of either kind."""

    example = AlertConfigDocument.example

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        """One of the two documents."""
        return {"anyOf": [reference(kind) for kind in (AlertConfigDocument, GlobalAlertConfigDocument)]}
