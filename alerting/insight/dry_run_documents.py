"""The dry run of an alert configuration, as the API accepts and shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from rest_framework import serializers

from alerting.configs.recipients import MOST_RECIPIENTS_OF_ONE
from alerting.configs.resource import AlertConfigDocument
from alerting.engine.resource import KINDS, TYPE_NAMES
from alerting.incidents.choices import AlertStatus
from alerting.incidents.resource import TARGET_FIELDS, target_facts
from alerting.incidents.store import current_value
from alerting.insight.dry_run_alerts import DryRunCut, DryRunLimit, DryRunMessage
from alerting.insight.dry_run_reading import MOST_FOUND
from alerting.insight.dry_runs import MOST_MESSAGES, SECONDS, DryRunResult
from alerting.insight.noise_documents import SUGGESTIONS_HELP, SuggestionDocument
from automation.measurements.query import read_duration
from automation.measurements.tiers import kept_tiers, longest_kept
from automation.units import Unit
from events.log.resource import CurrentValueDocument
from events.retention import kept_rows
from events.types import EventType, Needs
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.choices import MessageKind
from opsapi.api.answers import Answer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import ANOTHER_ID, Document, Values, invalid
from opsapi.api.errors import ApiError, BadField
from opsapi.api.fields import (
    DateTime,
    ShownChoice,
    ShownFlag,
    ShownId,
    ShownNumber,
    ShownText,
    ShownTime,
    Text,
)
from opsapi.wire_json import JsonObject

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
        kept, what = longest_kept(kept_tiers()), ", as long as measurements are kept"
    else:
        kept, what = kept_rows().events.period, ", as long as events are kept"
    return (LONGEST, "") if kept is None or kept > LONGEST else (kept, what)


def _wrong(name: str, message: str) -> ApiError:
    return ApiError.of_field(name, ErrorCode.INVALID_ATTRIBUTE, message)


LIMITS = [limit.name for limit in DryRunLimit]
_POSITION = "Position in `notifications` of the configuration."


class DryRunLimitDocument(Answer):
    """Why the dry run can differ from what would have happened, or evaluates nothing."""

    code = serializers.ChoiceField(LIMITS, source="name")
    detail = serializers.CharField(source="value")

    @classmethod
    def sample(cls) -> JsonObject:
        return cls.of(DryRunLimit.CURRENT_FACTS)


class DryRunCutDocument(Answer):
    """Why and where the dry run ended early."""

    reason = ShownChoice(
        [cut.value for cut in DryRunCut],
        source="cut",
        help_text=f"TIME: after {SECONDS:g} seconds. ALERTS: after {MOST_FOUND} alerts or events. "
        f"NOTIFICATIONS: after {MOST_MESSAGES} notifications.",
        example=DryRunCut.TIME.value,
    )
    completeUntil = ShownTime(
        source="until",
        help_text="The answer is complete until this time. If no time was left for notifications, it has "
        "none, and the alerts and events are complete until this time.",
    )


class DryRunReceiverDocument(Answer):
    """A notification of the configuration and one channel."""

    position = ShownNumber(help_text=_POSITION, example=0)
    typeName = ShownChoice(TYPE_NAMES, source="type_name", example=EMAIL.type)
    channel = ShownChoice(
        [*CHANNELS], required=False, help_text="Absent without recipients.", example=EMAIL.type
    )
    recipient = ShownText(
        required=False,
        help_text="As the notification log shows it; redacted if it contains a secret. Absent for people.",
        example="oncall@example.com",
    )
    recipientCount = ShownNumber(
        source="count",
        help_text=f"The number of recipients now. Of people, at most {MOST_RECIPIENTS_OF_ONE} are notified.",
        example=1,
    )


class DryRunNotificationDocument(Answer):
    """A notification that would have been due."""

    position = ShownNumber(source="receiver.position", help_text=_POSITION, example=0)
    kind = ShownChoice(KINDS, example=MessageKind.OPEN.value)
    channel = ShownChoice(
        [*CHANNELS],
        source="receiver.channel",
        required=False,
        help_text="With `position`, names one of `receivers`.",
        example=EMAIL.type,
    )
    due = ShownTime()
    sent = ShownTime(required=False, help_text="Absent if it would not have been sent until the end.")
    reason = serializers.CharField(required=False, help_text="Why it would never have been sent.")
    recipientCount = ShownNumber(
        source="receiver.count",
        help_text="The number of addresses. Recipients that other notifications reach too have entries of "
        "their own.",
        example=1,
    )
    mergedInto = serializers.IntegerField(
        source="merged_into",
        required=False,
        help_text="Position of the notification that would have sent the same message to the same addresses.",
    )
    maintenanceWindowId = serializers.CharField(
        source="window_id", required=False, help_text="The last window that would have muted it."
    )


class _Found(Answer):
    """The target and the notifications of an alert or event."""

    hostId = serializers.CharField(required=False)
    hostnameAndPort = ShownText(required=False, example="db1.example.com:27017")
    clusterId = serializers.CharField(required=False)
    clusterName = serializers.CharField(required=False)
    replicaSetName = serializers.CharField(required=False)
    sourceTypeName = serializers.CharField(required=False)
    notificationCount = ShownNumber(example=1)
    notifications = DryRunNotificationDocument(many=True, help_text=f"The first {MOST_MESSAGES_SHOWN}.")


class DryRunAlertDocument(_Found):
    """An alert that would have opened."""

    order = (
        "status",
        "created",
        "opened",
        "resolved",
        "startValue",
        "currentValue",
        "firstAlert",
        *TARGET_FIELDS,
    )

    hostId = ShownId(required=False, example=ANOTHER_ID)
    status = ShownChoice(
        [status.value for status in AlertStatus if status is not AlertStatus.TRACKING],
        help_text="At the end of the dry run.",
        example=AlertStatus.CLOSED.value,
    )
    created = ShownTime(help_text="When the condition became true.")
    opened = ShownTime(source="opens", help_text="When the smallest delayMin had passed.")
    resolved = ShownTime(required=False)
    startValue = CurrentValueDocument(required=False, help_text="The value at `created`.")
    currentValue = CurrentValueDocument(
        required=False,
        help_text="The last value.",
        example={"number": 640, "units": Unit.RAW.value},
    )
    firstAlert = serializers.IntegerField(
        required=False,
        help_text="Only with grouping TOPOLOGY: the position in `results` of the first alert of its "
        "incident. Only the first alert has notifications.",
    )


class DryRunEventDocument(_Found):
    """An event that opens no alert and would have been notified."""

    order = ("eventId", "created", *TARGET_FIELDS)

    notifications = DryRunNotificationDocument(
        many=True,
        help_text=f"The first {MOST_MESSAGES_SHOWN}.",
        example={**DryRunNotificationDocument.sample(), "kind": MessageKind.INFORM.value},
    )
    eventId = ShownId(source="id")
    created = ShownTime()


class DryRunAlertsDocument(Answer):
    """The alerts, in the order of `created`."""

    computed = {"totalCount": lambda result: len(result.alerts)}

    totalCount = ShownNumber(help_text="Number of all these alerts.", example=1)
    neverOpened = ShownNumber(
        source="never_opened",
        help_text="How often the condition ended before the smallest delayMin had passed.",
        example=3,
    )
    results = DryRunAlertDocument(many=True, help_text=f"The first {MOST_SHOWN}.")


class DryRunEventsDocument(Answer):
    """The events, in the order of their time; none if the event type opens alerts."""

    computed = {"totalCount": lambda result: len(result.events)}

    totalCount = ShownNumber(help_text="Number of all these events.", example=0)
    results = DryRunEventDocument(many=True, help_text=f"The first {MOST_SHOWN}.")


class DryRunCountsDocument(Answer):
    """The number of messages, reminders included: one for each address that a notification reaches."""

    answer_order = ("sent", "muted")

    sent = ShownNumber(help_text="Messages that would have been sent.", example=2)
    merged = ShownNumber(
        help_text="Not sent, because another notification would have sent the same message to the same "
        "address.",
        example=0,
    )
    muted = ShownNumber(help_text="Muted by a maintenance window at first, or for good.", example=0)
    notSent = ShownNumber(source="not_sent", help_text="Not sent until the end.", example=0)


class DryRunDocument(Answer):
    """What a configuration would have done."""

    computed = {
        "truncated": lambda result: result if result.cut else None,
        "notifications": lambda result: result,
    }
    answer_order = ("start", "end", "evaluated", "limits", "truncated")

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

    @classmethod
    def of_config(cls, result: DryRunResult, config: Mapping[str, Any]) -> JsonObject:
        """Return the result; `config` are the values of the valid configuration, by column."""
        return cls.of(
            result,
            alerts=DryRunAlertsDocument.of(result, results=list(_alerts(result, config))),
            events=DryRunEventsDocument.of(result, results=list(_events(result, config["event_type"]))),
        )


_NO_TARGET = dict.fromkeys(TARGET_FIELDS)


def _alerts(result: DryRunResult, config: Mapping[str, Any]) -> Iterator[JsonObject]:
    threshold = config.get("metric_threshold")
    metric = threshold and threshold["metricName"]
    for place, alert in enumerate(result.alerts[:MOST_SHOWN]):
        yield DryRunAlertDocument.of(
            alert,
            status=alert.status_at(result.until),
            resolved=alert.ended_by(result.until),
            startValue=current_value(metric, alert.start_value),
            currentValue=current_value(metric, alert.value),
            firstAlert=result.leads[place] if result.leads else None,
            **_NO_TARGET | target_facts(config["event_type"], alert.facts),
            **_notifications(alert.messages),
        )


def _events(result: DryRunResult, event_type: str) -> Iterator[JsonObject]:
    for event in result.events[:MOST_SHOWN]:
        target = _NO_TARGET | target_facts(event_type, event.facts)
        yield DryRunEventDocument.of(event, **target, **_notifications(event.messages))


def _notifications(messages: Sequence[DryRunMessage]) -> JsonObject:
    in_order = sorted(messages, key=lambda message: message.due)
    return {"notificationCount": len(messages), "notifications": in_order[:MOST_MESSAGES_SHOWN]}
