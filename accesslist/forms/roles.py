"""Forms that grant roles in a scope and revoke current roles."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property

from accesslist.forms.scopes import ScopedForm, ScopeField
from accesslist.models import ApiKey, RoleGrant, User
from accesslist.rules.access_lists import read_address
from accesslist.rules.administration import is_within_scope, manageable_scopes
from accesslist.rules.role_requests import AskedRole, scope_of
from accesslist.selectors.keys import held_by
from accesslist.selectors.users import orgs_of_groups
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.display import named, role_choices
from opsapi.console.forms import ConsoleForm, line_field
from opsapi.roles import Grant, Role, Scope

MOST_HELD = 500
"""Maximum number of roles that the form offers to revoke; others stay."""
_SCOPES = (("project", "a project"), ("org", "an organization"))


def _roles(prefix: str, label: str) -> forms.MultipleChoiceField:
    choices = role_choices(role for role in Role if role.startswith(prefix))
    return forms.MultipleChoiceField(
        choices=choices, required=False, label=label, widget=forms.CheckboxSelectMultiple
    )


class RolesForm(ScopedForm):
    """Roles in a project, in an organization and global roles."""

    role_fieldsets: ClassVar[Sequence[tuple[str, Sequence[str]]]] = (
        ("In a project", ("project", "project_roles")),
        ("In an organization", ("org", "org_roles")),
        ("In the whole installation", ("global_roles",)),
    )

    project = ScopeField("project", required=False)
    project_roles = _roles("GROUP_", "Roles in the project")
    org = ScopeField("org", required=False, label="Organization")
    org_roles = _roles("ORG_", "Roles in the organization")
    global_roles = _roles("GLOBAL_", "Global roles")

    def clean(self) -> dict[str, Any]:
        """A role needs its scope, and a scope needs a role."""
        values = self.cleaned_data
        for scope, label in _SCOPES:
            chosen, roles = values.get(scope), values.get(f"{scope}_roles")
            if bool(chosen) != bool(roles) and not {scope, f"{scope}_roles"} & self.errors.keys():
                missing = scope if roles else f"{scope}_roles"
                self.add_error(missing, f"Choose {label}." if roles else "Choose at least one role.")
        super().clean()
        return values

    def given(self) -> list[Grant]:
        """The selected roles with their scopes."""
        values = self.cleaned_data
        project, org = values.get("project"), values.get("org")
        return [
            *[Grant(Role(name), group_id=project.id) for name in values.get("project_roles", ()) if project],
            *[Grant(Role(name), org_id=org.id) for name in values.get("org_roles", ()) if org],
            *[Grant(Role(name)) for name in values.get("global_roles", ())],
        ]

    def field_about(self, refusal: ApiError) -> str | None:
        """Shows the refusal of a role next to its field."""
        if refusal.code in {ErrorCode.ROLE_NOT_HELD, ErrorCode.CANNOT_ADD_GLOBAL_ROLE}:
            return _field(Role(refusal.parameters[0]))
        return super().field_about(refusal)


class HeldRolesForm(RolesForm):
    """The current roles of a key or user, each of which can be revoked, and new roles."""

    fieldsets = (("Held", ("held", "offered_then")), *RolesForm.role_fieldsets)
    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.CANNOT_CHANGE_OWN_ROLES: "held",
        ErrorCode.CANNOT_DEMOTE_LAST_OWNER: "held",
    }

    held = forms.MultipleChoiceField(
        required=False,
        label="Current roles",
        help_text="Clear the checkbox to revoke a role.",
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "invalid_choice": "One of these roles was revoked in the meantime. Check the list again."
        },
    )
    # The roles that were offered. A role granted since then was not offered, so a missing tick does not
    # revoke it.
    offered_then = forms.Field(required=False, widget=forms.MultipleHiddenInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.offered = self._offered(self.row)
        names = [
            (str(number), named(role_words(grant), grant.role)) for number, grant in self.offered.items()
        ]
        field = self.fields["held"]
        field.choices = names  # type: ignore[attr-defined]  # it is a MultipleChoiceField
        self.initial["held"] = self.initial["offered_then"] = [number for number, _ in names]

    def may_revoke(self, grant: RoleGrant) -> bool:
        """Whether the operator may revoke the role."""
        raise NotImplementedError

    def _offered(self, holder: ApiKey | User) -> dict[int, RoleGrant]:
        held = holder.grants.select_related("org", "project").order_by("id")
        takable = (row for row in held if self.may_revoke(row))
        return {row.pk: row for row in islice(takable, MOST_HELD)}

    def revoked(self) -> list[Grant]:
        """The offered roles whose checkbox was cleared."""
        gone = set(self.cleaned_data["offered_then"] or ()) - set(self.cleaned_data.get("held", ()))
        return [row.grant for number, row in self.offered.items() if str(number) in gone]

    @property
    def values(self) -> Mapping[str, Any]:
        """`revoked` and `given`: the roles to revoke and to grant."""
        return {"revoked": self.revoked(), "given": self.given()}


def as_asked(grants: Iterable[Grant]) -> list[AskedRole]:
    """The roles as services accept them; refusals name the form field."""
    return [AskedRole(_field(grant.role), grant.role, grant.org_id, grant.group_id) for grant in grants]


def role_words(row: RoleGrant) -> str:
    """The name of the role, with its scope."""
    scope, name = row.org or row.project, row.words.name
    return f"{name} in {scope}" if scope else name


def _field(role: Role) -> str:
    if role.is_group:
        return "project_roles"
    return "org_roles" if role.is_org else "global_roles"


_LONGEST_DESC = 250
_NOT_MANAGEABLE = "You can only change keys that have a role in a project or organization you administer."


class ApiKeyForm(RolesForm):
    """A new API key with its roles."""

    fieldsets = (("", ("desc",)), *RolesForm.role_fieldsets)

    desc = line_field(_LONGEST_DESC, label="Description")

    def clean(self) -> dict[str, Any]:
        """A key needs a role."""
        values = super().clean()
        if not self.errors and not self.given():
            raise ValidationError("Choose at least one role.")
        return values

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.services.keys.api_key_issue`."""
        return {"desc": self.cleaned_data["desc"], "grants": self.given()}


class DescriptionForm(ConsoleForm):
    """Change the description."""

    desc = line_field(_LONGEST_DESC, label="Description")

    def stored(self) -> Mapping[str, Any]:
        """The stored description."""
        return {"desc": self.row.desc} if self.row else {}


class KeyRolesForm(HeldRolesForm):
    """Change the roles of a key in scopes the operator manages (`accesslist.rules.administration`)."""

    @cached_property
    def _manageable_scopes(self) -> list[Scope]:
        return manageable_scopes(held_by(self.row), by=self.operator.grants)

    def may_revoke(self, grant: RoleGrant) -> bool:
        """As in the API route of the project or organization."""
        return any(is_within_scope(grant.scope, managed) for managed in self._manageable_scopes)

    def clean(self) -> dict[str, Any]:
        """The key keeps at least one role; new roles must be in reach of the operator."""
        values = super().clean()
        self._refuse_unmanageable()
        left = self.row.grants.count() - len(self.revoked()) + len(self.given())
        if not self.errors and left <= 0:
            raise ValidationError("A key needs at least one role. To revoke all roles, delete the key.")
        return values

    def _refuse_unmanageable(self) -> None:
        """As in the API, a key is not found in a scope where it has no role."""
        given = self.given()
        orgs = orgs_of_groups(given)
        for asked, grant in zip(as_asked(given), given, strict=True):
            if any(is_within_scope(scope_of(grant, orgs), managed) for managed in self._manageable_scopes):
                continue
            if grant.role.is_global:
                self.add_refusal(ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, grant.role.value))
            else:
                self.add_error(asked.path, _NOT_MANAGEABLE)


class AddressForm(ScopedForm):
    """Look up an address in the lists of a key."""

    address = forms.CharField(max_length=50, help_text="Such as 192.0.2.7.")

    def clean_address(self) -> str:
        """The address in canonical form."""
        try:
            return read_address(self.cleaned_data["address"].strip())
        except ValueError as fault:
            raise ValidationError(f"This {fault}.") from None
