"""The inputs of the form of an alert configuration, and which types of events and notifications have them.

They follow from the API's request schemas and from the tables `EVENT_TYPES` and `NOTIFICATION_TYPES`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from alerting.notification_types import NOTIFICATION_TYPES, NotificationType
from alerting.rules.matchers import fields_for
from alerting.serializers.config_parts import MatcherDocument, MetricThresholdDocument, ThresholdDocument
from alerting.serializers.configs import AlertableType, AlertConfigDocument, GlobalAlertConfigDocument
from alerting.serializers.notifications import DOCUMENTS
from events.types import EVENT_TYPES, EventType, EventTypeSpec, Needs
from opsapi.api.documents import Document
from opsapi.api.fields import Flag, ListOf, OneOf, Option


@dataclass(frozen=True, slots=True)
class Input:
    """An input for a field of the API; `name` is the wire name."""

    name: str
    field: serializers.Field[Any, Any, Any, Any]
    is_secret: bool = False

    @property
    def choices(self) -> Sequence[str]:
        """The allowed values of a closed set."""
        return [value for value, _ in self.labelled]

    @property
    def labelled(self) -> Sequence[tuple[str, str]]:
        """The allowed values of a closed set, each with its label."""
        asked = self.field.child if isinstance(self.field, ListOf) else self.field
        return asked.labelled if isinstance(asked, OneOf) else ()

    @property
    def ticked(self) -> bool:
        """The initial value of a checkbox."""
        return self.field.default is True


def inputs_of(
    document: Document, *, secrets: Iterable[str] = (), leave_out: Iterable[str] = ()
) -> tuple[Input, ...]:
    """The inputs for a document, in its order: every writable field, with some exceptions."""
    return tuple(
        Input(name, field, name in secrets)
        for name, field in document.fields.items()
        if not field.read_only and name not in leave_out
    )


def config_inputs(*, is_global: bool) -> tuple[Input, ...]:
    """The inputs of the configuration itself, without matchers, thresholds and notifications."""
    document = GlobalAlertConfigDocument() if is_global else AlertConfigDocument()
    return inputs_of(document, leave_out=("matchers", "metricThreshold", "threshold", "notifications"))


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


def event_types(*, is_global: bool) -> list[EventTypeSpec]:
    """The event types for configurations of projects, or for global ones."""
    return [EVENT_TYPES[EventType(name)] for name in AlertableType(with_global=is_global).open]


def matched_fields(spec: EventTypeSpec) -> list[str]:
    """The fields that matchers of an event type can compare."""
    return [field.value for field in fields_for(spec.category)] if spec.supports_matchers else []


def _notification_inputs(kind: NotificationType) -> tuple[Input, ...]:
    inputs = inputs_of(DOCUMENTS[kind.type](), secrets=kind.secret_fields, leave_out=("typeName", "id"))
    # With a single channel, a flag that chooses the channel is stored and has no effect.
    return tuple(
        declared
        for declared in inputs
        if kind.for_people or isinstance(declared.field, Option) or not isinstance(declared.field, Flag)
    )


NOTIFICATION_INPUTS: Mapping[str, tuple[Input, ...]] = {
    name: _notification_inputs(kind) for name, kind in NOTIFICATION_TYPES.items()
}
"""The inputs of a notification, without its type, by type."""


def _row_inputs() -> Mapping[str, Mapping[str, Input]]:
    found: dict[str, dict[str, Input]] = {}
    for type_name, inputs in NOTIFICATION_INPUTS.items():
        for declared in inputs:
            found.setdefault(declared.name, {})[type_name] = declared
    return found


ROW_INPUTS = _row_inputs()
"""The same by name, in the order of first use: the input of each type that has it."""
FLAGS = frozenset(
    declared.name
    for inputs in NOTIFICATION_INPUTS.values()
    for declared in inputs
    if isinstance(declared.field, Flag)
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
    "grouping": "Messages",
    "groupWaitSec": "Wait for more alerts, in seconds",
    "notifications": "Notifications",
    "typeName": "Type",
    "delayMin": "Delay in minutes",
    "intervalMin": "Minutes between reminders",
    **{field.name: field.label for kind in NOTIFICATION_TYPES.values() for field in kind.fields},
}


def integration_hint(declared: Input) -> str:
    """What an input without a value means if an integration has the credentials."""
    what = "unticked" if isinstance(declared.field, Flag) else "blank"
    return _WITH_URL.get(declared.name) or f"Leave {what} to use the integration of the project."


FIELD_HELP: Mapping[str, str] = {
    field.name: field.help for kind in NOTIFICATION_TYPES.values() for field in kind.fields if field.help
}
"""The help texts of the fields of notifications, by their names."""
_WITH_URL: Mapping[str, str] = {
    field.name: f"Only with a URL of this notification. {field.help}".rstrip()
    for kind in NOTIFICATION_TYPES.values()
    for field in kind.fields
    if field.goes_with
}
"""The same of fields that belong to the URL of a notification: with the integration, they are refused."""


def label_of(name: str) -> str:
    """The label of an input, by default its name; `name` may be a path, whose last step counts."""
    last = name.rpartition(".")[2]
    return LABELS.get(last, last)


def place_of(name: str) -> str:
    """The name of a row or part in a sentence, such as `Notifications 2` for `notifications[1]`."""
    part, _, place = name.partition("[")
    number = place.partition("]")[0]
    return f"{label_of(part)} {int(number) + 1}" if number.isdecimal() else label_of(part)
