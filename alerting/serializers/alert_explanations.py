"""The explanation of an alert and of its messages, as the API shows it."""

from rest_framework import serializers

from alerting.choices import CutReason, NotificationStatus
from alerting.models import NotificationSetting
from alerting.rules.alert_explanation import ConditionState, RecordedThreshold
from alerting.rules.notification_reasons import (
    MESSAGE_REASONS,
    NO_NOTIFICATION_WORDS,
    NotificationExplanation,
    NotificationReason,
)
from alerting.rules.recipient_reasons import UserExplanation, UserNotification
from alerting.rules.thresholds import MetricThreshold, ThresholdOperator
from alerting.rules.timeline import TimelineEntry, TimelineNotification
from alerting.selectors.alert_explanation import AlertExplanation
from alerting.selectors.alerts import AlertRow, current_value
from alerting.selectors.timeline_events import FIRST, NEWEST
from alerting.selectors.timeline_notifications import PENDING
from alerting.serializers.explanations import ComparedMatcherDocument, present_matcher
from alerting.serializers.notification_log import KINDS, STATUSES, TYPE_NAMES
from automation.metrics import Metric
from automation.units import Unit
from events.serializers import CurrentValueDocument
from events.types import EventType
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.choices import MessageKind
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document
from opsapi.clock import wire_time
from opsapi.first_rows import MOST_BETWEEN
from opsapi.wire_json import JsonObject, without_nulls

USER_REASONS = [reason.value for reason in NotificationReason]
SENT_REASONS = [reason.value for reason in MESSAGE_REASONS]
NO_MESSAGE_REASONS = [reason.value for reason in NO_NOTIFICATION_WORDS]
_RECORDED = "Absent if it is not recorded."


class OpeningSignalDocument(Document):
    """The signal that opened the alert."""

    example = {
        "created": A_TIME,
        "eventTypeName": EventType.OUTSIDE_METRIC_THRESHOLD.value,
        "detail": "A value of db1.example.com:27017 crossed its threshold. Connections was 1,650: above 900.",
        "currentValue": CurrentValueDocument.sample(),
        "measured": A_TIME,
    }

    created = serializers.DateTimeField(help_text="When the condition became true.")
    eventTypeName = serializers.CharField()
    detail = serializers.CharField(help_text="The same as a sentence.")
    eventId = serializers.CharField(required=False, help_text="The event, if an event opened the alert.")
    currentValue = CurrentValueDocument(required=False, help_text=f"The measured value. {_RECORDED}")
    measured = serializers.DateTimeField(required=False, help_text=f"When it was observed. {_RECORDED}")


class RecordedMatcherDocument(ComparedMatcherDocument):
    """A matcher, and the value of the alert's target when the alert started."""

    actualValue = serializers.CharField(
        allow_blank=True, required=False, help_text=f"Empty if the target does not have it. {_RECORDED}"
    )
    matched = serializers.BooleanField(required=False, help_text=_RECORDED)


class RecordedThresholdDocument(Document):
    """The threshold, and the value that was compared with it, in the same units."""

    example = {
        "metricName": Metric.CONNECTIONS.value,
        "operator": ThresholdOperator.GREATER_THAN.value,
        "threshold": 900,
        "units": Unit.RAW.value,
        "actualValue": 1650,
    }

    metricName = serializers.CharField(required=False, help_text="Absent if members are counted.")
    operator = serializers.ChoiceField([operator.value for operator in ThresholdOperator])
    threshold = serializers.FloatField()
    units = serializers.ChoiceField([unit.value for unit in Unit])
    actualValue = serializers.FloatField(required=False, help_text=_RECORDED)


class ExplainedConditionDocument(Document):
    """The condition of the alert configuration, with the values that are recorded of the alert's start."""

    example = {
        "state": ConditionState.SAME.value,
        "detail": "Connections above 900.",
        "matchers": [ComparedMatcherDocument.example],
        "threshold": RecordedThresholdDocument.example,
    }

    state = serializers.ChoiceField(
        [state.value for state in ConditionState],
        help_text="SAME: it opened the alert. PERHAPS_CHANGED: the configuration was changed after the alert "
        "ended, and the current condition is shown. DELETED: it is not shown. HIDDEN: it belongs to a "
        "global configuration, which you need a global role to read.",
    )
    detail = serializers.CharField(help_text="The same as a sentence.")
    matchers = RecordedMatcherDocument(many=True)
    threshold = RecordedThresholdDocument(required=False)


class ExplainedNotificationDocument(Document):
    """A message of the alert, and why it was, or was not, sent."""

    example = {
        "id": AN_ID,
        "notificationId": ANOTHER_ID,
        "kind": MessageKind.OPEN.value,
        "typeName": EMAIL.type,
        "channel": EMAIL.type,
        "recipient": "oncall@example.com",
        "status": NotificationStatus.PENDING.value,
        "reason": NotificationReason.ACKNOWLEDGED.value,
        "detail": "oncall@example.com will be notified that the alert is still open at "
        "2026-11-21T12:00:00Z at the earliest: the alert is acknowledged.",
        "created": A_TIME,
        "earliest": A_TIME,
        "attempts": 0,
    }

    id = serializers.CharField(help_text="The delivery ID.")
    notificationId = serializers.CharField(help_text="ID of the notification in the alert configuration.")
    kind = serializers.ChoiceField(KINDS)
    typeName = serializers.ChoiceField(TYPE_NAMES)
    channel = serializers.ChoiceField([*CHANNELS], required=False)
    recipient = serializers.CharField(required=False)
    status = serializers.ChoiceField(STATUSES)
    reason = serializers.ChoiceField(SENT_REASONS)
    detail = serializers.CharField(help_text="The same as a sentence.")
    created = serializers.DateTimeField()
    earliest = serializers.DateTimeField(
        required=False, help_text="The earliest time of a message that waits."
    )
    maintenanceWindowId = serializers.CharField(required=False, help_text="The window that mutes it.")
    attempts = serializers.IntegerField()


class WithoutMessageDocument(Document):
    """A notification of the configuration that has sent no message about the alert."""

    example = {
        "notificationId": ANOTHER_ID,
        "typeName": EMAIL.type,
        "reason": NotificationReason.ADDED_LATER.value,
        "detail": "oncall@example.com was not notified: the notification was added to the configuration "
        "after the alert opened.",
    }

    notificationId = serializers.CharField()
    typeName = serializers.ChoiceField(TYPE_NAMES)
    reason = serializers.ChoiceField(NO_MESSAGE_REASONS)
    detail = serializers.CharField(help_text="The same as a sentence.")


class UserNotificationDocument(WithoutMessageDocument):
    """A notification of the configuration, and which part of it kept the user out."""

    example = {
        "notificationId": ANOTHER_ID,
        "typeName": "TEAM",
        "reaches": False,
        "reason": NotificationReason.NOT_IN_TEAM.value,
        "detail": "The user is not a member of the team.",
    }

    reason = serializers.ChoiceField(USER_REASONS)
    reaches = serializers.BooleanField(help_text="Whether the notification reaches the user now.")
    earliest = serializers.DateTimeField(
        required=False, help_text="The earliest time of a message that waits."
    )
    maintenanceWindowId = serializers.CharField(required=False, help_text="The window that mutes it.")


class ExplainedUserDocument(Document):
    """Whether a user was notified of the alert, and if not, why."""

    example = {
        "userId": ANOTHER_ID,
        "username": "ada",
        "notified": False,
        "detail": "ada was not notified: no notification of the alert configuration reaches this user.",
        "notifications": [UserNotificationDocument.example],
    }

    userId = serializers.CharField()
    username = serializers.CharField()
    notified = serializers.BooleanField(
        required=False,
        help_text="Whether a message to one of the user's current addresses was delivered; absent if the "
        "condition is HIDDEN.",
    )
    detail = serializers.CharField(help_text="The same as a sentence.")
    notifications = UserNotificationDocument(many=True)


class ExplanationCutDocument(Document):
    """The alert was not compared with all maintenance windows, so another window can mute it."""

    example = {"reason": CutReason.TIME.value}

    reason = serializers.ChoiceField([CutReason.TIME.value])


class AlertExplanationDocument(Document):
    """Why an alert opened, and why each of its messages was, or was not, sent."""

    example = {
        "alertId": AN_ID,
        "alertConfigId": ANOTHER_ID,
        "signal": OpeningSignalDocument.example,
        "condition": ExplainedConditionDocument.example,
        "notifications": [ExplainedNotificationDocument.example],
        "moreNotifications": 0,
        "withoutMessage": [WithoutMessageDocument.example],
        "user": ExplainedUserDocument.example,
    }

    alertId = serializers.CharField()
    alertConfigId = serializers.CharField()
    signal = OpeningSignalDocument()
    condition = ExplainedConditionDocument()
    notifications = ExplainedNotificationDocument(
        many=True,
        help_text=f"Newest first: the newest {NEWEST}, the first {FIRST}, and up to {PENDING} that wait.",
    )
    moreNotifications = serializers.IntegerField(
        help_text=f"The number of other messages in the log, counted up to {MOST_BETWEEN:,}."
    )
    withoutMessage = WithoutMessageDocument(many=True)
    user = ExplainedUserDocument(required=False, help_text="Only with userId.")
    truncated = ExplanationCutDocument(
        required=False, help_text="Absent if the alert was compared with all maintenance windows."
    )


def present_alert_explanation(found: AlertExplanation, *, alert: AlertRow) -> JsonObject:
    """The explanation of an alert."""
    condition = found.condition
    shown = {
        "state": condition.state.value,
        "detail": condition.detail,
        "matchers": [present_matcher(matcher) for matcher in condition.matchers],
        "threshold": _threshold(condition.threshold) if condition.threshold else None,
    }
    return without_nulls(
        {
            "alertId": alert["id"],
            "truncated": {"reason": CutReason.TIME.value} if found.facts.windows_cut else None,
            "alertConfigId": alert["config_id"],
            "signal": _signal(found.signal, found, alert),
            "condition": without_nulls(shown),
            "notifications": [_message(*explained) for explained in found.notifications],
            "moreNotifications": found.more,
            "withoutMessage": [_without_message(*explained) for explained in found.why_without_message()],
            "user": _user(found.user) if found.user else None,
        }
    )


def _signal(signal: TimelineEntry, found: AlertExplanation, alert: AlertRow) -> JsonObject:
    value, observed = found.value or (None, None)
    reason = f" {signal.reason}." if signal.reason else ""
    return without_nulls(
        {
            "created": wire_time(signal.at),
            "eventTypeName": alert["event_type"],
            "detail": signal.text + reason,
            "eventId": signal.event_id,
            "currentValue": current_value(alert["metric_name"], value),
            "measured": wire_time(observed) if observed else None,
        }
    )


def _threshold(recorded: RecordedThreshold) -> JsonObject:
    threshold = recorded.threshold
    return without_nulls(
        {
            "metricName": threshold.metric.value if isinstance(threshold, MetricThreshold) else None,
            "operator": threshold.operator.value,
            "threshold": threshold.threshold,
            "units": threshold.units.value,
            "actualValue": recorded.value,
        }
    )


def _why(explanation: NotificationExplanation) -> JsonObject:
    return without_nulls(
        {
            "reason": explanation.reason.value,
            "detail": explanation.detail,
            "earliest": wire_time(explanation.until) if explanation.until else None,
            "maintenanceWindowId": explanation.window_id,
        }
    )


def _message(notification: TimelineNotification, explanation: NotificationExplanation) -> JsonObject:
    return without_nulls(
        {
            "id": notification.id,
            "notificationId": notification.setting_id,
            "kind": notification.kind.value,
            "typeName": notification.type_name,
            "channel": notification.channel,
            "recipient": notification.address,
            "status": notification.status.value,
            **_why(explanation),
            "created": wire_time(notification.created),
            "attempts": notification.attempts,
        }
    )


def _without_message(setting: NotificationSetting, explanation: NotificationExplanation) -> JsonObject:
    return {"notificationId": setting.id, "typeName": setting.type_name, **_why(explanation)}


def _user(user: UserExplanation) -> JsonObject:
    return without_nulls(
        {
            "userId": user.user_id,
            "username": user.username,
            "notified": user.notified,
            "detail": user.detail,
            "notifications": [_of_user(each) for each in user.notifications],
        }
    )


def _of_user(notification: UserNotification) -> JsonObject:
    return {
        "notificationId": notification.setting_id,
        "typeName": notification.type_name,
        "reaches": notification.reaches,
        **_why(notification.explanation),
    }
