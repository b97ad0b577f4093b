"""Forms of the account page. Their fields have the names that services use in refusals."""

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
    """A new password, typed twice."""

    password = _password(
        "New password", "new-password", "At least 8 characters. Common passwords are not accepted."
    )
    again = _password("Confirm new password", "new-password")

    def clean(self) -> dict[str, Any]:
        """Both passwords must be equal."""
        typed = self.cleaned_data
        if "password" in typed and typed["password"] != typed.get("again"):
            self.add_error("again", ValidationError("The two passwords do not match."))
        return typed


class PasswordForm(NewPasswordForm):
    """A new password, with the current password."""

    field_order = ("oldPassword", "password", "again")
    oldPassword = _password("Current password", "current-password")


class OwnPasswordForm(ConsoleForm):
    """The password, to confirm the identity of the user."""

    password = _password("Your password", "current-password")


class FirstCodeForm(ConsoleForm):
    """The first code of a new authenticator."""

    code = _code("The current six-digit code from your authenticator.")


class CodeForm(ConsoleForm):
    """A code of the current second factor."""

    code = _code("A six-digit code from your authenticator, or a recovery code.")
