"""Forms of the account page and the first set-up. Refusals of services use the names of their fields."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from accesslist.serializers.organizations import ProjectDocument
from accesslist.serializers.users import UserInput
from accesslist.services.users import NewUser
from events.retention import ALERT_OCTETS, SUGGESTED_DAYS
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from opsapi.console.forms import VERBATIM, ConsoleForm, OpenForm, line_field

PASSWORD_RULES = "At least 8 characters. Common passwords are not accepted."  # noqa: S105 - a help text
_MOST_TYPED = 1000


def password_field(label: str, autocomplete: str, help_text: str = "") -> forms.CharField:
    """A password that is typed, as it is."""
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(
        max_length=_MOST_TYPED, strip=False, label=label, help_text=help_text, widget=widget
    )


def _code(help_text: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "one-time-code", **VERBATIM})
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

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.services.accounts.user_password_change`."""
        typed = self.cleaned_data
        return {"old_password": typed["oldPassword"], "password": typed["password"]}


class OwnPasswordForm(ConsoleForm):
    """The password, to confirm the identity of the user."""

    password = password_field("Your password", "current-password")


class FirstCodeForm(ConsoleForm):
    """The first code of a new authenticator."""

    code = _code("The current six-digit code from your authenticator.")


class CodeForm(ConsoleForm):
    """A code of the current second factor."""

    code = _code("A six-digit code from your authenticator, or a recovery code.")


_USER = ("username", "password", "firstName", "lastName", "emailAddress")
_PROJECT = ("name",)


class SetupTokenForm(OpenForm):
    """The token of the link that the server printed."""

    token = forms.CharField(
        max_length=100,
        help_text="The part of the link after #.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True, **VERBATIM}),
    )


class FirstRunForm(PasswordTwiceForm):
    """The first user and the first project."""

    fieldsets = (
        ("First user", ("username", "password", "again", "firstName", "lastName", "emailAddress")),
        ("First project", _PROJECT),
        ("Events and ended alerts", ("kept",)),
    )

    username = line_field(
        254,
        attrs={"autocomplete": "username", "autofocus": True, **VERBATIM},
        help_text="You log in with this name. This user has all rights.",
    )
    password = password_field("Password", "new-password", PASSWORD_RULES)
    again = password_field("Confirm password", "new-password")
    firstName = line_field(100, label="First name", attrs={"autocomplete": "given-name"})
    lastName = line_field(100, label="Last name", attrs={"autocomplete": "family-name"})
    emailAddress = forms.CharField(
        required=False,
        max_length=254,
        label="E-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text="Leave blank to use the username, if it is an e-mail address.",
    )
    name = line_field(
        200,
        label="Project name",
        attrs={"autocomplete": "off"},
        help_text="A project has its own hosts, alerts and members, such as payments. Its organization gets "
        "the same name.",
    )

    kept = forms.ChoiceField(
        required=False,
        label="Keep them",
        choices=[("", "forever"), *((str(days), f"{days} days") for days in (SUGGESTED_DAYS, 90, 30))],
        help_text=f"An alert with two messages takes about {ALERT_OCTETS // 1000} KB, so 1,000 alerts a day "
        f"take about {1000 * 365 * ALERT_OCTETS / 1e9:.1f} GB a year. Global owners can change this later, "
        "on the Retention page.",
    )

    new_user: NewUser
    new_project: Mapping[str, Any]

    @property
    def kept_days(self) -> int | None:
        """The chosen number of days; None if the user chose none, so events and alerts are kept forever."""
        kept = self.cleaned_data["kept"]
        return int(kept) if kept else None

    def clean(self) -> dict[str, Any]:
        """Validate both with the schemas of the API."""
        typed = super().clean()
        if not self.errors:
            user, project = self._read(UserInput(), _USER), self._read(ProjectDocument(), _PROJECT)
            if not self.errors:
                self.new_user, self.new_project = NewUser(**user), project
        return typed

    def add_refusal(self, refusal: ApiError) -> None:
        """As in other forms. A used name of a project is shown next to its field."""
        if refusal.code is ErrorCode.GROUP_ALREADY_EXISTS:
            self.add_error("name", refusal.document()["detail"])
        else:
            super().add_refusal(refusal)

    def _read(self, document: Document, names: Iterable[str]) -> Mapping[str, Any]:
        try:
            return document.read({name: value for name in names if (value := self.cleaned_data[name])})
        except ApiError as refusal:
            self.add_refusal(refusal)
            return {}
