"""The inputs of the condition of an alert configuration, and which event types have them."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from alerting.configs.matchers import fields_for
from alerting.configs.notification_documents import DOCUMENTS
from alerting.configs.notification_types import DEFAULT_INTERVAL_MIN, NOTIFICATION_TYPES, NotificationType
from alerting.configs.resource import AlertableType
from automation.metrics import Metric, MetricKind, allowed_units, base_unit, by_subject
from automation.quantities import unit_words
from events.types import EVENT_TYPES, EventType, EventTypeSpec, Needs
from events.wording import in_words
from integrations.inputs import field_input
from opsapi.api.fields import Flag, Option
from opsapi.console.document_forms import Inputs
from opsapi.console.document_inputs import NONE_CHOSEN, ApiField, MarkedSelect, document_input
from opsapi.console.forms import CLEAR, SecretInput
from opsapi.wire_json import JsonObject

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


def event_input(*, is_global: bool) -> forms.Field:
    """The event type, by category; its options have attributes for the script."""
    by_category: dict[str, list[tuple[str, str]]] = {}
    for spec in (specs := event_types(is_global=is_global)):
        by_category.setdefault(in_words(spec.category), []).append((spec.name, in_words(spec.name)))
    marks = {
        spec.name: {
            "title": spec.name,
            "data-matchers": " ".join(matched_fields(spec)),
            "data-threshold": THRESHOLD_OF.get(spec.needs, ""),
            **({"data-global": ""} if spec.global_only else {}),
        }
        for spec in specs
    }
    return _marked("Event type", by_category.items(), marks)


def metric_input() -> forms.Field:
    """The metric, by subject; its options have attributes for the script."""
    marks = {
        metric.value: {
            "title": metric.value,
            "data-units": " ".join(allowed_units(metric)),
            "data-base": unit_words(base_unit(metric)),
            "data-meaning": metric.spec.meaning
            + (" Rate per second." if metric.spec.kind is MetricKind.RATE else ""),
        }
        for metric in Metric
    }
    choices = (
        (subject.value, [(metric.value, metric.spec.words) for metric in all_of])
        for subject, all_of in by_subject(Metric)
    )
    return _marked("Metric", choices, marks)


def _marked(
    label: str, choices: Iterable[tuple[str, Any]], marks: Mapping[str, Mapping[str, str]]
) -> forms.Field:
    widget = MarkedSelect([NONE_CHOSEN, *choices], marks)
    return forms.CharField(required=False, label=label, widget=widget, empty_value=None)


TEAMS = "config-teams"
"""The HTML ID of the list of teams, whose IDs can be entered."""
_OTHERS = ("typeName", "id")
_LAST = ("delayMin", "intervalMin", "minSeverity")
_LABELS = {
    "delayMin": "Delay in minutes",
    "intervalMin": "Minutes between reminders",
    "minSeverity": "Minimum severity",
}
_HELP = {
    "delayMin": "Leave blank for 0: notify immediately.",
    "intervalMin": f"Leave blank for {DEFAULT_INTERVAL_MIN}. Services that track incidents themselves get no "
    "reminders.",
    "minSeverity": "Messages of a lower severity are not sent. Leave blank for all messages.",
    "username": "The name the user logs in with.",
    "teamId": "Select a team, or enter a team ID.",
}


def _inputs_of(kind: NotificationType) -> Mapping[str, ApiField]:
    # With a single channel, a flag that chooses the channel is stored and has no effect.
    return {
        name: field
        for name, field in DOCUMENTS[kind.type]().fields.items()
        if not field.read_only
        and name not in _OTHERS
        and (kind.for_people or isinstance(field, Option) or not isinstance(field, Flag))
    }


NOTIFICATION_INPUTS: Mapping[str, Mapping[str, ApiField]] = {
    name: _inputs_of(kind) for name, kind in NOTIFICATION_TYPES.items()
}
"""The fields of a notification that have an input, without its type, by type."""
INPUT_TYPES: Mapping[str, Mapping[str, ApiField]] = {
    name: {kind: inputs[name] for kind, inputs in NOTIFICATION_INPUTS.items() if name in inputs}
    for name in sorted(
        dict.fromkeys(name for inputs in NOTIFICATION_INPUTS.values() for name in inputs),
        key=_LAST.__contains__,
    )
}
"""The same by name, recipients first and then the schedule: the field of each type that has it."""
_FIELDS = {field.name: field for kind in [*NOTIFICATION_TYPES.values()][::-1] for field in kind.fields}
_FLAGS = {
    name for name, types in INPUT_TYPES.items() if any(isinstance(field, Flag) for field in types.values())
}


def notification_input(name: str, *, before: Mapping[str, Any] | None = None) -> forms.Field:
    """The input of a field; `before` is the stored notification with redacted secrets, None for a new one."""
    field, types = _FIELDS.get(name), INPUT_TYPES[name]
    form = next(iter(types.values()))
    if field is None:
        return document_input(name, form, before=before, label=_LABELS[name], help_text=_HELP[name])
    made = field_input(field, form, before=before, required=False, help_text=_HELP.get(name, ""))
    is_stored = isinstance(made, SecretInput) and made.stored is not None
    if not is_stored and all(NOTIFICATION_TYPES[kind].integration for kind in types):
        unset = "unticked" if isinstance(form, Flag) else "blank"
        made.help_text = (
            f"Only with a URL of this notification. {field.help}".rstrip()
            if field.goes_with
            else f"Leave {unset} to use the integration of the project."
        )
    return made


def notification_inputs(*, is_global: bool, before: Mapping[str, Any] | None = None) -> Inputs:
    """The inputs of a notification of any type. A stored secret can be removed."""
    inputs: Inputs = {"typeName": _type_input(is_global=is_global)}
    for name in INPUT_TYPES:
        inputs[name] = made = notification_input(name, before=before)
        if isinstance(made, SecretInput) and made.stored is not None:
            inputs[name + CLEAR] = made.removal()
    inputs["teamId"].widget.attrs["list"] = TEAMS
    return inputs


def notification_body(values: Mapping[str, Any], before: Mapping[str, Any] | None) -> JsonObject:
    """The document of a notification.

    A checkbox always has a value, so checkboxes of other types are left out. Other input of other types is
    kept, so that the API reports it. Stored fields without an input stay.
    """
    type_name = values.get("typeName", "")
    own = NOTIFICATION_INPUTS.get(type_name, {})
    fields = NOTIFICATION_TYPES[type_name].fields if before else ()
    hidden = {field.name: before[field.name] for field in fields if before and field.name in before}
    kept = {name: value for name, value in hidden.items() if name not in own}
    return {**kept, **{name: value for name, value in values.items() if name in own or name not in _FLAGS}}


def _type_input(*, is_global: bool) -> forms.Field:
    kinds = {name: kind for name, kind in NOTIFICATION_TYPES.items() if is_global or not kind.global_only}
    marks = {
        name: {
            "data-interval": str(kind.default_interval_min or "none"),
            **({"data-global": ""} if kind.global_only else {}),
        }
        for name, kind in kinds.items()
    }
    choices = [NONE_CHOSEN, *((name, kind.label) for name, kind in kinds.items())]
    widget = MarkedSelect(choices, marks)
    return forms.CharField(required=False, label="Type", widget=widget, empty_value=None)
