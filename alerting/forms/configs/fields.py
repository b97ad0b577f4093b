"""The inputs of the configuration form as Django fields: they accept everything, the API validates."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from unfold import widgets

from alerting.config_form.inputs import Input, InputKind
from alerting.config_form.kinds import (
    KINDS,
    MATCHER_INPUTS,
    NOTIFICATION_INPUTS,
    THRESHOLD_INPUTS,
    EventKind,
    event_kinds,
    notification_kinds,
)
from alerting.config_form.labels import label_of
from alerting.config_form.rows import Typed
from alerting.notification_types import NOTIFICATION_TYPES
from automation.metrics import Metric, MetricKind, allowed_units, base_unit, by_subject
from opsapi.console.fields import CLEAR, SecretInput
from opsapi.console.forms import themed

_NONE_CHOSEN = ("", "–")
_HELP = {
    "delayMin": "Leave blank for 0: notify immediately.",
    "username": "The name the user logs in with.",
    "teamId": "Select a team, or enter a team ID.",
    "units": "Leave blank for the base unit of the metric.",
}
TEAMS = "config-teams"
"""The HTML ID of the list of teams, whose IDs can be entered."""
_INPUT_MODES = {InputKind.WHOLE: "numeric", InputKind.NUMBER: "decimal"}

Choices = Sequence[tuple[str, Any]]


class MarkedSelect(widgets.UnfoldAdminSelectWidget):  # type: ignore[misc]  # the theme is not typed
    """A select with attributes on its options for the script; `marks` are attributes by value."""

    def __init__(self, choices: Choices, marks: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(choices=choices)
        self.marks = marks

    def create_option(self, *args: Any, **options: Any) -> dict[str, Any]:
        """An option with its attributes."""
        option: dict[str, Any] = super().create_option(*args, **options)
        option["attrs"] |= self.marks.get(str(option["value"]), {})
        return option


def field_of(declared: Input, choices: Choices | None = None, stored: str | None = None) -> forms.Field:
    """The field of an input; `choices` replace the choices of the API's field.

    `stored` is the redacted stored secret, if any.
    """
    options: dict[str, Any] = {
        "required": False,
        "label": label_of(declared.name),
        "help_text": _HELP.get(declared.name, ""),
    }
    offered = _offered(declared.choices) if choices is None else choices
    match declared.kind:
        case InputKind.FLAG:
            return themed(forms.BooleanField(**options))
        case InputKind.CHOICES:
            return themed(forms.Field(widget=forms.SelectMultiple(choices=offered), **options))
        case InputKind.CHOICE:
            return themed(forms.CharField(widget=forms.Select(choices=offered), **options))
        case InputKind.LINES:
            return themed(forms.CharField(widget=forms.Textarea({"rows": 3}), **options))
        case InputKind.SECRET:
            return SecretInput(stored=stored, **options)
        case _:
            mode = _INPUT_MODES.get(declared.kind)
            attributes = {"inputmode": mode} if mode else {}
            return themed(forms.CharField(widget=forms.TextInput(attributes), **options))


def event_field(*, is_global: bool) -> forms.Field:
    """The event type, by category; its options have attributes for the script."""
    kinds = event_kinds(is_global=is_global)
    own = {kind.name for kind in event_kinds(is_global=False)}
    categories = dict.fromkeys(kind.category for kind in kinds)
    choices = [
        (category, [(kind.name, kind.name) for kind in kinds if kind.category == category])
        for category in categories
    ]
    marks = {kind.name: _event_marks(kind, is_global_only=kind.name not in own) for kind in kinds}
    return _marked("eventTypeName", [_NONE_CHOSEN, *choices], marks)


def threshold_fields() -> dict[str, forms.Field]:
    """The inputs of both thresholds."""
    fields = {
        f"{part}.{declared.name}": field_of(declared)
        for part, inputs in THRESHOLD_INPUTS.items()
        for declared in inputs
    }
    marks = {
        metric.value: {
            "data-units": " ".join(allowed_units(metric)),
            "data-base": base_unit(metric).value,
            "data-meaning": _meaning(metric),
        }
        for metric in Metric
    }
    choices = [
        (subject.value, [(metric.value, metric.value) for metric in all_of])
        for subject, all_of in by_subject(Metric)
    ]
    fields["metricThreshold.metricName"] = _marked("metricName", [_NONE_CHOSEN, *choices], marks)
    return fields


def matcher_fields(row: str) -> dict[str, forms.Field]:
    """The inputs of a matcher."""
    return {f"{row}.{declared.name}": field_of(declared) for declared in MATCHER_INPUTS}


def notification_fields(
    row: str, *, is_global: bool, secrets: Mapping[str, str], is_new: bool
) -> dict[str, forms.Field]:
    """The inputs of one notification; `secrets` are the redacted stored secrets, by input.

    In a new notification, checkboxes have their defaults.
    """
    fields = {f"{row}.typeName": _type_field(is_global=is_global)}
    for shown in NOTIFICATION_INPUTS:
        name = f"{row}.{shown.input.name}"
        field = field_of(shown.input, stored=secrets.get(name))
        field.initial = (shown.input.ticked and is_new) or None
        fields[name] = field
        if isinstance(field, SecretInput) and name in secrets:
            fields[name + CLEAR] = themed(field.removal())
        elif all(KINDS[kind].integrated for kind in shown.types):
            field.help_text = "Leave blank to use the integration of the project."
    fields[f"{row}.teamId"].widget.attrs["list"] = TEAMS
    fields[f"{row}.intervalMin"].help_text = _interval_help()
    return fields


def initial_of(fields: Iterable[str], typed: Typed) -> dict[str, Any]:
    """The initial values of a form that is shown without validation."""
    return {name: _initial(typed[name]) for name in fields if name in typed}


def _initial(texts: Sequence[str]) -> Any:
    return list(texts) if len(texts) > 1 else next(iter(texts), "")


def _offered(names: Iterable[str]) -> Choices:
    return [_NONE_CHOSEN, *((name, name) for name in names)]


def _marked(name: str, choices: Choices, marks: Mapping[str, Mapping[str, str]]) -> forms.Field:
    return forms.CharField(required=False, label=label_of(name), widget=MarkedSelect(choices, marks))


def _meaning(metric: Metric) -> str:
    per_second = " Rate per second." if metric.spec.kind is MetricKind.RATE else ""
    return metric.spec.meaning + per_second


def _event_marks(kind: EventKind, *, is_global_only: bool) -> dict[str, str]:
    return {
        "data-matchers": " ".join(kind.matcher_fields),
        "data-threshold": kind.threshold or "",
        **({"data-global": ""} if is_global_only else {}),
    }


def _type_field(*, is_global: bool) -> forms.Field:
    marks = {
        name: {
            "data-interval": str(KINDS[name].interval_min or "none"),
            **({"data-global": ""} if kind.global_only else {}),
        }
        for name, kind in NOTIFICATION_TYPES.items()
    }
    choices = [
        (kind.name, NOTIFICATION_TYPES[kind.name].label) for kind in notification_kinds(is_global=is_global)
    ]
    return _marked("typeName", [_NONE_CHOSEN, *choices], marks)


def _interval_help() -> str:
    usual = next(kind.interval_min for kind in KINDS.values() if kind.interval_min is not None)
    return f"Leave blank for {usual}. Services that track incidents themselves get no reminders."
