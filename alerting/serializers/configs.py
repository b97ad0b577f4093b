"""Project alert configurations as the API shows and takes them (contract 2.5, decisions 5)."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from alerting.rules.matching import MatcherField, fields_for
from alerting.selectors.configs import ConfigRow, config_facts
from alerting.serializers.config_parts import (
    MatcherDocument,
    MetricThresholdDocument,
    NotificationDocument,
    ThresholdDocument,
)
from events.types import EVENT_TYPES, Category, EventType, EventTypeSpec, Needs
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument, invalid
from opsapi.api.errors import BadField
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import Flag, ListOf, OneOf
from opsapi.api.links import Links

_PROJECT_TYPES = [spec.name for spec in EVENT_TYPES.values() if spec.alertable and not spec.global_only]


class ProjectEventType(OneOf):
    """An event type a project's configuration can name."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The name."""
        name = super().run_validation(data)
        if not EVENT_TYPES[EventType(name)].alertable:
            raise invalid(
                "no alert can be configured for it", ErrorCode.INVALID_EVENT_TYPE_FOR_ALERT, _PROJECT_TYPES
            )
        if EVENT_TYPES[EventType(name)].global_only:
            raise invalid(
                "is for global alert configurations only", ErrorCode.GLOBAL_ALERTS_ONLY, _PROJECT_TYPES
            )
        return name


class AlertConfigDocument(Document):
    """A project's alert configuration."""

    ignored = Document.ignored | {"typeName"}
    deprecated = frozenset({"typeName"})
    refusals = (
        ErrorCode.INVALID_EVENT_TYPE_FOR_ALERT,
        ErrorCode.GLOBAL_ALERTS_ONLY,
        ErrorCode.METRIC_THRESHOLD_PRESENT,
        ErrorCode.MISSING_METRIC_THRESHOLD,
        ErrorCode.THRESHOLD_PRESENT,
        ErrorCode.MISSING_THRESHOLD,
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
                "typeName": "EMAIL",
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

    created = serializers.DateTimeField(read_only=True)
    enabled = Flag(required=False)
    eventTypeName = ProjectEventType([event_type.value for event_type in EventType])
    groupId = serializers.CharField(read_only=True)
    id = serializers.CharField(read_only=True)
    links = LinkDocument(many=True, read_only=True)
    matchers = ListOf(MatcherDocument(), max_length=50, required=False)
    metricThreshold = MetricThresholdDocument(required=False)
    notifications = ListOf(
        NotificationDocument(), max_length=50, missing_code=ErrorCode.MISSING_NOTIFICATIONS
    )
    threshold = ThresholdDocument(required=False)
    typeName = serializers.CharField(read_only=True, help_text="Deprecated: ignored in requests.")
    updated = serializers.DateTimeField(read_only=True)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """What the event type asks for and what it refuses."""
        if "eventTypeName" not in values:
            return []
        spec = EVENT_TYPES[EventType(values["eventTypeName"])]
        return [*_matcher_faults(spec, values), *_threshold_faults(spec, values, bad)]


class MatcherFieldDocument(Document):
    """A field matchers can look at, and for which categories of event types."""

    example = {"fieldName": MatcherField.REPLICA_SET_NAME.value, "categories": ["HOST", "REPLICA_SET"]}

    fieldName = serializers.CharField()
    categories = serializers.ListField(child=serializers.CharField())


def present_config(row: ConfigRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A configuration, secrets redacted."""
    group = f"/groups/{row['group_id']}"
    relations = {"group": group} if alone else {}
    return {**config_facts(row), "links": links.related(f"{group}/alertConfigs/{row['id']}", relations)}


MATCHER_FIELD_ROWS: list[dict[str, Any]] = [
    {
        "fieldName": field.value,
        "categories": [category.value for category in Category if field in fields_for(category)],
    }
    for field in MatcherField
]


def _matcher_faults(spec: EventTypeSpec, values: dict[str, Any]) -> list[BadField]:
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


def _threshold_faults(spec: EventTypeSpec, values: dict[str, Any], bad: frozenset[str]) -> list[BadField]:
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
        if spec.needs is needs and not given:
            found.append(BadField(name, missing, f"is required with {spec.name}"))
        elif spec.needs is not needs and given:
            found.append(BadField(name, present, f"does not go with {spec.name}"))
    return found
