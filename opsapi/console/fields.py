"""Inputs of the console's forms that are more than Django's own."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

CLEAR = ".clear"
"""After the name of a secret's field: the box that takes away what is stored."""


class DateTimePicker(UnfoldAdminTextInputWidget):  # type: ignore[misc]  # the theme is not typed
    """The browser's own, for a date and a time to the second, so that none gets lost."""

    input_type = "datetime-local"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"step": "1", **(attrs or {})})


class MomentField(forms.CharField):
    """A date and time of UTC, shown as browsers let one choose them.

    What is typed stays a text: whoever takes it checks it.
    """

    widget = DateTimePicker

    def prepare_value(self, value: Any) -> Any:
        """A moment as pickers write it: they show nothing else, and send only what they show."""
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if isinstance(value, datetime) else value


class LinesField(forms.CharField):
    """A text of several lines, with a line feed at the end of each: browsers send two characters."""

    widget = forms.Textarea

    def widget_attrs(self, widget: forms.Widget) -> dict[str, str]:
        """Three lines high."""
        return {**super().widget_attrs(widget), "rows": "3"}

    def to_python(self, value: Any) -> str:
        """The text."""
        return (super().to_python(value) or "").replace("\r\n", "\n")


class SecretField(forms.CharField):
    """A secret: typed, and never shown.

    `stored` is what is shown of the one there is, if any; it stays where nothing is typed. `note` says more
    of what becomes of it.
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
        """The box that takes away what is stored."""
        return forms.BooleanField(required=False, label=f"Remove the stored “{self.label}”")
