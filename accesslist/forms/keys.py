"""Forms for API keys."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property

from accesslist.forms.roles import HeldRolesForm, RolesForm, as_asked
from accesslist.forms.scopes import ScopedForm
from accesslist.models import RoleGrant
from accesslist.rules.manageable_scopes import is_within_scope, manageable_scopes
from accesslist.rules.ranges import read_address
from accesslist.rules.role_requests import scope_of
from accesslist.selectors.access_lists import held_by
from accesslist.selectors.users import orgs_of_groups
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.forms import ConsoleForm, single_line
from opsapi.roles import Scope

_LONGEST_DESC = 250
_NOT_MANAGEABLE = "You can only change keys that have a role in a project or organization you administer."


def _description() -> forms.CharField:
    return forms.CharField(max_length=_LONGEST_DESC, label="Description", validators=[single_line])


class ApiKeyForm(RolesForm):
    """A new API key with its roles."""

    fieldsets = (("", ("desc",)), *RolesForm.role_fieldsets)

    desc = _description()

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

    desc = _description()

    def stored(self) -> Mapping[str, Any]:
        """The stored description."""
        return {"desc": self.row.desc} if self.row else {}


class KeyRolesForm(HeldRolesForm):
    """Change the roles of a key in scopes the operator manages (`accesslist.rules.manageable_scopes`)."""

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
