"""The result of the test of a configuration, as the API shows it."""

from collections.abc import Iterable

from rest_framework import serializers

from alerting.choices import NotificationStatus
from alerting.notification_tests import NotificationTest
from integrations.channels.webhook import WEBHOOK
from integrations.choices import DeliveryStatus
from opsapi.api.documents import AN_ID, Document
from opsapi.wire_json import JsonObject, without_nulls

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
    """What came of the tests."""
    return {"results": [_present(test) for test in tests]}


def _present(test: NotificationTest) -> JsonObject:
    delivered = test.outcome.status is DeliveryStatus.DELIVERED
    return without_nulls(
        {
            "notificationId": test.setting.id,
            "typeName": test.setting.type_name,
            "status": (NotificationStatus.DELIVERED if delivered else NotificationStatus.FAILED).value,
            "reason": test.outcome.reason,
        }
    )
