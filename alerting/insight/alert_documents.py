"""The explanation of an alert and of its messages, as the API shows it."""

from rest_framework import serializers

from alerting.budgets import CutReason
from alerting.configs.rules import MetricThreshold, ThresholdOperator
from alerting.engine.choices import NotificationStatus
from alerting.engine.resource import KINDS, STATUSES, TYPE_NAMES
from alerting.incidents.store import AlertRow, current_value
from alerting.insight.alert_explanations import AlertExplanation
from alerting.insight.host_documents import ComparedMatcherDocument
from alerting.insight.message_reasons import REASONS_WITHOUT_MESSAGE
from alerting.insight.recorded_conditions import ConditionState, RecordedThreshold
from alerting.insight.timeline_events import FIRST, NEWEST
from alerting.insight.timeline_notifications import PENDING
from alerting.reasons import NotificationReason, ReasonQuestion
from automation.metrics import Metric
from automation.units import Unit
from events.log.resource import CurrentValueDocument
from events.types import EventType
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.choices import MessageKind
from opsapi.api.answers import Answer
from opsapi.api.documents import ANOTHER_ID, Document
from opsapi.api.fields import ShownChoice, ShownFlag, ShownFloat, ShownId, ShownNumber, ShownText, ShownTime
from opsapi.first_rows import MOST_BETWEEN
from opsapi.wire_json import JsonObject

USER_REASONS = [reason.name for reason in NotificationReason]
SENT_REASONS = [reason.name for reason in NotificationReason if ReasonQuestion.MESSAGE in reason.questions]
NO_MESSAGE_REASONS = [reason.name for reason in REASONS_WITHOUT_MESSAGE]
_RECORDED = "Absent if it is not recorded."


class OpeningSignalDocument(Answer):
    """The signal that opened the alert."""

    created = ShownTime(source="at", help_text="When the condition became true.")
    eventTypeName = ShownText(example=EventType.OUTSIDE_METRIC_THRESHOLD.value)
    detail = ShownText(
        help_text="The same as a sentence.",
        example="A value of db1.example.com:27017 crossed its threshold. Connections was 1,650: above 900.",
    )
    eventId = serializers.CharField(
        source="event_id", required=False, help_text="The event, if an event opened the alert."
    )
    currentValue = CurrentValueDocument(required=False, help_text=f"The measured value. {_RECORDED}")
    measured = ShownTime(required=False, help_text=f"When it was observed. {_RECORDED}")


class RecordedMatcherDocument(ComparedMatcherDocument):
    """A matcher, and the value of the alert's target when the alert started."""

    actualValue = ShownText(
        source="actual",
        allow_blank=True,
        required=False,
        help_text=f"Empty if the target does not have it. {_RECORDED}",
        example="PRIMARY",
    )
    matched = ShownFlag(required=False, help_text=_RECORDED, example=True)


def _measured_metric(recorded: RecordedThreshold) -> Metric | None:
    return recorded.threshold.metric if isinstance(recorded.threshold, MetricThreshold) else None


class RecordedThresholdDocument(Answer):
    """The threshold, and the value that was compared with it, in the same units."""

    computed = {"metricName": _measured_metric}

    metricName = ShownText(
        required=False, help_text="Absent if members are counted.", example=Metric.CONNECTIONS.value
    )
    operator = ShownChoice(
        [operator.value for operator in ThresholdOperator],
        source="threshold.operator",
        example=ThresholdOperator.GREATER_THAN.value,
    )
    threshold = ShownFloat(source="threshold.threshold", example=900)
    units = ShownChoice([unit.value for unit in Unit], source="threshold.units", example=Unit.RAW.value)
    actualValue = ShownFloat(source="value", required=False, help_text=_RECORDED, example=1650)


class ExplainedConditionDocument(Answer):
    """The condition of the alert configuration, with the values that are recorded of the alert's start."""

    state = ShownChoice(
        [state.value for state in ConditionState],
        help_text="SAME: it opened the alert. PERHAPS_CHANGED: the configuration was changed after the alert "
        "ended, and the current condition is shown. DELETED: it is not shown. HIDDEN: it belongs to a "
        "global configuration, which you need a global role to read.",
        example=ConditionState.SAME.value,
    )
    detail = ShownText(help_text="The same as a sentence.", example="Connections above 900.")
    matchers = RecordedMatcherDocument(many=True)
    threshold = RecordedThresholdDocument(required=False)


class ExplainedNotificationDocument(Answer):
    """A message of the alert, and why it was, or was not, sent."""

    answer_order = (
        "id",
        "notificationId",
        "kind",
        "typeName",
        "channel",
        "recipient",
        "status",
        "reason",
        "detail",
        "earliest",
        "maintenanceWindowId",
    )

    id = ShownId(help_text="The delivery ID.")
    notificationId = ShownId(
        source="setting_id",
        help_text="ID of the notification in the alert configuration.",
        example=ANOTHER_ID,
    )
    kind = ShownChoice(KINDS, example=MessageKind.OPEN.value)
    typeName = ShownChoice(TYPE_NAMES, source="type_name", example=EMAIL.type)
    channel = ShownChoice([*CHANNELS], required=False, example=EMAIL.type)
    recipient = ShownText(source="address", required=False, example="oncall@example.com")
    status = ShownChoice(STATUSES, example=NotificationStatus.PENDING.value)
    reason = ShownChoice(SENT_REASONS, example=NotificationReason.ACKNOWLEDGED.name)
    detail = ShownText(
        help_text="The same as a sentence.",
        example="oncall@example.com will be notified that the alert is still open at 2026-11-21T12:00:00Z at "
        "the earliest: the alert is acknowledged.",
    )
    created = ShownTime()
    earliest = ShownTime(required=False, help_text="The earliest time of a message that waits.")
    maintenanceWindowId = serializers.CharField(required=False, help_text="The window that mutes it.")
    attempts = ShownNumber(example=0)


class WithoutMessageDocument(Answer):
    """A notification of the configuration that has sent no message about the alert."""

    notificationId = ShownId(source="id", example=ANOTHER_ID)
    typeName = ShownChoice(TYPE_NAMES, source="type_name", example=EMAIL.type)
    reason = ShownChoice(NO_MESSAGE_REASONS, example=NotificationReason.ADDED_LATER.name)
    detail = ShownText(
        help_text="The same as a sentence.",
        example="oncall@example.com was not notified: the notification was added to the configuration after "
        "the alert opened.",
    )


class UserNotificationDocument(Answer):
    """A notification of the configuration, and which part of it kept the user out."""

    order = ("notificationId", "typeName", "reaches")

    notificationId = ShownId(source="setting_id", example=ANOTHER_ID)
    typeName = ShownChoice(TYPE_NAMES, source="type_name", example="TEAM")
    reason = ShownChoice(
        USER_REASONS, source="explanation.reason.name", example=NotificationReason.NOT_IN_TEAM.name
    )
    detail = ShownText(
        source="explanation.detail",
        help_text="The same as a sentence.",
        example="The user is not a member of the team.",
    )
    reaches = ShownFlag(help_text="Whether the notification reaches the user now.", example=False)
    earliest = serializers.DateTimeField(
        source="explanation.until",
        required=False,
        help_text="The earliest time of a message that waits.",
    )
    maintenanceWindowId = serializers.CharField(
        source="explanation.window_id", required=False, help_text="The window that mutes it."
    )


class ExplainedUserDocument(Answer):
    """Whether a user was notified of the alert, and if not, why."""

    userId = ShownId(source="user_id", example=ANOTHER_ID)
    username = ShownText(example="ada")
    notified = ShownFlag(
        required=False,
        help_text="Whether a message to one of the user's current addresses was delivered; absent if the "
        "condition is HIDDEN.",
        example=False,
    )
    detail = ShownText(
        help_text="The same as a sentence.",
        example="ada was not notified: no notification of the alert configuration reaches this user.",
    )
    notifications = UserNotificationDocument(many=True)


class ExplanationCutDocument(Document):
    """The alert was not compared with all maintenance windows, so another window can mute it."""

    reason = ShownChoice([CutReason.TIME.value], example=CutReason.TIME.value)


class AlertExplanationDocument(Answer):
    """Why an alert opened, and why each of its messages was, or was not, sent."""

    computed = {
        "truncated": lambda explanation: (
            {"reason": CutReason.TIME.value} if explanation.facts.windows_cut else None
        )
    }
    answer_order = ("alertId", "truncated")

    alertId = ShownId()
    alertConfigId = ShownId(example=ANOTHER_ID)
    signal = OpeningSignalDocument()
    condition = ExplainedConditionDocument()
    notifications = ExplainedNotificationDocument(
        many=True,
        help_text=f"Newest first: the newest {NEWEST}, the first {FIRST}, and up to {PENDING} that wait.",
    )
    moreNotifications = ShownNumber(
        source="more",
        help_text=f"The number of other messages in the log, counted up to {MOST_BETWEEN:,}.",
        example=0,
    )
    withoutMessage = WithoutMessageDocument(many=True)
    user = ExplainedUserDocument(required=False, help_text="Only with userId.")
    truncated = ExplanationCutDocument(
        required=False,
        help_text="Absent if the alert was compared with all maintenance windows.",
        example={},
    )

    @classmethod
    def of_alert(cls, explanation: AlertExplanation, alert: AlertRow) -> JsonObject:
        """Return the explanation of an alert."""
        signal, (value, observed) = explanation.signal, explanation.value or (None, None)
        return cls.of(
            explanation,
            alertId=alert["id"],
            alertConfigId=alert["config_id"],
            signal=OpeningSignalDocument.of(
                signal,
                eventTypeName=alert["event_type"],
                detail=signal.text + (f" {signal.reason}." if signal.reason else ""),
                currentValue=current_value(alert["metric_name"], value),
                measured=observed,
            ),
            notifications=[
                ExplainedNotificationDocument.of(
                    notification,
                    reason=why.reason.name,
                    detail=why.detail,
                    earliest=why.until,
                    maintenanceWindowId=why.window_id,
                )
                for notification, why in explanation.notifications
            ],
            withoutMessage=[
                WithoutMessageDocument.of(setting, reason=why.reason.name, detail=why.detail)
                for setting, why in explanation.why_without_message()
            ],
        )
