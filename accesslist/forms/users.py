"""Forms for users and teams."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from accesslist.forms.roles import HeldRolesForm, RolesForm
from accesslist.forms.scopes import ScopedForm, ScopeField, lines
from accesslist.models import RoleGrant
from accesslist.rules.administration import administers
from accesslist.rules.usernames import username_key
from accesslist.selectors.keys import wire_roles
from accesslist.serializers.organizations import MOST_MEMBERS, TeamChange, TeamInput
from accesslist.serializers.users import UserInput
from opsapi.api.catalogue import ErrorCode
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import line_field
from opsapi.roles import Scope


class UserForm(RolesForm, DocumentForm):
    """A new user. A user without roles cannot log in."""

    document = UserInput
    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.USER_ALREADY_EXISTS: "username"}
    fieldsets = (
        ("", ("username", "password", "firstName", "lastName", "emailAddress", "mobileNumber")),
        *RolesForm.role_fieldsets,
    )

    username = line_field(254)
    password = forms.CharField(
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="An initial password. Give it to the user privately; the user has to change it after the "
        "first log-in. If you invite people instead, they choose their own.",
    )
    emailAddress = forms.CharField(
        required=False,
        max_length=254,
        label="E-mail address",
        help_text="Leave blank to use the username, if it is an e-mail address.",
    )
    mobileNumber = forms.CharField(
        required=False, max_length=40, label="Mobile number", help_text="Such as +12025550100."
    )

    def body(self) -> Mapping[str, Any]:
        """The request body with the selected roles."""
        roles = wire_roles(self.given())
        return {**super().body(), **({"roles": roles} if roles else {})}


class UserRolesForm(HeldRolesForm):
    """Change the roles of a user in scopes where the operator administers users."""

    def may_revoke(self, grant: RoleGrant) -> bool:
        """As PATCH of a user in the API."""
        scope = grant.scope
        orgs = {scope.group_id: scope.org_id} if scope.group_id and scope.org_id else {}
        return administers(self.operator.grants, grant.grant, orgs)


class _MembersForm(ScopedForm, DocumentForm):
    """A team's name and members."""

    field_order = ("org", "name", "usernames")

    usernames = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 6}),
        required=False,
        label="Members",
        help_text="One username per line.",
    )

    def clean_usernames(self) -> list[str]:
        """The names without duplicates."""
        names = lines(self.cleaned_data["usernames"])
        if len(names) > MOST_MEMBERS:
            raise ValidationError(f"A team can have at most {MOST_MEMBERS} members.")
        return names

    def body(self) -> Mapping[str, Any]:
        """The request body, including an empty list of members."""
        return {**super().body(), "usernames": self.cleaned_data["usernames"]}


class TeamForm(_MembersForm):
    """A new team."""

    document = TeamInput

    org = ScopeField(
        "org", label="Organization", help_text="Members of the team become members of this organization."
    )

    def scope(self) -> Scope:
        """The organization of the new team."""
        return Scope(org_id=self.cleaned_data["org"].id)

    @property
    def values(self) -> Mapping[str, Any]:
        """The request body and the organization."""
        return {**super().values, "org_id": self.cleaned_data["org"].id}


class TeamChangeForm(_MembersForm):
    """Change the name and members of a team.

    Only names that the operator added or removed change; members who joined since the page was loaded stay.
    """

    document = TeamChange
    members_then = forms.CharField(required=False, widget=forms.HiddenInput)

    def stored(self) -> Mapping[str, Any]:
        """The stored values."""
        if not self.row:
            return {}
        names = "\n".join(self.row.members.order_by("username_key").values_list("username", flat=True))
        return {**super().stored(), "usernames": names, "members_then": names}

    @property
    def values(self) -> Mapping[str, Any]:
        """The changed columns, and `come` and `go`: the usernames to add and to remove."""
        then, typed = lines(self.cleaned_data["members_then"]), self.cleaned_data["usernames"]
        columns = {name: value for name, value in super().values.items() if name != "usernames"}
        return {**columns, "come": _without(typed, then), "go": _without(then, typed)}


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    """The names that are not among the others, case-insensitive."""
    left_out = {username_key(name) for name in others}
    return [name for name in names if username_key(name) not in left_out]
