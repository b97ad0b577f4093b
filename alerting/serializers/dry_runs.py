"""The dry run of an alert configuration, as the API accepts and shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rest_framework import serializers

from alerting.choices import AlertStatus
from alerting.dry_run_reading import MOST_FOUND
from alerting.dry_runs import MOST_MESSAGES, SECONDS, DryRunResult
from alerting.rules.dry_run import (
    LIMIT_WORDS,
    DryRunCut,
    DryRunEvent,
    DryRunLimit,
    DryRunMessage,
    DryRunReceiver,
)
from alerting.selectors.alerts import current_value
from alerting.selectors.recipient_addresses import MOST_RECIPIENTS_OF_ONE
from alerting.serializers.alerts import present_target
from alerting.serializers.configs import AlertConfigDocument
from alerting.serializers.noise import SUGGESTIONS_HELP, SuggestionDocument, present_suggestions
from alerting.serializers.notification_log import KINDS, TYPE_NAMES
from automation.measurement_query import read_duration
from automation.selectors.measurements import measurement_retention
from events.retention import kept_rows
from events.serializers import CurrentValueDocument
from events.types import EventType, Needs
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.choices import MessageKind
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, Values, invalid
from opsapi.api.errors import ApiError, BadField
from opsapi.api.fields import DateTime, ShownFlag, ShownNumber, ShownTime, Text
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject, without_nulls

LONGEST: Final = timedelta(days=366)
"""The longest dry run over events that are kept for good."""
MOST_SHOWN: Final = 500
"""The most alerts, and the most events, of an answer; it counts all of them."""
MOST_MESSAGES_SHOWN: Final = 20
"""The most notifications of one alert or event in an answer."""


class Duration(Text):
    """An ISO 8601 duration of weeks, or of days, hours, minutes and seconds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=40, **options)

    def run_validation(self, data: Any = serializers.empty) -> timedelta:  # type: ignore[override]  # a text that means a duration
        text = super().run_validation(data)
        try:
            return read_duration(text)
        except (ValueError, OverflowError) as error:
            raise invalid(str(error)) from None


class RequestedDryRun(Document):
    """A configuration, and the time range of the dry run: either period, or start and end."""

    refusals = AlertConfigDocument.refusals
    request_example = {"config": AlertConfigDocument.request_example, "period": "P1D"}

    config = AlertConfigDocument(
        help_text="A configuration as its creation accepts it. It counts as enabled, and as created at start."
    )
    period = Duration(required=False, help_text="ISO 8601 duration that ends now. Alternative to start.")
    start = DateTime(required=False, help_text="Alternative to period.")
    end = DateTime(required=False, help_text="Only with start. Default: now.")

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Either a period or a start."""
        wrong = ErrorCode.INVALID_ATTRIBUTE
        if "period" in values:
            for name in ("start", "end"):
                if name in values:
                    yield BadField(name, wrong, "is not allowed with period")
        elif "start" not in values and not {"period", "start"} & bad:
            name = "start" if "end" in values else "period"
            message = "is required: send either period or start"
            yield BadField(name, ErrorCode.MISSING_ATTRIBUTE, message)


def dry_run_range(values: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """Return the start and the end of a valid request.

    Raises:
        ApiError: INVALID_ATTRIBUTE, when it is not in the past, or longer than the record is kept.
    """
    kept, what = kept_for(EventType(values["config"]["event_type"]))
    end = values.get("end", now)
    period: timedelta = values.get("period") or end - values["start"]
    name = "period" if "period" in values else "start"
    if end > now:
        raise _wrong("end", "must not be in the future")
    if period <= timedelta():
        raise _wrong(name, "must be before end; without end, before now")
    # A second more, because times in requests have whole seconds.
    if period > kept or end - period < now - kept - timedelta(seconds=1):
        raise _wrong(name, f"must be within the last {kept.days} days{what}")
    return end - period, end


def kept_for(event_type: EventType) -> tuple[timedelta, str]:
    """How long the record of an event type is kept, and why in words."""
    if event_type.spec.needs is Needs.METRIC_THRESHOLD:
        kept, what = measurement_retention(), ", as long as measurements are kept"
    else:
        kept, what = kept_rows().events.period, ", as long as events are kept"
    return (LONGEST, "") if kept is None or kept > LONGEST else (kept, what)


def _wrong(name: str, message: str) -> ApiError:
    return ApiError.of_field(name, ErrorCode.INVALID_ATTRIBUTE, message)


class DryRunLimitDocument(Document):
    """Why the dry run can differ from what would have happened, or evaluates nothing."""

    example = {
        "code": DryRunLimit.CURRENT_FACTS.value,
        "detail": LIMIT_WORDS[DryRunLimit.CURRENT_FACTS],
    }

    code = serializers.ChoiceField([limit.value for limit in DryRunLimit])
    detail = serializers.CharField()


class DryRunCutDocument(Document):
    """Why and where the dry run ended early."""

    example = {"reason": DryRunCut.TIME.value, "completeUntil": A_TIME}

    reason = serializers.ChoiceField(
        [cut.value for cut in DryRunCut],
        help_text=f"TIME: after {SECONDS:g} seconds. ALERTS: after {MOST_FOUND} alerts or events. "
        f"NOTIFICATIONS: after {MOST_MESSAGES} notifications.",
    )
    completeUntil = serializers.DateTimeField(
        help_text="The answer is complete until this time. If no time was left for notifications, it has "
        "none, and the alerts and events are complete until this time."
    )


class DryRunReceiverDocument(Document):
    """A notification of the configuration and one channel."""

    example = {
        "position": 0,
        "typeName": EMAIL.type,
        "channel": EMAIL.type,
        "recipient": "oncall@example.com",
        "recipientCount": 1,
    }

    position = serializers.IntegerField(help_text="Position in `notifications` of the configuration.")
    typeName = serializers.ChoiceField(TYPE_NAMES)
    channel = serializers.ChoiceField([*CHANNELS], required=False, help_text="Absent without recipients.")
    recipient = serializers.CharField(
        required=False,
        help_text="As the notification log shows it; redacted if it contains a secret. Absent for people.",
    )
    recipientCount = serializers.IntegerField(
        help_text=f"The number of recipients now. Of people, at most {MOST_RECIPIENTS_OF_ONE} are notified."
    )


class DryRunNotificationDocument(Document):
    """A notification that would have been due."""

    example = {
        "position": 0,
        "kind": MessageKind.OPEN.value,
        "channel": EMAIL.type,
        "due": A_TIME,
        "sent": A_TIME,
        "recipientCount": 1,
    }

    position = serializers.IntegerField(help_text="Position in `notifications` of the configuration.")
    kind = serializers.ChoiceField(KINDS)
    channel = serializers.ChoiceField(
        [*CHANNELS], required=False, help_text="With `position`, names one of `receivers`."
    )
    due = serializers.DateTimeField()
    sent = serializers.DateTimeField(
        required=False, help_text="Absent if it would not have been sent until the end."
    )
    reason = serializers.CharField(required=False, help_text="Why it would never have been sent.")
    recipientCount = serializers.IntegerField(
        help_text="The number of addresses. Recipients that other notifications reach too have entries of "
        "their own."
    )
    mergedInto = serializers.IntegerField(
        required=False,
        help_text="Position of the notification that would have sent the same message to the same addresses.",
    )
    maintenanceWindowId = serializers.CharField(
        required=False, help_text="The last window that would have muted it."
    )


class _Found(Document):
    """The target and the notifications of an alert or event."""

    hostId = serializers.CharField(required=False)
    hostnameAndPort = serializers.CharField(required=False)
    clusterId = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    replicaSetName = serializers.CharField(required=False)
    sourceTypeName = serializers.CharField(required=False)
    notificationCount = serializers.IntegerField()
    notifications = DryRunNotificationDocument(many=True, help_text=f"The first {MOST_MESSAGES_SHOWN}.")


class DryRunAlertDocument(_Found):
    """An alert that would have opened."""

    example = {
        "status": AlertStatus.CLOSED.value,
        "created": A_TIME,
        "opened": A_TIME,
        "resolved": A_TIME,
        "startValue": {"number": 812, "units": "RAW"},
        "currentValue": {"number": 640, "units": "RAW"},
        "hostId": ANOTHER_ID,
        "hostnameAndPort": "db1.example.com:27017",
        "notificationCount": 1,
        "notifications": [DryRunNotificationDocument.example],
    }

    status = serializers.ChoiceField(
        [status.value for status in AlertStatus if status is not AlertStatus.TRACKING],
        help_text="At the end of the dry run.",
    )
    created = serializers.DateTimeField(help_text="When the condition became true.")
    opened = serializers.DateTimeField(help_text="When the smallest delayMin had passed.")
    resolved = serializers.DateTimeField(required=False)
    startValue = CurrentValueDocument(required=False, help_text="The value at `created`.")
    currentValue = CurrentValueDocument(required=False, help_text="The last value.")
    firstAlert = serializers.IntegerField(
        required=False,
        help_text="Only with grouping TOPOLOGY: the position in `results` of the first alert of its "
        "incident. Only the first alert has notifications.",
    )


class DryRunEventDocument(_Found):
    """An event that opens no alert and would have been notified."""

    example = {
        "eventId": AN_ID,
        "created": A_TIME,
        "hostnameAndPort": "db1.example.com:27017",
        "notificationCount": 1,
        "notifications": [{**DryRunNotificationDocument.example, "kind": MessageKind.INFORM.value}],
    }

    eventId = serializers.CharField()
    created = serializers.DateTimeField()


class DryRunAlertsDocument(Document):
    """The alerts, in the order of `created`."""

    totalCount = ShownNumber(help_text="Number of all these alerts.", example=1)
    neverOpened = ShownNumber(
        help_text="How often the condition ended before the smallest delayMin had passed.", example=3
    )
    results = DryRunAlertDocument(many=True, help_text=f"The first {MOST_SHOWN}.")


class DryRunEventsDocument(Document):
    """The events, in the order of their time; none if the event type opens alerts."""

    totalCount = ShownNumber(help_text="Number of all these events.", example=0)
    results = DryRunEventDocument(many=True, help_text=f"The first {MOST_SHOWN}.")


class DryRunCountsDocument(Document):
    """The number of messages, reminders included: one for each address that a notification reaches."""

    sent = ShownNumber(help_text="Messages that would have been sent.", example=2)
    merged = ShownNumber(
        help_text="Not sent, because another notification would have sent the same message to the same "
        "address.",
        example=0,
    )
    muted = ShownNumber(help_text="Muted by a maintenance window at first, or for good.", example=0)
    notSent = ShownNumber(help_text="Not sent until the end.", example=0)


class DryRunDocument(Document):
    """What a configuration would have done."""

    start = ShownTime()
    end = ShownTime()
    evaluated = ShownFlag(
        help_text="Whether the record shows the condition; otherwise `limits` says why not.", example=True
    )
    limits = DryRunLimitDocument(many=True)
    receivers = DryRunReceiverDocument(
        many=True, help_text="The recipients of each notification, by channel."
    )
    truncated = DryRunCutDocument(required=False, help_text="Absent if the dry run is complete.")
    alerts = DryRunAlertsDocument()
    events = DryRunEventsDocument()
    notifications = DryRunCountsDocument()
    suggestions = SuggestionDocument(many=True, required=False, help_text=SUGGESTIONS_HELP)


def present_dry_run(found: DryRunResult, config: Mapping[str, Any]) -> JsonObject:
    """The result; `config` are the values of the valid configuration, by column."""
    return without_nulls(
        {
            "start": wire_time(found.start),
            "end": wire_time(found.end),
            "evaluated": found.evaluated,
            "limits": [{"code": limit.value, "detail": LIMIT_WORDS[limit]} for limit in found.limits],
            "truncated": {"reason": found.cut.value, "completeUntil": wire_time(found.until)}
            if found.cut
            else None,
            "receivers": [_receiver(each) for each in found.receivers],
            "alerts": {
                "totalCount": len(found.alerts),
                "neverOpened": found.never_opened,
                "results": list(_alerts(found, config)),
            },
            "events": {
                "totalCount": len(found.events),
                "results": [
                    _event(event, some, config["event_type"])
                    for event, some in zip(found.events[:MOST_SHOWN], found.messages, strict=False)
                ],
            },
            "notifications": {
                "sent": found.sent,
                "muted": found.muted,
                "merged": found.merged,
                "notSent": found.not_sent,
            },
            "suggestions": present_suggestions(found.suggestions),
        }
    )


def _alerts(found: DryRunResult, config: Mapping[str, Any]) -> Iterator[JsonObject]:
    threshold = config.get("metric_threshold")
    metric = threshold and threshold["metricName"]
    for place, alert in enumerate(found.alerts[:MOST_SHOWN]):
        yield without_nulls(
            {
                "status": alert.status(found.until).value,
                "created": wire_time(alert.created),
                "opened": wire_time(alert.opens),
                "resolved": wire_time(ended) if (ended := alert.ended_by(found.until)) else None,
                "startValue": current_value(metric, alert.start_value),
                "currentValue": current_value(metric, alert.value),
                "firstAlert": found.leads[place] if found.leads else None,
                **present_target(config["event_type"], alert.facts),
                **_notifications(found.messages[place]),
            }
        )


def _event(event: DryRunEvent, messages: Sequence[DryRunMessage], event_type: str) -> JsonObject:
    return {
        "eventId": event.id,
        "created": wire_time(event.at),
        **present_target(event_type, event.facts),
        **_notifications(messages),
    }


def _notifications(messages: Sequence[DryRunMessage]) -> JsonObject:
    in_order = sorted(messages, key=lambda message: message.due)
    return {
        "notificationCount": len(messages),
        "notifications": [_notification(message) for message in in_order[:MOST_MESSAGES_SHOWN]],
    }


def _receiver(receiver: DryRunReceiver) -> JsonObject:
    return without_nulls(
        {
            "position": receiver.position,
            "typeName": receiver.type_name,
            "channel": receiver.channel,
            "recipient": receiver.recipient,
            "recipientCount": receiver.count,
        }
    )


def _notification(message: DryRunMessage) -> JsonObject:
    receiver = message.receiver
    return without_nulls(
        {
            "position": receiver.position,
            "kind": message.kind.value,
            "channel": receiver.channel,
            "due": wire_time(message.due),
            "sent": wire_time(message.sent) if message.sent else None,
            "reason": message.reason,
            "recipientCount": receiver.count,
            "mergedInto": message.merged_into,
            "maintenanceWindowId": message.window_id,
        }
    )
