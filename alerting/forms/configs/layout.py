"""The rows of the configuration form, as its template shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django import forms

from alerting.config_form.kinds import MATCHER_INPUTS, NOTIFICATION_INPUTS, RowInput
from alerting.config_form.rows import Typed
from opsapi.console.forms import CLEAR

_LAST = ("delayMin", "intervalMin")
_IN_ORDER = sorted(NOTIFICATION_INPUTS, key=lambda shown: shown.input.name in _LAST)
"""Recipients first, then the schedule."""

Faults = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Box:
    """A checkbox of an input, and its notification type."""

    value: str
    ticked: bool
    types: str


@dataclass(frozen=True, slots=True)
class ShownInput:
    """An input of a row, and its notification types; `clear` removes the stored value."""

    field: forms.BoundField
    types: str = ""
    clear: forms.BoundField | None = None
    boxes: Sequence[Box] = ()


@dataclass(frozen=True, slots=True)
class FormRow:
    """A matcher or a notification; `setting_id` is the ID of a stored one, `faults` are errors of the row."""

    name: str
    inputs: Sequence[ShownInput]
    setting_id: str = ""
    faults: Sequence[str] = ()


def matcher_row(form: forms.BaseForm, name: str, faults: Faults) -> FormRow:
    """A matcher."""
    inputs = [ShownInput(form[f"{name}.{declared.name}"]) for declared in MATCHER_INPUTS]
    return FormRow(name, inputs, faults=faults.get(name, ()))


def notification_row(form: forms.BaseForm, name: str, typed: Typed, faults: Faults) -> FormRow:
    """A notification, with the inputs of all types."""
    inputs = [ShownInput(form[f"{name}.typeName"])]
    inputs += [_shown(form, name, row_input, typed) for row_input in _IN_ORDER]
    setting_id = next(iter(typed.get(f"{name}.id", [])), "")
    return FormRow(name, inputs, setting_id, faults.get(name, ()))


def _shown(form: forms.BaseForm, row: str, row_input: RowInput, typed: Typed) -> ShownInput:
    name = f"{row}.{row_input.input.name}"
    clear = form[name + CLEAR] if name + CLEAR in form.fields else None
    boxes = _boxes(row_input, typed.get(name, ())) if row_input.is_list else ()
    return ShownInput(form[name], " ".join(row_input.types), clear, boxes)


def _boxes(row_input: RowInput, ticked: Sequence[str]) -> list[Box]:
    return [
        Box(value, value in ticked, type_name)
        for type_name, choices in row_input.choices_of.items()
        for value in choices
    ]
