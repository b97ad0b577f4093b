"""The notification log, and the results of test notifications, as the API shows them."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Case, CharField, Value, When
from django.db.models.functions import NullIf, Upper
from rest_framework import serializers

from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.engine.choices import NotificationStatus
from alerting.engine.notification_log import MOST_MERGED, merged_into_this, merged_reason, newest_attempts
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.channels.webhook import WEBHOOK
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.api.answers import Answer
from opsapi.api.documents import ANOTHER_ID, Document, LinkDocument
from opsapi.api.fields import ShownChoice, ShownFlag, ShownId, ShownNumber, ShownText, ShownTime
from opsapi.api.resources import Facts, Resource
from opsapi.fields import WireTime

KINDS = [kind.value for kind in MessageKind]
"""The wire values of a notification's `kind`."""
STATUSES = [status.value for status in NotificationStatus]
TYPE_NAMES = [*NOTIFICATION_TYPES]

_TIME_HELP = "Absent if the receiver could not be reached."


class AttemptDocument(Resource):
    """One try to deliver a notification."""

    path = ""
    columns = {
        "ended": Case(When(latency_ms__isnull=False, then=WireTime("ended"))),
        "status": Upper("status"),
    }

    number = ShownNumber(example=1)
    ended = ShownTime(required=False, help_text=_TIME_HELP)
    status = ShownChoice([status.name for status in DeliveryStatus], example=DeliveryStatus.DELIVERED.name)
    reason = ShownText(required=False)
    latencyMs = ShownNumber(source="latency_ms", required=False, help_text=_TIME_HELP, example=84)


class MergedNotificationDocument(Resource):
    """A notification that was merged into the one that sent the message."""

    path = ""

    id = ShownId(help_text="ID of the merged notification in this log.", example=ANOTHER_ID)
    notificationId = ShownId(
        source="setting_id",
        help_text="ID of the merged notification in the alert configuration.",
        example=ANOTHER_ID,
    )
    typeName = ShownChoice(TYPE_NAMES, source="type_name", example="TEAM")


class LoggedNotificationDocument(Resource):
    """A notification, its recipient and its outcome, or why it was not sent."""

    path = ""
    columns = {
        "due": Case(When(status=NotificationStatus.PENDING.value, then=WireTime("due"))),
        "updatedInPlace": Case(When(in_place=True, then=Value(True))),
        "attempts": AttemptDocument.array(newest_attempts()),
        "reason": merged_reason(),
        # The incident of an alert that is notified separately is no more than the alert.
        "incidentId": NullIf("incident_id", "alert_id", output_field=CharField()),
        "mergedFrom": MergedNotificationDocument.array(merged_into_this()),
    }

    id = ShownId(help_text="The delivery ID, the same for every attempt.")
    notificationId = ShownId(
        source="setting_id",
        help_text="ID of the notification in the alert configuration.",
        example=ANOTHER_ID,
    )
    kind = ShownChoice(KINDS, example=MessageKind.OPEN.value)
    typeName = ShownChoice(TYPE_NAMES, source="type_name", example=EMAIL.type)
    channel = ShownChoice(
        [*CHANNELS],
        required=False,
        help_text="Absent until the recipients are known.",
        example=EMAIL.type,
    )
    recipient = ShownText(
        source="shown_recipient",
        required=False,
        help_text="Redacted if it contains a secret.",
        example="oncall@example.com",
    )
    status = ShownChoice(STATUSES, example=NotificationStatus.DELIVERED.value)
    reason = ShownText(
        required=False,
        help_text="Why the notification was not delivered, or not yet. If it was merged, the reason "
        "names the notification of the alert configuration that sent the message.",
    )
    mergedInto = ShownId(
        source="merged_into",
        required=False,
        help_text="ID of the notification in this log that sent the same message to the same address. Absent "
        "if this notification sends its own message.",
    )
    mergedFrom = MergedNotificationDocument(
        many=True,
        help_text=f"The notifications that were merged into this notification, at most {MOST_MERGED}.",
    )
    updatedInPlace = ShownFlag(
        required=False,
        help_text="True if the notification changed an earlier message about the alert; otherwise absent.",
    )
    incidentId = ShownId(
        source="incident_id",
        required=False,
        help_text="The incident that the message is about; absent if the alert is notified separately.",
    )
    created = ShownTime()
    due = serializers.DateTimeField(required=False, help_text="Time of the next attempt, while PENDING.")
    delivered = ShownTime(required=False)
    latencyMs = ShownNumber(
        source="latency_ms",
        required=False,
        help_text="Latency of the last attempt in milliseconds; absent if the receiver could not be reached.",
        example=84,
    )
    attempts = AttemptDocument(many=True)
    links = LinkDocument(many=True, help_text="Always empty: a notification has no URL of its own.")

    @classmethod
    def facts(cls, row: Iterable[Any]) -> Facts:
        """Return the notification with its attempts in the order of time."""
        facts = super().facts(row)
        return {**facts, "attempts": facts["attempts"][::-1]}


_ENDS = [NotificationStatus.DELIVERED.value, NotificationStatus.FAILED.value]


class NotificationTestDocument(Answer):
    """How the test of one notification ended."""

    computed = {
        "status": lambda test: (
            NotificationStatus.DELIVERED if test.is_delivered else NotificationStatus.FAILED
        ),
        "reason": lambda test: test.outcome.own_reason or test.outcome.reason,
        "mergedInto": lambda test: [sender.id for sender in test.merged_into],
    }

    notificationId = ShownId(source="setting.id")
    typeName = ShownText(source="setting.type_name", example=WEBHOOK.type)
    status = ShownChoice(_ENDS, example=NotificationStatus.FAILED.value)
    reason = ShownText(
        required=False,
        help_text="Reason of a failure, without the text of the receiver; absent if delivered.",
        example="the receiver could not be reached",
    )
    mergedInto = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="IDs of the notifications that sent the test to addresses of this notification: an address "
        "gets one message. Absent if the notification sent all its messages.",
    )


class AlertConfigTestDocument(Document):
    """How the tests of a configuration's notifications ended, in their order."""

    results = NotificationTestDocument(many=True)
