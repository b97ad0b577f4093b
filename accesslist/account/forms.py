"""Forms of the account page. Their fields have the names that services use in refusals."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from opsapi.console.forms import ConsoleForm, OpenForm

PASSWORD_RULES = "At least 8 characters. Common passwords are not accepted."  # noqa: S105 - a help text
_MOST_TYPED = 1000


def password_field(label: str, autocomplete: str, help_text: str = "") -> forms.CharField:
    """A password that is typed, as it is."""
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(
        max_length=_MOST_TYPED, strip=False, label=label, help_text=help_text, widget=widget
    )


def _code(help_text: str) -> forms.CharField:
    attrs = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(max_length=_MOST_TYPED, label="Code", help_text=help_text, widget=widget)


class PasswordTwiceForm(OpenForm):
    """A new password, typed twice."""

    password = password_field("New password", "new-password", PASSWORD_RULES)
    again = password_field("Confirm new password", "new-password")

    def clean(self) -> dict[str, Any]:
        """Both passwords must be equal."""
        typed = self.cleaned_data
        if {"password", "again"} <= typed.keys() and typed["password"] != typed["again"]:
            self.add_error("again", ValidationError("The two passwords do not match."))
        return typed


class NewPasswordForm(PasswordTwiceForm, ConsoleForm):
    """A new password of a user."""


class PasswordForm(NewPasswordForm):
    """A new password, with the current password."""

    field_order = ("oldPassword", "password", "again")
    oldPassword = password_field("Current password", "current-password")


class OwnPasswordForm(ConsoleForm):
    """The password, to confirm the identity of the user."""

    password = password_field("Your password", "current-password")


class FirstCodeForm(ConsoleForm):
    """The first code of a new authenticator."""

    code = _code("The current six-digit code from your authenticator.")


class CodeForm(ConsoleForm):
    """A code of the current second factor."""

    code = _code("A six-digit code from your authenticator, or a recovery code.")
