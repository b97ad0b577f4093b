"""Forms of invitations: for inviters, and for the people who accept."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django import forms

from accesslist.forms import RolesField, ScopedForm
from accesslist.invitations.models import Invitation
from accesslist.invitations.store import Places, places_to_invite, roles_to_give
from accesslist.login.console import PASSWORD_RULES, PasswordTwiceForm, password_field
from accesslist.projects.models import Project
from accesslist.users.changes import NewUser
from accesslist.users.resource import UserInput
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.forms import VERBATIM, OpenForm, line_field
from opsapi.roles import Scope

BY_EMAIL, BY_LINK = "email", "link"
_MOST_TYPED = 1000
ORG_PREFIX, GROUP_PREFIX = "org:", "group:"


def scope_of_place(row: Any) -> Scope:
    """The scope of a project, an organization or an invitation."""
    if isinstance(row, Invitation):
        return row.scope
    return Scope(org_id=row.org_id, group_id=row.id) if isinstance(row, Project) else Scope(org_id=row.id)


class _RolesToGiveForm(ScopedForm):
    """Roles that the operator can give in the scope of the row."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.ROLE_NOT_HELD: "roles"}

    roles = RolesField(
        label="Roles",
        error_messages={"required": "Choose at least one role."},
        help_text="You can give the roles that you have.",
    )

    def add_inputs(self) -> None:
        """The roles, each with what it allows."""
        field = cast(RolesField, self.fields["roles"])
        field.offer(roles_to_give(scope_of_place(self.row), self.operator.grants))


class InviteForm(_RolesToGiveForm):
    """Invite somebody to the project or organization (the row)."""

    heading_template = "console/invite_place.html"
    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        **_RolesToGiveForm.refusal_fields,
        ErrorCode.INVALID_EMAIL_ADDRESS: "emailAddress",
        ErrorCode.INVITATION_ALREADY_EXISTS: "emailAddress",
    }

    field_order = ("way", "emailAddress", "roles")

    way = forms.ChoiceField(
        label="How",
        choices=[
            (BY_EMAIL, "By e-mail: the person gets a message with the link"),
            (BY_LINK, "By a link that you pass on yourself"),
        ],
        initial=BY_EMAIL,
        widget=forms.RadioSelect,
    )
    emailAddress = forms.EmailField(
        required=False,
        max_length=254,
        label="E-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "off", **VERBATIM}),
        help_text="With a link it may stay empty: then anybody who has the link can accept.",
    )

    def clean(self) -> dict[str, Any]:
        """A message needs an address."""
        typed = self.cleaned_data
        address = typed.get("emailAddress", "")
        if typed.get("way") == BY_EMAIL and not address and "emailAddress" not in self.errors:
            self.add_error("emailAddress", "Enter the address that gets the message.")
        return typed

    @property
    def place_form(self) -> "PlaceForm":
        """The choice of another place."""
        return PlaceForm(places_to_invite(self.operator.grants), chosen=place_value(self.row))

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.invitations.inviting.invite`, and whether to send a message."""
        typed = self.cleaned_data
        return {
            "roles": typed["roles"],
            "email_address": typed["emailAddress"] or None,
            "by_email": typed["way"] == BY_EMAIL,
        }


class PlaceForm(OpenForm):
    """The choice of the project or the organization, which has its own form."""

    place = forms.ChoiceField(label="Invite to", widget=forms.Select)

    def __init__(self, places: Places, *, chosen: str = "") -> None:
        self.places, self.is_cut = places, places.is_cut
        super().__init__(initial={"place": chosen} if chosen else {}, auto_id="invite-%s")

    def add_inputs(self) -> None:
        """The places, by kind."""
        kinds = (("Organizations", self.places.orgs), ("Projects", self.places.projects))
        choices = [(title, [(place_value(row), str(row)) for row in rows]) for title, rows in kinds if rows]
        self.fields["place"].choices = choices  # type: ignore[attr-defined]  # it is a ChoiceField


class InvitationRolesForm(_RolesToGiveForm):
    """Change the roles of an invitation (the row)."""

    def stored(self) -> Mapping[str, Any]:
        """The current roles."""
        return {"roles": self.row.roles} if self.row else {}

    @property
    def values(self) -> Mapping[str, Any]:
        """The roles."""
        return {"roles": self.cleaned_data["roles"]}


def place_value(row: Any) -> str:
    """The value of a project or an organization in the list of places."""
    return f"{GROUP_PREFIX if isinstance(row, Project) else ORG_PREFIX}{row.id}"


class InvitationTokenForm(OpenForm):
    """The token of a link."""

    token = forms.CharField(
        max_length=200,
        help_text="The part of the link after #, or the whole link.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True, **VERBATIM}),
    )

    def clean_token(self) -> str:
        """The part after #, if the whole link was entered."""
        return str(self.cleaned_data["token"]).rpartition("#")[2].strip()


_USER = ("username", "password", "firstName", "lastName", "emailAddress", "mobileNumber")


class InvitedUserForm(PasswordTwiceForm):
    """The account of a person who accepts an invitation. `address`: the e-mail address of the invitation."""

    username = line_field(
        254,
        attrs={"autocomplete": "username", "autofocus": True, **VERBATIM},
        help_text="You log in with this name.",
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
        help_text="For alert notifications. Leave blank to use the username, if it is an e-mail address.",
    )
    mobileNumber = line_field(
        40,
        required=False,
        label="Mobile number",
        attrs={"autocomplete": "tel", "inputmode": "tel"},
        help_text="For alert notifications by text message. Such as +12025550100.",
    )

    field_order = ("username", "password", "again", "firstName", "lastName", "emailAddress", "mobileNumber")

    new_user: NewUser

    def __init__(self, *args: Any, address: str | None = None, **options: Any) -> None:
        self.address = address
        super().__init__(*args, **{**options, "initial": {"username": address or ""}})

    def add_inputs(self) -> None:
        """An invitation by e-mail decides the address."""
        if self.address:
            del self.fields["emailAddress"]

    def clean(self) -> dict[str, Any]:
        """Validate with the schema of the API."""
        typed = super().clean()
        if not self.errors:
            sent = {name: value for name in _USER if (value := typed.get(name))}
            try:
                self.new_user = NewUser(**UserInput().read(sent))
            except ApiError as refusal:
                self.add_refusal(refusal)
        return typed

    def add_refusal(self, refusal: ApiError) -> None:
        """As in other forms. A used name is shown next to its field."""
        if refusal.code is ErrorCode.USER_ALREADY_EXISTS:
            self.add_error("username", refusal.document()["detail"])
        else:
            super().add_refusal(refusal)


class ExistingUserForm(OpenForm):
    """The log-in of a person who has an account."""

    username = line_field(254, attrs={"autocomplete": "username", "autofocus": True, **VERBATIM})
    password = password_field("Password", "current-password")
    code = forms.CharField(
        required=False,
        max_length=_MOST_TYPED,
        label="Code",
        help_text="Only if you use a second factor: a six-digit code from your authenticator, or a recovery "
        "code.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", **VERBATIM}),
    )
