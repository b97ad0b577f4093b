"""Passwords, second factors and the first user in the console: forms and pages."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError

from accesslist.login.changes import second_factor_reset
from accesslist.login.models import SecondFactor
from accesslist.login.store import has_second_factor
from accesslist.projects.resource import ProjectDocument
from accesslist.roles.rules import resetter_of
from accesslist.users.changes import NewUser
from accesslist.users.checks import as_email
from accesslist.users.models import User
from accesslist.users.resource import UserDetailsInput, UserInput
from events.retention import ALERT_OCTETS, SUGGESTED_DAYS
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from opsapi.api.permissions import Access, in_installation
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import VERBATIM, ConsoleForm, OpenForm, line_field
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.time_zones import TIME_ZONES

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
        """See `accesslist.login.changes.user_password_change`."""
        typed = self.cleaned_data
        return {"old_password": typed["oldPassword"], "password": typed["password"]}


class OwnPasswordForm(ConsoleForm):
    """The password, to confirm the identity of the user."""

    password = password_field("Your password", "current-password")


def email_field(help_text: str = "") -> forms.CharField:
    """An e-mail address, as a field of a user."""
    return forms.CharField(
        required=False,
        max_length=254,
        label="E-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text=f"{help_text} Leave blank to use the username, if it is an e-mail address.".strip(),
    )


def mobile_field() -> forms.CharField:
    """A mobile number, as a field of a user."""
    return forms.CharField(
        required=False, max_length=40, label="Mobile number", help_text="Such as +12025550100."
    )


class DetailsForm(DocumentForm):
    """The names and addresses of the user."""

    document = UserDetailsInput

    firstName = line_field(100, label="First name", attrs={"autocomplete": "given-name"})
    lastName = line_field(100, label="Last name", attrs={"autocomplete": "family-name"})
    emailAddress = email_field()
    mobileNumber = mobile_field()

    def stored(self) -> Mapping[str, Any]:
        """The current values."""
        user = User.objects.get(pk=self.operator.actor().id)
        return {
            "firstName": user.first_name,
            "lastName": user.last_name,
            "emailAddress": user.email_address,
            "mobileNumber": user.mobile_number,
        }


class TimeZoneForm(ConsoleForm):
    """The zone in which the console shows times."""

    # The form of a window has a timeZone of its own.
    accountZone = forms.ChoiceField(
        label="Show times in",
        required=False,
        choices=[("", "The zone of the browser"), *((name, name) for name in TIME_ZONES)],
        help_text="The tooltip of a time shows it in UTC.",
    )

    def stored(self) -> Mapping[str, Any]:
        """The zone that the user chose."""
        return {"accountZone": User.objects.get(pk=self.operator.actor().id).time_zone}

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.login.changes.user_time_zone_set`."""
        return {"time_zone": self.cleaned_data["accountZone"]}


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
    emailAddress = email_field("Alerts are sent to it.")
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
        if not self.errors and not typed["emailAddress"] and as_email(typed["username"]) is None:
            self.add_error("emailAddress", "Enter an e-mail address, because the username is not one.")
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


def _reset(call: ActionCall) -> ActionOutcome:
    user: User = call.row
    second_factor_reset(user_id=user.id, by=call.operator.grants, actor=call.actor, now=call.now)
    return ActionOutcome(
        message=f"{user.username} now logs in with the password only, and can set up a new second factor."
    )


def who_resets(user: User | None) -> Access:
    """Follows the rule of the service."""
    return in_installation(resetter_of(user.grants_held if user else ()))


RESET_SECOND_FACTOR = Action(
    label="Reset second factor",
    text="For a user who lost their authenticator and their recovery codes. This ends their sessions; "
    "they can then log in with the password only. Verify who is asking.",
    run=_reset,
    access=who_resets,
    offered=lambda user, _: has_second_factor(user.id),
    icon="phonelink_erase",
    danger=True,
)
"""The action on the page of a user."""


@admin.register(SecondFactor)
class SecondFactorAdmin(ConsoleAdmin):
    """Users with a second factor, without the secret and the recovery codes."""

    help = "how-to/rotate-keys#second-factors"
    list_display = ["user", "created", "confirmed"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    ordering = ["created", "id"]
    fields = ["user", "created", "confirmed", "recovery_codes_left"]
    empty_text = "No second factors yet. Users set up their own on their account page."

    @admin.display(description="recovery codes left")
    def recovery_codes_left(self, factor: SecondFactor) -> int:
        """Number of unused recovery codes."""
        return len(factor.recovery_hashes)
