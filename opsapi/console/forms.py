"""Forms of the console and their fields, validated like the API."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.html import format_html
from django.utils.text import capfirst
from unfold import widgets
from unfold.widgets import UnfoldAdminPasswordWidget

from opsapi.api.documents import InvalidField
from opsapi.api.errors import ApiError
from opsapi.api.fields import Text
from opsapi.api.principal import Operator
from opsapi.clock import parse_time
from opsapi.hostnames import LONGEST_NAME, canonical_hostname
from opsapi.roles import INSTALLATION, Scope
from opsapi.time_zones import UTC_NAME, in_zone, local_time

CLEAR = ".clear"
"""Suffix of the checkbox that removes a stored secret."""


TYPED_TIME = "2026-11-29 02:00"
"""An example of a time as people type it."""
_SPACED = re.compile(r"(\d{4}-\d{2}-\d{2}) +(\d{2}:\d{2})", re.ASCII)


class DateTimeText(forms.CharField):
    """A date and time as text, such as 2026-11-29 02:00: the same in every browser and language.

    The input stays a string, in the format of the API, whose schema checks it.
    """

    widget = forms.TextInput
    zone = UTC_NAME

    def read_in(self, zone: str) -> None:
        """Show and read times in this zone, which the label names."""
        self.zone, self.label = zone, f"{self.label} ({zone})"

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """An example, and no help that changes the text."""
        example = {"placeholder": TYPED_TIME, "autocomplete": "off", **VERBATIM}
        return {**super().widget_attrs(widget), **example}

    def prepare_value(self, value: Any) -> Any:
        """A time as it is typed."""
        return local_time(value, self.zone) if isinstance(value, datetime) else value

    def to_python(self, value: Any) -> str:
        """The text in the format of the API: with a T, and with the zone unless it is UTC."""
        text = _SPACED.sub(r"\1T\2", (super().to_python(value) or "").strip())
        return text if self.zone == UTC_NAME else in_zone(text, self.zone)

    def clean(self, value: Any) -> Any:
        """The text, if it is a date and time; empty without input."""
        text = super().clean(value)
        try:
            if text:
                parse_time(text)
        except ValueError:
            raise ValidationError(f"Enter a date and time, such as {TYPED_TIME}.") from None
        return text


def folded_boxes() -> forms.CheckboxSelectMultiple:
    """Checkboxes; groups with a name are folded, unless they contain a selected box.

    The theme's templates recognize its widget by the name of the class, so it is not a class of its own.
    """
    boxes: forms.CheckboxSelectMultiple = widgets.UnfoldAdminCheckboxSelectMultipleWidget()
    boxes.template_name = "console/folded_boxes.html"
    return boxes


class LinesField(forms.CharField):
    """A multi-line text with line feeds only: browsers send two characters."""

    widget = forms.Textarea

    def widget_attrs(self, widget: forms.Widget) -> dict[str, str]:
        """Three lines high."""
        return {**super().widget_attrs(widget), "rows": "3"}

    def to_python(self, value: Any) -> str:
        """The text."""
        return (super().to_python(value) or "").replace("\r\n", "\n")


class DocumentInput(LinesField):
    """A document. Errors name the wrong part of it."""


class _NeverShown:
    """An input that never shows its value. If a value was typed, it asks for the value again."""

    template_name = "console/secret.html"
    plain_template: ClassVar[str]

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """The context without the value."""
        if value:
            note = f"{(attrs or {}).get('id', name)}_again"
            attrs = {**(attrs or {}), "placeholder": "enter the secret again", "aria-describedby": note}
        context: dict[str, Any] = super().get_context(name, None, attrs)  # type: ignore[misc]  # of the widget
        context["widget"] |= {"plain_template": self.plain_template, "is_lost": bool(value)}
        return context


class SecretLine(_NeverShown, UnfoldAdminPasswordWidget):  # type: ignore[misc]  # the theme is not typed
    """An input for a secret on a single line."""

    plain_template = UnfoldAdminPasswordWidget.template_name


class SecretLines(_NeverShown, widgets.UnfoldAdminTextareaWidget):  # type: ignore[misc]  # see above
    """An input for a secret with several lines."""

    plain_template = widgets.UnfoldAdminTextareaWidget.template_name


class SecretInput(forms.CharField):
    """A secret, which is never shown. A form that is shown again asks for a typed secret again.

    `stored` is the redacted stored value, if any; it stays if the field is empty. `note` is an additional
    help text; a new secret has it unless there is a `help_text`. `has_lines`: the secret can have several
    lines.
    """

    def __init__(
        self,
        *,
        stored: Any = None,
        note: str = "",
        required: bool = False,
        has_lines: bool = False,
        **options: Any,
    ) -> None:
        self.stored = stored
        attributes = {"autocomplete": "new-password"}
        if stored is not None:
            attributes["placeholder"] = "unchanged"
            options["help_text"] = format_html(
                "Stored: <code>{}</code>. Leave blank to keep it.{}", shown_secret(stored), note
            )
        elif note:
            options.setdefault("help_text", note.strip())
        self.has_lines = has_lines
        widget = SecretLines({"rows": "3", **attributes}) if has_lines else SecretLine(attributes)
        super().__init__(required=required and stored is None, widget=widget, **options)

    def removal(self) -> forms.BooleanField:
        """The checkbox that removes the stored value."""
        return forms.BooleanField(required=False, label=f"Remove the stored “{self.label}”")


def shown_secret(redacted: Any) -> str:
    """The redacted form of a secret; header fields in a line."""
    if isinstance(redacted, Mapping):
        return ", ".join(f"{name}: {text}" for name, text in redacted.items())
    return str(redacted)


def fault_sentence(about: str, message: str, allowed: Sequence[str]) -> str:
    """A fault in a sentence. `about` is the path of the fault, unless its input shows it."""
    sentence = (f"{about}: {message}" if about else capfirst(message)).removesuffix(".") + "."
    return f"{sentence} Allowed: {', '.join(allowed)}." if allowed else sentence


_FIELD_NAME = re.compile(r"\b[a-z]+[A-Z][A-Za-z]*\b")
"""A name of a field of the API that is no word."""
_LAST_STEP = re.compile(r"(\.[^.\[\]]*|\[[0-9]*\])$")
T = TypeVar("T")


def the_only(offered: Sequence[T]) -> T | None:
    """What a form preselects: the only choice, if there is a single one."""
    return offered[0] if len(offered) == 1 else None


_Field = TypeVar("_Field", bound=forms.Field)
_single_line = Text(max_length=1000)
# Theme styles for Django's plain widgets; explicit theme widgets stay.
_THEMED: Mapping[type[forms.Widget], type[forms.Widget]] = {
    forms.TextInput: widgets.UnfoldAdminTextInputWidget,
    forms.EmailInput: widgets.UnfoldAdminEmailInputWidget,
    forms.URLInput: widgets.UnfoldAdminURLInputWidget,
    forms.NumberInput: widgets.UnfoldAdminIntegerFieldWidget,
    forms.PasswordInput: widgets.UnfoldAdminPasswordWidget,
    forms.Textarea: widgets.UnfoldAdminTextareaWidget,
    forms.Select: widgets.UnfoldAdminSelectWidget,
    forms.SelectMultiple: widgets.UnfoldAdminSelectMultipleWidget,
    forms.CheckboxInput: widgets.UnfoldBooleanWidget,
    forms.CheckboxSelectMultiple: widgets.UnfoldAdminCheckboxSelectMultipleWidget,
    forms.RadioSelect: widgets.UnfoldAdminRadioSelectWidget,
}


def single_line(value: str) -> None:
    """Reject control characters, as the API does.

    Raises:
        ValidationError: of Django's forms.
    """
    try:
        _single_line.run_validation(value)
    except InvalidField:
        raise ValidationError("This must not contain control characters.") from None


VERBATIM: Mapping[str, Any] = {"autocapitalize": "none", "spellcheck": "false"}
"""Attributes of an input whose text browsers must not change."""


def line_field(max_length: int, *, attrs: Mapping[str, Any] | None = None, **options: Any) -> forms.CharField:
    """A text on a single line, as the API accepts it. `attrs`: attributes of its input."""
    widget = forms.TextInput(attrs=dict(attrs or {}))
    return forms.CharField(max_length=max_length, validators=[single_line], widget=widget, **options)


class HostnamesField(forms.CharField):
    """At most `most` host names or IP addresses, separated by commas."""

    def __init__(self, most: int, **options: Any) -> None:
        self.most = most
        longest = most * (LONGEST_NAME + 2)
        super().__init__(max_length=longest, widget=forms.TextInput(dict(VERBATIM)), **options)

    def prepare_value(self, value: Any) -> Any:
        """A list as it is typed."""
        return ", ".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else value

    def to_python(self, value: Any) -> Sequence[str]:  # type: ignore[override]  # the cleaned value is a list
        """The hosts in their canonical form.

        Raises:
            ValidationError: with the first wrong host.
        """
        names = [name.strip() for name in (super().to_python(value) or "").split(",") if name.strip()]
        if len(names) > self.most:
            raise ValidationError(f"Enter at most {self.most} hosts.")
        hosts = []
        for name in names:
            if (host := canonical_hostname(name)) is None:
                raise ValidationError(f"“{name}” is not a host name (RFC 1123) or an IP address.")
            hosts.append(host)
        return hosts


class OpenForm(forms.Form):
    """A form in the style of the theme, also for visitors who have not logged in.

    `fieldsets` groups fields under titles; without it they follow each other. `fields_template` shows the
    fields where that is not enough.
    """

    fieldsets: ClassVar[Sequence[tuple[str, Sequence[str]]]] = ()
    fields_template: ClassVar[str] = "console/form_fields.html"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.add_inputs()
        self.order_fields(self.field_order)
        for field in self.fields.values():
            themed(field)

    def add_inputs(self) -> None:
        """Add the inputs that are not declared in the class."""

    def groups(self) -> Iterable[tuple[str, list[forms.BoundField]]]:
        """Yield the fields by title, and last the fields that `fieldsets` does not name.

        A save clears a field that its page lacks. The page shows nested fields (`matchers[0].value`) itself.
        """
        for title, names in self.fieldsets:
            yield title, [self[name] for name in names]
        named = {name for _, names in self.fieldsets for name in names}
        rest = [name for name in self.fields if name not in named and not (named and "." in name)]
        if rest:
            yield "", [self[name] for name in rest]

    @property
    def has_wrong_fields(self) -> bool:
        """Whether an error belongs to a field, rather than only to the whole form."""
        return any(name != NON_FIELD_ERRORS for name in self.errors)

    def add_refusal(self, refusal: ApiError) -> None:
        """Show a refusal of the API or a service, next to the fields it names."""
        bad = refusal.document().get("badFields", ())
        for fault in bad:
            name = self.field_of(fault["field"])
            about = self.part_at(name, fault["field"]) if name else fault["field"]
            message = self.in_labels(fault["message"])
            self.add_fault(name, fault_sentence(about, message, fault.get("allowed", ())))
        if not bad:
            self.add_error(None, refusal.document()["detail"])

    def in_labels(self, message: str) -> str:
        """A message of the API, with the labels of the form instead of the names of its fields."""
        return _FIELD_NAME.sub(
            lambda name: f"“{self.fields[name[0]].label}”" if name[0] in self.fields else name[0], message
        )

    def add_fault(self, name: str | None, sentence: str) -> None:
        """Show a fault next to the field of this name."""
        self.add_error(name, sentence)

    def field_of(self, path: str) -> str | None:
        """The innermost of the places for a path of a document; None if the form does not show it."""
        places = self.fault_places()
        while path and path not in places:
            step = _LAST_STEP.search(path)
            path = path[: step.start()] if step else ""
        return path or None

    def part_at(self, name: str, path: str) -> str:
        """The part of the input of this name that a fault is about, from its path; empty without parts.

        The parts are the members of a document. The lines of a secret are a document, too.
        """
        field = self.fields.get(name)
        is_document = isinstance(field, DocumentInput) or (isinstance(field, SecretInput) and field.has_lines)
        return path.removeprefix(name).removeprefix(".") if is_document else ""

    def fault_places(self) -> Collection[str]:
        """The names of what can have an error: the fields."""
        return self.fields.keys()


class ConsoleForm(OpenForm):
    """The form of an action.

    `operator`: the user. `row`: the row of the action, if it is a single one; `rows`: all rows of the action.
    `values`: the input of the action's `run`.
    `heading_template` is shown above the title. `from_address`: the fields that the URL may fill in. Anybody
    can send a link, so these fields must not grant a permission.
    """

    heading_template: ClassVar[str] = ""
    from_address: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self, *args: Any, operator: Operator, row: Any = None, rows: Sequence[Any] = (), **options: Any
    ) -> None:
        self.operator, self.row, self.rows = operator, row, rows
        options["initial"] = self.filled_in(options.get("initial") or {})
        super().__init__(*args, **options)

    def filled_in(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The initial values; `given` are from the URL."""
        return {**self.stored(), **given}

    def stored(self) -> Mapping[str, Any]:
        """The initial values, from the row."""
        return {}

    @property
    def button(self) -> str:
        """The text of the page's button, if it depends on the input."""
        return ""

    @property
    def is_question(self) -> bool:
        """Whether the form was sent only to be shown again, with an answer."""
        return False

    def scope(self) -> Scope:
        """The scope of a new row, from the input; the operator needs permission there."""
        return INSTALLATION

    @property
    def values(self) -> Mapping[str, Any]:
        """The validated input."""
        return self.cleaned_data


def themed(field: _Field) -> _Field:
    """The same field with a widget in the style of the theme."""
    kind = _THEMED.get(type(field.widget))
    if kind is None:
        return field
    plain: Any = field.widget
    new: Any = kind(attrs=dict(plain.attrs))
    if isinstance(plain, forms.widgets.ChoiceWidget):
        new.choices = plain.choices
    new.is_required, new.is_localized = plain.is_required, plain.is_localized
    field.widget = new
    return field
