"""Alert configurations as the API shows and accepts them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from rest_framework import serializers

from alerting.rules.matching import MatcherField, fields_for
from alerting.selectors.configs import ConfigRow, config_facts
from alerting.serializers.config_parts import MatcherDocument, MetricThresholdDocument, ThresholdDocument
from alerting.serializers.notifications import Notifications
from events.types import EVENT_TYPES, EventType, EventTypeSpec, Needs
from integrations.channels.email import EMAIL
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument, invalid
from opsapi.api.errors import BadField
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import Flag, ListOf, OneOf
from opsapi.api.links import Links
from opsapi.api.shapes import Reference, ShapedDocument

MOST_MATCHERS = 50


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
        """The name."""
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


class AnyAlertConfigDocument(Document):
    """What alert configurations of both kinds have in common."""

    ignored = frozenset({"typeName"})
    deprecated_fields = frozenset({"typeName"})
    refusals: ClassVar[Sequence[ErrorCode]] = (
        ErrorCode.INVALID_EVENT_TYPE_FOR_ALERT,
        ErrorCode.METRIC_THRESHOLD_PRESENT,
        ErrorCode.MISSING_METRIC_THRESHOLD,
        ErrorCode.THRESHOLD_PRESENT,
        ErrorCode.MISSING_THRESHOLD,
    )
    order: ClassVar[Sequence[str]] = ()
    """The names of the fields as the contract has them."""

    created = serializers.DateTimeField(read_only=True)
    enabled = Flag(required=False)
    eventTypeName = AlertableType(with_global=True)
    id = serializers.CharField(read_only=True)
    links = LinkDocument(many=True, read_only=True)
    matchers = ListOf(MatcherDocument(), max_length=MOST_MATCHERS, required=False)
    metricThreshold = MetricThresholdDocument(required=False)
    notifications = Notifications()
    threshold = ThresholdDocument(required=False)
    typeName = serializers.CharField(read_only=True, help_text="Deprecated: ignored in requests.")
    updated = serializers.DateTimeField(read_only=True)

    def get_fields(self) -> dict[str, Any]:
        """The fields in the contract's order."""
        fields = super().get_fields()
        return {name: fields[name] for name in self.order}

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """What the event type asks for and what it refuses."""
        if "eventTypeName" in bad:
            return []
        kept = self.kept()
        whole = {**kept, **values}
        spec = EVENT_TYPES[EventType(whole["eventTypeName"])]
        matchers = () if "matchers" in bad else _matcher_faults(spec, whole)
        return [*matchers, *_threshold_faults(spec, values, bad, kept)]

    def kept(self) -> Mapping[str, Any]:
        """What stays where the document does not name it: nothing, as it is a whole one."""
        return {}


class AlertConfigDocument(AnyAlertConfigDocument):
    """A project's alert configuration."""

    refusals = (*AnyAlertConfigDocument.refusals, ErrorCode.GLOBAL_ALERTS_ONLY)
    order = (
        "created",
        "enabled",
        "eventTypeName",
        "groupId",
        "id",
        "links",
        "matchers",
        "metricThreshold",
        "notifications",
        "threshold",
        "typeName",
        "updated",
    )
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
        "notifications": [
            {
                "typeName": EMAIL.type,
                "emailAddress": "oncall@example.com",
                "delayMin": 0,
                "intervalMin": 60,
            }
        ],
    }
    example = {
        **request_example,
        "id": AN_ID,
        "groupId": ANOTHER_ID,
        "typeName": "HOST",
        "notifications": [{"id": "69201a2b3c4d5e6f70819205", **request_example["notifications"][0]}],
        "created": A_TIME,
        "updated": A_TIME,
        "links": self_link(f"/groups/{ANOTHER_ID}/alertConfigs/{AN_ID}"),
    }

    eventTypeName = AlertableType(with_global=False)
    groupId = serializers.CharField(read_only=True)


class AlertConfigChange(AlertConfigDocument):
    """What changes a project's alert configuration; what is left out stays.

    Thresholds go when the event type becomes one that does not take them.
    """

    refusals = (*AlertConfigDocument.refusals, ErrorCode.MISSING_NOTIFICATIONS)
    request_example = {"enabled": False}

    eventTypeName = AlertableType(with_global=False, required=False)
    matchers = ListOf(MatcherDocument(), max_length=MOST_MATCHERS, clearable=True, required=False)
    notifications = Notifications(clearable=True, required=False)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """As for a whole document, with what stays; somebody has to be told."""
        faults = list(super().check(values, bad))
        if values.get("notifications") == []:
            faults.append(BadField("notifications", ErrorCode.MISSING_NOTIFICATIONS, "is required"))
        return faults

    def kept(self) -> Mapping[str, Any]:
        """What is stored."""
        stored = self.context["stored"]
        return {name: stored[name] for name in _OF_CONDITION if name in stored}


_OF_CONDITION = ("eventTypeName", "matchers", "metricThreshold", "threshold")


MATCHER_FIELDS = [field.value for field in MatcherField]


class MatcherFieldsDocument(ShapedDocument):
    """The names of the fields matchers can look at: a bare array, as clients decode it."""

    example: ClassVar[Any] = MATCHER_FIELDS

    @classmethod
    def shape(cls, reference: Reference) -> dict[str, Any]:  # noqa: ARG003 - it refers to no other
        """An array of names."""
        return {"type": "array", "items": {"type": "string", "enum": MATCHER_FIELDS}}


def config_path(row: ConfigRow) -> str:
    """Where a configuration of either kind is."""
    if row["group_id"] is None:
        return f"/globalAlertConfigs/{row['id']}"
    return f"/groups/{row['group_id']}/alertConfigs/{row['id']}"


def present_config(row: ConfigRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A configuration of either kind, secrets redacted."""
    path = config_path(row)
    relations = {"alerts": f"{path}/alerts"}
    if row["group_id"] is not None:
        relations = {"group": f"/groups/{row['group_id']}", **relations}
    return {**config_facts(row), "links": links.related(path, relations if alone else {})}


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


def _threshold_faults(
    spec: EventTypeSpec, values: Mapping[str, Any], bad: frozenset[str], kept: Mapping[str, Any]
) -> list[BadField]:
    """What is missing among what is given and what stays, and what is given without being asked for."""
    kinds = (
        (
            "metricThreshold",
            Needs.METRIC_THRESHOLD,
            ErrorCode.MISSING_METRIC_THRESHOLD,
            ErrorCode.METRIC_THRESHOLD_PRESENT,
        ),
        ("threshold", Needs.THRESHOLD, ErrorCode.MISSING_THRESHOLD, ErrorCode.THRESHOLD_PRESENT),
    )
    found = []
    for name, needs, missing, present in kinds:
        given = name in values or name in bad
        if spec.needs is needs and not given and name not in kept:
            found.append(BadField(name, missing, f"is required with {spec.name}"))
        elif spec.needs is not needs and given:
            found.append(BadField(name, present, f"is not allowed with {spec.name}"))
    return found
