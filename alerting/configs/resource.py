"""Alert configurations as the API shows and accepts them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import NullIf
from rest_framework import serializers

from alerting.configs.choices import GROUP_WAIT_SEC, LONGEST_GROUP_WAIT_SEC, Grouping
from alerting.configs.condition_documents import (
    MOST_MATCHERS,
    MatcherDocument,
    MetricThresholdDocument,
    ThresholdDocument,
)
from alerting.configs.matchers import CONFIG_FIELDS, fields_for
from alerting.configs.models import LONGEST_DESCRIPTION, LONGEST_NAME, LONGEST_RUNBOOK_URL, AlertConfig
from alerting.configs.notification_documents import Notifications
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.store import config_found, configs_named, notifications_column
from alerting.severities import SEVERITIES, SEVERITY
from events.types import EVENT_TYPES, EventType, EventTypeSpec, Needs, Severity
from integrations.channels.email import EMAIL
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, LinkDocument, Values, invalid, self_link
from opsapi.api.errors import BadField
from opsapi.api.fields import Flag, Identifier, ListOf, OneOf, Text, VisibleText, WebUrl, Whole
from opsapi.api.resources import Facts, Resource
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.wire_json import JsonObject

_MOST_TAGS = 50  # the maximum of a project


class AlertableType(OneOf):
    """An event type that alerts can be configured for; a project's configuration takes no global one."""

    def __init__(self, *, with_global: bool, **options: Any) -> None:
        self.open = [
            spec.name
            for spec in EVENT_TYPES.values()
            if spec.alertable and (with_global or not spec.global_only)
        ]
        super().__init__([event_type.value for event_type in EventType], **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        name = super().run_validation(data)
        if name in self.open:
            return name
        if EVENT_TYPES[EventType(name)].alertable:
            message, code = "is for global alert configurations only", ErrorCode.GLOBAL_ALERTS_ONLY
        else:
            message, code = (
                "alert configurations cannot use this event type",
                ErrorCode.INVALID_EVENT_TYPE_FOR_ALERT,
            )
        raise invalid(message, code, self.open)


_NOTIFICATION = {
    "typeName": EMAIL.type,
    "emailAddress": "oncall@example.com",
    "delayMin": 0,
    "intervalMin": 60,
}
_STORED = {
    "id": AN_ID,
    "severity": Severity.WARNING.value,
    "notifications": [{"id": "69201a2b3c4d5e6f70819205", **_NOTIFICATION}],
    "created": A_TIME,
    "updated": A_TIME,
}
"""The fields that the examples of both kinds add to their requests."""


class AnyAlertConfigDocument(Resource):
    """The fields of both kinds of alert configurations; each kind leaves out some, by None."""

    ignored = frozenset({"typeName"})
    deprecated_fields = frozenset({"typeName"})
    refusals: ClassVar[Sequence[ErrorCode]] = (
        ErrorCode.INVALID_EVENT_TYPE_FOR_ALERT,
        ErrorCode.METRIC_THRESHOLD_PRESENT,
        ErrorCode.MISSING_METRIC_THRESHOLD,
        ErrorCode.THRESHOLD_PRESENT,
        ErrorCode.MISSING_THRESHOLD,
    )
    columns = {
        "notifications": notifications_column(),
        "typeName": F("event_type"),
        "grouping": NullIf(F("grouping"), Value(Grouping.NONE.value)),
        "groupWaitSec": Case(When(~Q(grouping=Grouping.NONE.value), then=F("group_wait_sec"))),
        "name": NullIf(F("name"), Value("")),
        "severity": SEVERITY,
        "description": NullIf(F("description"), Value("")),
        "runbookUrl": NullIf(F("runbook_url"), Value("")),
    }

    # In the order of the contract.
    created = serializers.DateTimeField(read_only=True)
    enabled = Flag(required=False)
    eventTypeName = AlertableType(source="event_type", with_global=True)
    forAllGroups: Any = Flag(source="for_all_groups")
    groupIds: Any = ListOf(
        Identifier(),
        source="group_ids",
        unique=True,
        required=False,
        help_text="At least one if forAllGroups is false.",
    )
    groupId: Any = serializers.CharField(source="group_id", read_only=True)
    grouping = OneOf(
        [grouping.value for grouping in Grouping],
        required=False,
        help_text=(
            "TOPOLOGY: the alerts of one outage are notified together, as an incident. "
            "Absent in answers if each alert is notified separately."
        ),
    )
    groupWaitSec = Whole(
        source="group_wait_sec",
        max_value=LONGEST_GROUP_WAIT_SEC,
        required=False,
        help_text=(
            "Only with grouping TOPOLOGY: how long messages about an incident wait for more alerts, "
            f"in seconds; {GROUP_WAIT_SEC} if left out."
        ),
    )
    id = serializers.CharField(read_only=True)
    links = LinkDocument(many=True, read_only=True)
    matchers = ListOf(MatcherDocument(), max_length=MOST_MATCHERS, required=False)
    metricThreshold = MetricThresholdDocument(source="metric_threshold", required=False)
    notifications = Notifications()
    threshold = ThresholdDocument(required=False)
    tags: Any = ListOf(
        Text(max_length=100),
        max_length=_MOST_TAGS,
        unique=True,
        required=False,
        help_text="If forAllGroups is true: only projects with one of these tags.",
    )
    typeName = serializers.CharField(read_only=True, help_text="Deprecated: ignored in requests.")
    updated = serializers.DateTimeField(read_only=True)
    name = VisibleText(max_length=LONGEST_NAME, required=False)
    severity = OneOf(
        SEVERITIES,
        required=False,
        help_text="How urgent its alerts and events are. By default the severity of the event type, which "
        "`/eventTypes` lists. A change applies to new alerts.",
    )
    description = VisibleText(
        min_length=0,
        max_length=LONGEST_DESCRIPTION,
        single_line=False,
        allow_blank=True,
        required=False,
        help_text="What the condition means, and what to do about it: part of its messages.",
    )
    runbookUrl = WebUrl(
        source="runbook_url",
        max_length=LONGEST_RUNBOOK_URL,
        required=False,
        help_text="An http or https URL, to which its messages link.",
    )

    @classmethod
    def facts(cls, row: Iterable[Any]) -> Facts:
        """The configuration, with redacted secrets."""
        facts = super().facts(row)
        category = EVENT_TYPES[EventType(facts["typeName"])].category.value
        notifications = [_with_fields(fact) for fact in facts["notifications"]]
        return {**facts, "typeName": category, "notifications": notifications}

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Require and refuse fields as the event type demands."""
        if "eventTypeName" in bad:
            return []
        kept = self.kept()
        whole = {**kept, **values}
        spec = EVENT_TYPES[EventType(whole["event_type"])]
        matchers = () if "matchers" in bad else _matcher_faults(spec, whole)
        return [*matchers, *_threshold_faults(spec, values, bad, kept), *_grouping_faults(values, whole, bad)]

    def kept(self) -> Mapping[str, Any]:
        """The stored values of fields that the document leaves out; empty for a whole document."""
        return {}


class AlertConfigDocument(AnyAlertConfigDocument):
    """A project's alert configuration."""

    path = "/groups/{groupId}/alertConfigs/{id}"
    relations = {"group": "/groups/{groupId}", "alerts": f"{path}/alerts"}
    refusals = (*AnyAlertConfigDocument.refusals, ErrorCode.GLOBAL_ALERTS_ONLY)
    request_example = {
        "eventTypeName": EventType.OUTSIDE_METRIC_THRESHOLD.value,
        "enabled": True,
        "matchers": [{"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": "db"}],
        "metricThreshold": {
            "metricName": "CONNECTIONS",
            "mode": "AVERAGE",
            "operator": "GREATER_THAN",
            "threshold": 1000,
            "units": "RAW",
        },
        "notifications": [_NOTIFICATION],
    }

    eventTypeName = AlertableType(source="event_type", with_global=False)
    forAllGroups = groupIds = tags = None

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        return {
            **AlertConfigDocument.request_example,
            **_STORED,
            "groupId": ANOTHER_ID,
            "typeName": "HOST",
            "links": self_link(f"/groups/{ANOTHER_ID}/alertConfigs/{AN_ID}"),
        }


class AlertConfigChange(AlertConfigDocument):
    """A change of a project's alert configuration; missing fields stay.

    If the event type changes, thresholds that it does not use are removed.
    """

    refusals = (*AlertConfigDocument.refusals, ErrorCode.MISSING_NOTIFICATIONS)
    request_example = {"enabled": False}

    is_change = True

    matchers = ListOf(MatcherDocument(), max_length=MOST_MATCHERS, clearable=True, required=False)
    notifications = Notifications(clearable=True)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        faults = list(super().check(values, bad))
        if values.get("notifications") == []:
            faults.append(BadField("notifications", ErrorCode.MISSING_NOTIFICATIONS, "is required"))
        return faults

    def kept(self) -> Mapping[str, Any]:
        stored = self.context["stored"]
        return {str(field.source): stored[name] for name, field in self.fields.items() if name in stored}


class GlobalAlertConfigDocument(AnyAlertConfigDocument):
    """A global alert configuration."""

    path = "/globalAlertConfigs/{id}"
    relations = {"alerts": f"{path}/alerts"}
    request_example = {
        "eventTypeName": EventType.BACKUP_AGENT_DOWN.value,
        "enabled": True,
        "forAllGroups": True,
        "tags": ["prod"],
        "notifications": [_NOTIFICATION],
    }

    groupId = None

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        return {
            **GlobalAlertConfigDocument.request_example,
            **_STORED,
            "typeName": "AGENT",
            "groupIds": [],
            "matchers": [],
            "links": self_link(f"/globalAlertConfigs/{AN_ID}"),
        }

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Require and refuse fields as the event type and the scope demand."""
        return [*super().check(values, bad), *self._scope_faults(values, bad)]

    def _scope_faults(self, values: JsonObject, bad: frozenset[str]) -> Iterable[BadField]:
        if "for_all_groups" not in values:
            return
        named = "group_ids" in values or "groupIds" in bad
        if values["for_all_groups"] and "group_ids" in values:
            yield BadField("groupIds", ErrorCode.INVALID_ATTRIBUTE, "is not allowed if forAllGroups is true")
        elif not values["for_all_groups"] and not named and not self._names_none():
            yield BadField("groupIds", ErrorCode.MISSING_ATTRIBUTE, "is required if forAllGroups is false")
        if not values["for_all_groups"] and "tags" in values:
            yield BadField("tags", ErrorCode.INVALID_ATTRIBUTE, "is only allowed if forAllGroups is true")

    def _names_none(self) -> bool:
        """Whether it is stored without projects, by an earlier version: it can be sent back as it is."""
        stored = self.context["stored"]
        return stored.get("forAllGroups") is False and not stored["groupIds"]


class GlobalAlertConfigSwitch(GlobalAlertConfigDocument):
    """Enables or disables a global alert configuration; other fields must be unchanged."""

    refusals = (ErrorCode.ATTRIBUTE_READ_ONLY,)
    request_example = {"enabled": False}
    writable = frozenset({"enabled"})

    enabled = Flag()

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Nothing: changed fields were refused before."""
        return ()


class MatcherFieldsDocument(ShapedDocument):
    """The names of the fields of matchers: a bare array."""

    example: ClassVar[Any] = CONFIG_FIELDS

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:  # noqa: ARG003 - it refers to no other
        return {"type": "array", "items": {"type": "string", "enum": CONFIG_FIELDS}}


def config_facts(config: AlertConfig) -> Facts:
    """A configuration as it is in the database now, secrets redacted.

    Raises:
        ObjectDoesNotExist: it was deleted.
    """
    return config_document(config.group_id).stored(config)


def config_document(group_id: str | None) -> type[AnyAlertConfigDocument]:
    """The document of a project's configurations, or of global configurations for None."""
    return GlobalAlertConfigDocument if group_id is None else AlertConfigDocument


def found_facts(config_id: str, group_id: str | None) -> Facts:
    """A project's configuration, or a global one for None, as answers show it, without links.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND or GLOBAL_ALERT_CONFIG_NOT_FOUND.
    """
    facts = config_document(group_id).first(configs_named([config_id], group_id))
    return config_found(facts, config_id, group_id)


def _with_fields(notification: Facts) -> Facts:
    """A notification with the fields of its type next to the common fields."""
    arrays: Facts = {name: [] for name in NOTIFICATION_TYPES[notification["typeName"]].arrays}
    facts = {**notification, **arrays, **notification["fields"]}
    del facts["fields"]
    return facts


def _matcher_faults(spec: EventTypeSpec, values: Mapping[str, Any]) -> list[BadField]:
    matchers = values.get("matchers", [])
    if matchers and not spec.supports_matchers:
        message = f"{spec.name} does not support matchers: HOST, REPLICA_SET and CLUSTER event types do"
        return [BadField("matchers", ErrorCode.INVALID_ATTRIBUTE, message)]
    allowed = [field.value for field in fields_for(spec.category)]
    return [
        BadField(
            f"matchers[{place}].fieldName",
            ErrorCode.INVALID_ENUM_VALUE,
            f"is not a field of {spec.category.value} event types",
            allowed,
        )
        for place, matcher in enumerate(matchers)
        if matcher["fieldName"] not in allowed
    ]


def _grouping_faults(
    values: Mapping[str, Any], whole: Mapping[str, Any], bad: frozenset[str]
) -> Iterable[BadField]:
    has_wait = "group_wait_sec" in values and "grouping" not in bad
    if has_wait and whole.get("grouping") != Grouping.TOPOLOGY.value:
        yield BadField("groupWaitSec", ErrorCode.INVALID_ATTRIBUTE, "is only allowed if grouping is TOPOLOGY")


def _threshold_faults(
    spec: EventTypeSpec, values: Mapping[str, Any], bad: frozenset[str], kept: Mapping[str, Any]
) -> list[BadField]:
    """A required threshold that is neither given nor stored, and a given threshold that is not allowed."""
    kinds = (
        (
            "metricThreshold",
            "metric_threshold",
            Needs.METRIC_THRESHOLD,
            ErrorCode.MISSING_METRIC_THRESHOLD,
            ErrorCode.METRIC_THRESHOLD_PRESENT,
        ),
        ("threshold", "threshold", Needs.THRESHOLD, ErrorCode.MISSING_THRESHOLD, ErrorCode.THRESHOLD_PRESENT),
    )
    faults = []
    for name, source, needs, missing, present in kinds:
        given = source in values or name in bad
        if spec.needs is needs and not given and source not in kept:
            faults.append(BadField(name, missing, f"is required with {spec.name}"))
        elif spec.needs is not needs and given:
            faults.append(BadField(name, present, f"is not allowed with {spec.name}"))
    return faults


class RaisingConfigDocument(ShapedDocument):
    """An alert configuration of either kind."""

    example = AlertConfigDocument.sample()

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        return {"anyOf": [reference(kind) for kind in (AlertConfigDocument, GlobalAlertConfigDocument)]}
