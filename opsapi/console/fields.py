"""Form fields of the console beyond Django's own."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

CLEAR = ".clear"
"""Suffix of the checkbox that removes a stored secret."""


class DateTimePicker(UnfoldAdminTextInputWidget):  # type: ignore[misc]  # the theme is not typed
    """The browser's picker for date and time, with seconds."""

    input_type = "datetime-local"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"step": "1", **(attrs or {})})


class UtcDateTimeField(forms.CharField):
    """A UTC date and time with the browser's picker.

    The input stays a string; the API schema checks it.
    """

    widget = DateTimePicker

    def prepare_value(self, value: Any) -> Any:
        """A time in the format of pickers, which neither show nor send anything else."""
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if isinstance(value, datetime) else value


class LinesField(forms.CharField):
    """A multi-line text with line feeds only: browsers send two characters."""

    widget = forms.Textarea

    def widget_attrs(self, widget: forms.Widget) -> dict[str, str]:
        """Three lines high."""
        return {**super().widget_attrs(widget), "rows": "3"}

    def to_python(self, value: Any) -> str:
        """The text."""
        return (super().to_python(value) or "").replace("\r\n", "\n")


class SecretInput(forms.CharField):
    """A secret, which is never shown.

    `stored` is the redacted stored value, if any; it stays if the field is empty. `note` is an additional
    help text.
    """

    def __init__(
        self, *, stored: str | None = None, note: str = "", required: bool = False, **options: Any
    ) -> None:
        attributes = {"autocomplete": "new-password"}
        if stored is not None:
            attributes["placeholder"] = "unchanged"
            options["help_text"] = format_html(
                "Stored: <code>{}</code>. Leave blank to keep it.{}", stored, note
            )
        widget = UnfoldAdminPasswordWidget(attributes)
        super().__init__(required=required and stored is None, widget=widget, **options)

    def removal(self) -> forms.BooleanField:
        """The checkbox that removes the stored value."""
        return forms.BooleanField(required=False, label=f"Remove the stored “{self.label}”")
