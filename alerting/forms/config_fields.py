"""The configuration form's inputs as Django fields, which accept everything: the API validates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from unfold import widgets

from alerting.choices import GROUP_WAIT_SEC, Grouping
from alerting.forms.config_documents import Typed
from alerting.forms.config_inputs import (
    FIELD_HELP,
    MATCHER_INPUTS,
    ROW_INPUTS,
    THRESHOLD_INPUTS,
    THRESHOLD_OF,
    Input,
    event_types,
    integration_hint,
    label_of,
    matched_fields,
)
from alerting.notification_types import DEFAULT_INTERVAL_MIN, NOTIFICATION_TYPES
from automation.metrics import Metric, MetricKind, allowed_units, base_unit, by_subject
from events.wording import in_words
from integrations.inputs import JsonInput
from integrations.webhook_fields import HeaderValues, WebhookBody
from opsapi.api.fields import Flag, ListOf, Number, OneOf, Text, Whole
from opsapi.console.forms import CLEAR, SecretInput, shown_secret, themed
from opsapi.roles import ROLE_WORDS, Role

_NONE_CHOSEN = ("", "–")
_HELP = {
    "delayMin": "Leave blank for 0: notify immediately.",
    "username": "The name the user logs in with.",
    "teamId": "Select a team, or enter a team ID.",
    "grouping": "Grouped: the alerts of a machine, replica set, shard, cluster or agent are one message.",
    "groupWaitSec": f"Only for grouped messages. Leave blank for {GROUP_WAIT_SEC}.",
    "units": "Leave blank for the base unit of the metric.",
}
TEAMS = "config-teams"
"""The HTML ID of the list of teams, whose IDs can be entered."""
_INTERVAL_HELP = (
    f"Leave blank for {DEFAULT_INTERVAL_MIN}. Services that track incidents themselves get no reminders."
)

Choices = Sequence[tuple[str, Any]]


class MarkedSelect(widgets.UnfoldAdminSelectWidget):  # type: ignore[misc]  # the theme is not typed
    """A select with attributes on its options for the script; `marks` are attributes by value."""

    def __init__(self, choices: Choices, marks: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(choices=choices)
        self.marks = marks

    def create_option(self, *args: Any, **options: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(*args, **options)
        option["attrs"] |= self.marks.get(str(option["value"]), {})
        return option


def field_of(declared: Input, choices: Choices | None = None, stored: Any = None) -> forms.Field:
    """The field of an input; `choices` replace the choices of the API's field.

    `stored` is the redacted stored secret, if any.
    """
    options: dict[str, Any] = {
        "required": False,
        "label": label_of(declared.name),
        "help_text": _HELP.get(declared.name, ""),
    }
    offered = [_NONE_CHOSEN, *declared.labelled] if choices is None else choices
    if declared.is_secret:
        has_lines = isinstance(declared.field, HeaderValues)
        note = f" {FIELD_HELP.get(declared.name, '')}".rstrip()
        return SecretInput(stored=stored and shown_secret(stored), note=note, has_lines=has_lines, **options)
    match declared.field:
        case Flag():
            return themed(forms.BooleanField(**options))
        case ListOf(child=Text()) | WebhookBody():
            return themed(_lines_field(declared, options))
        case ListOf():
            return themed(forms.Field(widget=forms.SelectMultiple(choices=offered), **options))
        case OneOf():
            return themed(forms.CharField(widget=forms.Select(choices=offered), **options))
        case _:
            return themed(forms.CharField(widget=forms.TextInput(_input_mode(declared)), **options))


def _lines_field(declared: Input, options: Mapping[str, Any]) -> forms.Field:
    if isinstance(declared.field, WebhookBody):
        return JsonInput(**options)
    return forms.CharField(widget=forms.Textarea({"rows": 3}), **options)


def _input_mode(declared: Input) -> dict[str, str]:
    """The attribute by which a phone shows a keyboard for numbers."""
    match declared.field:
        case Whole():
            return {"inputmode": "numeric"}
        case Number():
            return {"inputmode": "decimal"}
        case _:
            return {}


def grouping_field(declared: Input) -> forms.Field:
    """The grouping of messages; the API leaves out the default."""
    words = {Grouping.TOPOLOGY.value: "Grouped: one message for each outage"}
    grouped = [(name, words[name]) for name in declared.choices if name in words]
    return field_of(declared, [("", "Separate: messages for each alert"), *grouped])


def event_field(*, is_global: bool) -> forms.Field:
    """The event type, by category; its options have attributes for the script."""
    by_category: dict[str, list[tuple[str, str]]] = {}
    for spec in (specs := event_types(is_global=is_global)):
        by_category.setdefault(in_words(spec.category), []).append((spec.name, in_words(spec.name)))
    choices = list(by_category.items())
    marks = {
        spec.name: {
            "title": spec.name,
            "data-matchers": " ".join(matched_fields(spec)),
            "data-threshold": THRESHOLD_OF.get(spec.needs, ""),
            **({"data-global": ""} if spec.global_only else {}),
        }
        for spec in specs
    }
    return _marked("eventTypeName", [_NONE_CHOSEN, *choices], marks)


def threshold_fields() -> dict[str, forms.Field]:
    fields = {
        f"{part}.{declared.name}": field_of(declared)
        for part, inputs in THRESHOLD_INPUTS.items()
        for declared in inputs
    }
    marks = {
        metric.value: {
            "title": metric.value,
            "data-units": " ".join(allowed_units(metric)),
            "data-base": base_unit(metric).value,
            "data-meaning": metric.spec.meaning
            + (" Rate per second." if metric.spec.kind is MetricKind.RATE else ""),
        }
        for metric in Metric
    }
    choices = [
        (subject.value, [(metric.value, metric.spec.words) for metric in all_of])
        for subject, all_of in by_subject(Metric)
    ]
    fields["metricThreshold.metricName"] = _marked("metricName", [_NONE_CHOSEN, *choices], marks)
    return fields


def matcher_fields(row: str) -> dict[str, forms.Field]:
    return {f"{row}.{declared.name}": field_of(declared) for declared in MATCHER_INPUTS}


def notification_fields(
    row: str, *, is_global: bool, secrets: Mapping[str, str], is_new: bool
) -> dict[str, forms.Field]:
    """The inputs of one notification; `secrets` are the redacted stored secrets, by input.

    In a new notification, checkboxes have their defaults.
    """
    fields = {f"{row}.typeName": _type_field(is_global=is_global)}
    for declared, types in ((next(iter(of.values())), of.keys()) for of in ROW_INPUTS.values()):
        name = f"{row}.{declared.name}"
        field = field_of(declared, stored=secrets.get(name))
        field.initial = (declared.ticked and is_new) or None
        fields[name] = field
        if isinstance(field, SecretInput) and name in secrets:
            fields[name + CLEAR] = themed(field.removal())
        elif all(NOTIFICATION_TYPES[name].integration for name in types):
            field.help_text = integration_hint(declared)
    fields[f"{row}.teamId"].widget.attrs["list"] = TEAMS
    fields[f"{row}.intervalMin"].help_text = _INTERVAL_HELP
    return fields


def initial_of(fields: Iterable[str], typed: Typed) -> dict[str, Any]:
    """The initial values of a form that is shown without validation."""
    texts = {name: typed[name] for name in fields if name in typed}
    return {name: list(said) if len(said) > 1 else next(iter(said), "") for name, said in texts.items()}


def _marked(name: str, choices: Choices, marks: Mapping[str, Mapping[str, str]]) -> forms.Field:
    return forms.CharField(required=False, label=label_of(name), widget=MarkedSelect(choices, marks))


def _type_field(*, is_global: bool) -> forms.Field:
    marks = {
        name: {
            "data-interval": str(kind.default_interval_min or "none"),
            **({"data-global": ""} if kind.global_only else {}),
        }
        for name, kind in NOTIFICATION_TYPES.items()
    }
    choices = [
        (name, kind.label) for name, kind in NOTIFICATION_TYPES.items() if is_global or not kind.global_only
    ]
    return _marked("typeName", [_NONE_CHOSEN, *choices], marks)


_LAST = ("delayMin", "intervalMin")
_IN_ORDER = sorted(ROW_INPUTS, key=lambda name: name in _LAST)
"""Recipients first, then the schedule."""

Faults = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Box:
    """A checkbox of an input, and its notification type."""

    value: str
    ticked: bool
    types: str

    @property
    def words(self) -> str:
        """The name of the role: only roles are checkboxes."""
        return ROLE_WORDS[Role(self.value)].name


@dataclass(frozen=True, slots=True)
class ShownInput:
    """An input of a row, and its notification types; `clear` removes the stored value."""

    field: forms.BoundField
    types: str = ""
    clear: forms.BoundField | None = None
    boxes: Sequence[Box] = ()

    @property
    def is_webhook_body(self) -> bool:
        """Whether it is the document of a webhook, which is wide and has a preview."""
        return isinstance(self.field.field, JsonInput)


@dataclass(frozen=True, slots=True)
class FormRow:
    """A matcher or a notification; `setting_id` is the ID of a stored one, `faults` are errors of the row."""

    name: str
    inputs: Sequence[ShownInput]
    setting_id: str = ""
    faults: Sequence[str] = ()


def matcher_row(form: forms.BaseForm, name: str, faults: Faults) -> FormRow:
    inputs = [ShownInput(form[f"{name}.{declared.name}"]) for declared in MATCHER_INPUTS]
    return FormRow(name, inputs, faults=faults.get(name, ()))


def notification_row(form: forms.BaseForm, name: str, typed: Typed, faults: Faults) -> FormRow:
    """A notification, with the inputs of all types."""
    inputs = [ShownInput(form[f"{name}.typeName"])]
    inputs += [_shown(form, f"{name}.{shown}", ROW_INPUTS[shown], typed) for shown in _IN_ORDER]
    setting_id = next(iter(typed.get(f"{name}.id", [])), "")
    return FormRow(name, inputs, setting_id, faults.get(name, ()))


def _shown(form: forms.BaseForm, name: str, of_types: Mapping[str, Input], typed: Typed) -> ShownInput:
    clear = form[name + CLEAR] if name + CLEAR in form.fields else None
    boxes = [
        Box(value, value in typed.get(name, ()), type_name)
        for type_name, declared in of_types.items()
        if isinstance(declared.field, ListOf)
        for value in declared.choices
    ]
    return ShownInput(form[name], " ".join(of_types), clear, boxes)
