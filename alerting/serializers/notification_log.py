"""The notification log, and the results of test notifications, as the API shows them."""

from collections.abc import Iterable

from rest_framework import serializers

from alerting.choices import NotificationStatus
from alerting.notification_tests import NotificationTest
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.selectors.notification_log import LoggedAttempt, LoggedRow
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.channels.webhook import WEBHOOK
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, LinkDocument
from opsapi.wire_json import JsonObject, without_nulls

_TIME_HELP = "Absent if the receiver could not be reached."


class AttemptDocument(Document):
    """One try to deliver a notification."""

    example = {"number": 1, "ended": A_TIME, "status": "DELIVERED", "latencyMs": 84}

    number = serializers.IntegerField()
    ended = serializers.DateTimeField(required=False, help_text=_TIME_HELP)
    status = serializers.ChoiceField([status.name for status in DeliveryStatus])
    reason = serializers.CharField(required=False)
    latencyMs = serializers.IntegerField(required=False, help_text=_TIME_HELP)


class LoggedNotificationDocument(Document):
    """A notification, its recipient and its outcome, or why it was not sent."""

    example = {
        "id": AN_ID,
        "notificationId": ANOTHER_ID,
        "kind": MessageKind.OPEN.value,
        "typeName": EMAIL.type,
        "channel": EMAIL.type,
        "recipient": "oncall@example.com",
        "status": NotificationStatus.DELIVERED.value,
        "created": A_TIME,
        "delivered": A_TIME,
        "latencyMs": 84,
        "attempts": [AttemptDocument.example],
        "links": [],
    }

    id = serializers.CharField(help_text="The delivery ID, the same for every attempt.")
    notificationId = serializers.CharField(help_text="ID of the notification in the alert configuration.")
    kind = serializers.ChoiceField([kind.value for kind in MessageKind])
    typeName = serializers.ChoiceField([*NOTIFICATION_TYPES])
    channel = serializers.ChoiceField(
        [*CHANNELS],
        required=False,
        help_text="Absent until the recipients are known.",
    )
    recipient = serializers.CharField(required=False, help_text="Redacted if it contains a secret.")
    status = serializers.ChoiceField([status.value for status in NotificationStatus])
    reason = serializers.CharField(
        required=False, help_text="Why the notification was not delivered, or not yet."
    )
    incidentId = serializers.CharField(
        required=False,
        help_text="The incident that the message is about; absent if the alert is notified separately.",
    )
    created = serializers.DateTimeField()
    due = serializers.DateTimeField(required=False, help_text="Time of the next attempt, while PENDING.")
    delivered = serializers.DateTimeField(required=False)
    latencyMs = serializers.IntegerField(
        required=False,
        help_text="Latency of the last attempt in milliseconds; absent if the receiver could not be reached.",
    )
    attempts = AttemptDocument(many=True)
    links = LinkDocument(many=True, help_text="Always empty: a notification has no URL of its own.")


def present_logged(row: LoggedRow, *, with_recipient: bool) -> JsonObject:
    is_pending = row["status"] == NotificationStatus.PENDING.value
    return without_nulls(
        {
            "id": row["id"],
            "notificationId": row["setting_id"],
            "kind": row["kind"],
            "typeName": row["type_name"],
            "channel": row["channel"],
            "recipient": (row["recipient"] or None) if with_recipient else None,
            "status": row["status"],
            "reason": row["reason"],
            "incidentId": row["incident_id"],
            "created": row["wire_created"],
            "due": row["wire_due"] if is_pending else None,
            "delivered": row["wire_delivered"],
            "latencyMs": row["latency_ms"],
            "attempts": [_attempt(attempt) for attempt in reversed(row["attempts_json"])],
            "links": [],
        }
    )


def _attempt(row: LoggedAttempt) -> JsonObject:
    return without_nulls(
        {
            "number": row["number"],
            "ended": None if row["latency_ms"] is None else row["wire_ended"],
            "status": DeliveryStatus(row["status"]).name,
            "reason": row["reason"],
            "latencyMs": row["latency_ms"],
        }
    )


_ENDS = [NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value]


class NotificationTestDocument(Document):
    """How the test of one notification ended."""

    example = {
        "notificationId": AN_ID,
        "typeName": WEBHOOK.type,
        "status": "FAILED",
        "reason": "the receiver could not be reached",
    }

    notificationId = serializers.CharField()
    typeName = serializers.CharField()
    status = serializers.ChoiceField(_ENDS)
    reason = serializers.CharField(required=False, help_text="Reason of a failure; absent if delivered.")


class AlertConfigTestDocument(Document):
    """How the tests of a configuration's notifications ended, in their order."""

    example = {"results": [NotificationTestDocument.example]}

    results = NotificationTestDocument(many=True)


def present_tests(tests: Iterable[NotificationTest]) -> JsonObject:
    return {"results": [_present(test) for test in tests]}


def _present(test: NotificationTest) -> JsonObject:
    return without_nulls(
        {
            "notificationId": test.setting.id,
            "typeName": test.setting.type_name,
            "status": (
                NotificationStatus.DELIVERED if test.is_delivered else NotificationStatus.FAILED
            ).value,
            "reason": test.outcome.reason,
        }
    )
