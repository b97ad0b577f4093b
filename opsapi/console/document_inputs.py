"""Inputs of forms for the fields of API documents.

An input turns a text into JSON, and a stored value into a text. Text that it cannot convert stays text: the
schema of the document reports the fault.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from rest_framework import serializers
from unfold import widgets

from opsapi.api.fields import Flag, ListOf, Number, OneOf, Option, Text, Whole
from opsapi.console.forms import LinesField

Choices = Sequence[tuple[str, Any]]
NONE_CHOSEN = ("", "–")
_EXACT = 1e15  # Smaller doubles are written without an exponent.
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")
_CAPITAL = re.compile(r"([A-Z])")
ApiField = serializers.Field[Any, Any, Any, Any]


class TextInput(forms.CharField):
    """A text as it is typed; None if it is empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"strip": False, "empty_value": None, **options})


class WholeInput(TextInput):
    """An integer."""

    widget = forms.TextInput({"inputmode": "numeric"})

    def to_python(self, value: Any) -> Any:
        """The integer, or the text."""
        text = (super().to_python(value) or "").strip()
        return int(text) if _WHOLE.fullmatch(text) else text or None


class NumberInput(TextInput):
    """A number."""

    widget = forms.TextInput({"inputmode": "decimal"})

    def to_python(self, value: Any) -> Any:
        """The number, or the text."""
        text = (super().to_python(value) or "").strip()
        number = float(text) if _NUMBER.fullmatch(text) else math.inf
        return number if math.isfinite(number) else text or None

    def prepare_value(self, value: Any) -> Any:
        """A number with all significant digits, without a trailing `.0`."""
        if not isinstance(value, float):
            return value
        return str(int(value)) if abs(value) < _EXACT and value == int(value) else repr(value)


class FlagInput(forms.BooleanField):
    """A checkbox. `unticked` is its value while it is not ticked; None leaves it out."""

    def __init__(self, *, unticked: bool | None = False, **options: Any) -> None:
        self.unticked = unticked
        super().__init__(**options)

    def to_python(self, value: Any) -> Any:
        """True, or the value of an unticked checkbox."""
        return super().to_python(value) or self.unticked


class TextsInput(LinesField):
    """An array of texts, one on each line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, **options)

    def to_python(self, value: Any) -> Any:
        """The lines that are not empty."""
        return [line for line in super().to_python(value).split("\n") if line] or None

    def prepare_value(self, value: Any) -> Any:
        """The texts, each on a line."""
        return "\n".join(value) if isinstance(value, list) else value


class ChoicesInput(forms.Field):
    """An array of values of a closed set. The page has its own order, so values in `stored` keep theirs."""

    widget = forms.SelectMultiple

    def __init__(self, *, stored: Sequence[str], **options: Any) -> None:
        self.stored = stored
        super().__init__(**options)

    def to_python(self, value: Any) -> list[str] | None:
        """The selected values."""
        selected = [text for text in value or () if text]
        kept = [text for text in self.stored if text in selected]
        return kept + [text for text in selected if text not in kept] or None


class MarkedSelect(widgets.UnfoldAdminSelectWidget):  # type: ignore[misc]  # the theme is not typed
    """A select with attributes on its options for the script; `marks` are attributes by value."""

    def __init__(self, choices: Choices, marks: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(choices=choices)
        self.marks = marks

    def create_option(self, *args: Any, **options: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(*args, **options)
        option["attrs"] |= self.marks.get(str(option["value"]), {})
        return option


def label_of(name: str) -> str:
    """The label of an input without another one: its name, in words."""
    return _CAPITAL.sub(r" \1", name).capitalize()


def document_input(
    name: str,
    field: ApiField,
    *,
    before: Mapping[str, Any] | None = None,
    choices: Choices | None = None,
    **options: Any,
) -> forms.Field:
    """The input of a field of a document. `before` is the stored document, None for a new one.

    `choices` replace the choices of the field. An unticked checkbox is left out if the stored document has no
    value for it.
    An unticked option is left out unless it is stored as false.
    """
    stored = (before or {}).get(name)
    options = {"required": False, "label": label_of(name), **options}
    match field:
        case Flag():
            return _flag_input(field, stored, is_new=before is None, **options)
        case ListOf():
            return _array_input(field, stored, choices, **options)
        case OneOf():
            blank = [] if options["required"] else [NONE_CHOSEN]
            offered = [*blank, *field.labelled] if choices is None else choices
            return TextInput(widget=forms.Select(choices=offered), **options)
        case Text(single_line=False):
            return LinesField(**options)
        case _:
            kinds = (kind for api, kind in _KINDS.items() if isinstance(field, api))
            return next(kinds, TextInput)(**options)


_KINDS: Mapping[type[ApiField], type[TextInput]] = {Whole: WholeInput, Number: NumberInput}


def _flag_input(field: Flag, stored: Any, *, is_new: bool, **options: Any) -> forms.Field:
    if isinstance(field, Option):
        return FlagInput(unticked=None if stored else stored, **options)
    left_out = not is_new and stored is None
    options.setdefault("initial", True if is_new and field.default is True else None)
    return FlagInput(unticked=None if left_out else False, **options)


def _array_input(field: ListOf, stored: Any, choices: Choices | None, **options: Any) -> forms.Field:
    child: Any = field.child
    if choices is None and not isinstance(child, OneOf):
        return TextsInput(**options)
    widget = forms.SelectMultiple(choices=child.labelled if choices is None else choices)
    return ChoicesInput(stored=stored or (), widget=widget, **options)
