"""Forms of the account page; their fields bear the names under which services refuse them."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from opsapi.console.forms import ConsoleForm

_MOST_TYPED = 1000


def _password(label: str, autocomplete: str, help_text: str = "") -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(
        max_length=_MOST_TYPED, strip=False, label=label, help_text=help_text, widget=widget
    )


def _code(help_text: str) -> forms.CharField:
    attrs = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(max_length=_MOST_TYPED, label="Code", help_text=help_text, widget=widget)


class NewPasswordForm(ConsoleForm):
    """Another password, typed twice."""

    password = _password("New password", "new-password", "At least eight characters, and none that many use.")
    again = _password("New password, once more", "new-password")

    def clean(self) -> dict[str, Any]:
        """Both times the same."""
        typed = self.cleaned_data
        if "password" in typed and typed["password"] != typed.get("again"):
            self.add_error("again", ValidationError("This is not the same as the new password above."))
        return typed


class PasswordForm(NewPasswordForm):
    """Another password in place of the one that is shown to be known."""

    field_order = ("oldPassword", "password", "again")
    oldPassword = _password("Present password", "current-password")


class OwnPasswordForm(ConsoleForm):
    """The password, to show that nobody else sits there."""

    password = _password("Your password", "current-password")


class FirstCodeForm(ConsoleForm):
    """The first code of a new authenticator."""

    code = _code("The six digits that the authenticator shows now.")


class CodeForm(ConsoleForm):
    """A code of the second factor there is."""

    code = _code("The six digits that your authenticator shows, or one of your recovery codes.")
