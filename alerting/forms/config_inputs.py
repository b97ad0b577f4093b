"""The inputs of the form of an alert configuration, and which types of events and notifications have them.

They follow from the API's request schemas and from the tables `EVENT_TYPES` and `NOTIFICATION_TYPES`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rest_framework import serializers

from alerting.notification_types import NOTIFICATION_TYPES, NotificationType
from alerting.rules.matchers import fields_for
from alerting.serializers.config_parts import MatcherDocument, MetricThresholdDocument, ThresholdDocument
from alerting.serializers.configs import AlertConfigDocument, GlobalAlertConfigDocument
from alerting.serializers.notifications import DOCUMENTS
from events.types import EVENT_TYPES, EventTypeSpec, Needs
from opsapi.api.documents import Document
from opsapi.api.fields import Flag, ListOf, Number, OneOf, Text, Whole

Field = serializers.Field[Any, Any, Any, Any]


class InputKind(StrEnum):
    """How a value is entered; the values appear in the page."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"
    CHOICES = "choices"
    LINES = "lines"
    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret


@dataclass(frozen=True, slots=True)
class Input:
    """An input; `name` is the wire name.

    `choices` are the allowed values of a closed set. `ticked` is the initial value of a FLAG.
    """

    name: str
    kind: InputKind
    choices: tuple[str, ...] = ()
    ticked: bool = False


def inputs_of(
    document: Document, *, secrets: Iterable[str] = (), leave_out: Iterable[str] = ()
) -> tuple[Input, ...]:
    """The inputs for a document, in its order: every writable field, with some exceptions."""
    hidden, left_out = frozenset(secrets), frozenset(leave_out)
    return tuple(
        input_of(name, field, secret=name in hidden)
        for name, field in document.fields.items()
        if not field.read_only and name not in left_out
    )


def input_of(name: str, field: Field, *, secret: bool = False) -> Input:
    """The kind of input for a field."""
    kind = InputKind.SECRET if secret else _kind(field)
    return Input(name, kind, _choices(field), field.default is True)


def _kind(field: Field) -> InputKind:
    if isinstance(field, ListOf):
        return InputKind.LINES if isinstance(field.child, Text) else InputKind.CHOICES
    kinds = (
        (Flag, InputKind.FLAG),
        (OneOf, InputKind.CHOICE),
        (Whole, InputKind.WHOLE),
        (Number, InputKind.NUMBER),
    )
    return next((kind for form, kind in kinds if isinstance(field, form)), InputKind.TEXT)


def _choices(field: Field) -> tuple[str, ...]:
    asked = field.child if isinstance(field, ListOf) else field
    return tuple(asked.allowed) if isinstance(asked, OneOf) else ()


_IDENTITY = ("typeName", "id")
_PARTS = ("matchers", "metricThreshold", "threshold", "notifications")

MATCHER_INPUTS = inputs_of(MatcherDocument())
THRESHOLD_INPUTS: Mapping[str, tuple[Input, ...]] = {
    "metricThreshold": inputs_of(MetricThresholdDocument()),
    "threshold": inputs_of(ThresholdDocument()),
}
THRESHOLD_OF: Mapping[Needs, str] = {
    Needs.METRIC_THRESHOLD: "metricThreshold",
    Needs.THRESHOLD: "threshold",
}
"""The part of a configuration that an event type requires."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """What a configuration of an event type can contain; `threshold` is the required part."""

    name: str
    category: str
    matcher_fields: tuple[str, ...]
    threshold: str | None


@dataclass(frozen=True, slots=True)
class NotificationKind:
    """The fields of a notification of a type.

    `interval_min`: default minutes between reminders; None: no reminders. `integrated`: empty fields come
    from the project's integration.
    """

    name: str
    inputs: tuple[Input, ...]
    interval_min: int | None
    integrated: bool

    @property
    def kept(self) -> frozenset[str]:
        """Fields that the form does not show; they keep their stored values."""
        declared = NOTIFICATION_TYPES[self.name].fields
        return frozenset(field.name for field in declared) - {shown.name for shown in self.inputs}


@dataclass(frozen=True, slots=True)
class RowInput:
    """An input of a notification, with its types and the choices of each type."""

    input: Input
    choices_of: Mapping[str, tuple[str, ...]]

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self.choices_of)

    @property
    def is_list(self) -> bool:
        """Whether several choices can be selected."""
        return self.input.kind is InputKind.CHOICES


def config_inputs(*, is_global: bool) -> tuple[Input, ...]:
    """Inputs besides matchers, thresholds and notifications."""
    document = GlobalAlertConfigDocument() if is_global else AlertConfigDocument()
    return inputs_of(document, leave_out=_PARTS)


def event_kinds(*, is_global: bool) -> tuple[EventKind, ...]:
    """The event types for configurations of projects, or for global ones."""
    offered = (
        spec for spec in EVENT_TYPES.values() if spec.alertable and (is_global or not spec.global_only)
    )
    return tuple(_event_kind(spec) for spec in offered)


def notification_kinds(*, is_global: bool) -> tuple[NotificationKind, ...]:
    """The notification types for configurations of projects, or for global ones."""
    offered = (kind for kind in NOTIFICATION_TYPES.values() if is_global or not kind.global_only)
    return tuple(KINDS[kind.type] for kind in offered)


def _event_kind(spec: EventTypeSpec) -> EventKind:
    fields = fields_for(spec.category) if spec.supports_matchers else ()
    names = tuple(field.value for field in fields)
    return EventKind(spec.name, spec.category.value, names, THRESHOLD_OF.get(spec.needs))


def _notification_kind(kind: NotificationType) -> NotificationKind:
    document = DOCUMENTS[kind.type]()
    inputs = inputs_of(document, secrets=kind.secret_fields, leave_out=_IDENTITY)
    # With a single channel there is nothing to choose: such a flag is stored and has no effect.
    chosen = tuple(declared for declared in inputs if kind.for_people or declared.kind is not InputKind.FLAG)
    return NotificationKind(kind.type, chosen, kind.default_interval_min, kind.integration is not None)


KINDS: Mapping[str, NotificationKind] = {
    name: _notification_kind(kind) for name, kind in NOTIFICATION_TYPES.items()
}
"""The inputs of a notification, by type."""


def _row_inputs() -> tuple[RowInput, ...]:
    """Each input once, in the order of first use."""
    found: dict[str, tuple[Input, dict[str, tuple[str, ...]]]] = {}
    for kind in KINDS.values():
        for declared in kind.inputs:
            found.setdefault(declared.name, (declared, {}))[1][kind.name] = declared.choices
    return tuple(RowInput(declared, choices_of) for declared, choices_of in found.values())


NOTIFICATION_INPUTS = _row_inputs()
"""All inputs of a notification besides its type."""

FLAGS = frozenset(
    row_input.input.name for row_input in NOTIFICATION_INPUTS if row_input.input.kind is InputKind.FLAG
)
"""The inputs that are checkboxes."""


LABELS: Mapping[str, str] = {
    "eventTypeName": "Event type",
    "enabled": "Enabled",
    "forAllGroups": "All projects",
    "groupIds": "Projects",
    "tags": "Only projects with one of these tags, one per line",
    "matchers": "Matchers",
    "fieldName": "Field",
    "operator": "Operator",
    "value": "Value",
    "metricThreshold": "Metric threshold",
    "metricName": "Metric",
    "mode": "Mode",
    "threshold": "Threshold",
    "units": "Units",
    "notifications": "Notifications",
    "typeName": "Type",
    "delayMin": "Delay in minutes",
    "intervalMin": "Minutes between reminders",
    **{field.name: field.label for kind in NOTIFICATION_TYPES.values() for field in kind.fields},
}


def label_of(name: str) -> str:
    """The label of an input; `name` may be a path, whose last step counts."""
    last = name.rpartition(".")[2]
    return LABELS.get(last, last)


def place_of(name: str) -> str:
    """The name of a row or part in a sentence, such as `Notifications 2` for `notifications[1]`."""
    part, _, place = name.partition("[")
    number = place.partition("]")[0]
    return f"{label_of(part)} {int(number) + 1}" if number.isdecimal() else label_of(part)
