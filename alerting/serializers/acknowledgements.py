"""The document that acknowledges an alert."""

from typing import Any

from rest_framework import serializers

from alerting.serializers.alerts import AlertDocument
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import invalid
from opsapi.api.examples import A_TIME
from opsapi.api.fields import DateTime, Text


class Comment(Text):
    """Why an alert is acknowledged, or by when something is done about it."""

    code = ErrorCode.ACKNOWLEDGEMENT_COMMENT_TOO_LONG

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=500, single_line=False, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The comment."""
        if isinstance(data, str) and len(data) > self.bounds[1]:
            raise invalid(f"must have at most {self.bounds[1]} characters", self.code)
        return super().run_validation(data)


class AcknowledgementDocument(AlertDocument):
    """Acknowledges an alert; the other fields of its document are ignored if unchanged."""

    request_example = {"acknowledgedUntil": A_TIME, "acknowledgementComment": "New disks have been ordered."}
    writable = frozenset({"acknowledgedUntil", "acknowledgementComment"})

    acknowledgedUntil = DateTime(help_text="A time in the past removes the acknowledgement.")
    acknowledgementComment = Comment(required=False)
