"""Base classes of views: the calling key, the users that it sees, and the scopes of paths."""

from collections.abc import Mapping
from typing import cast

from django.utils.functional import cached_property

from accesslist.principal import KeyPrincipal
from accesslist.users.store import VisibleUsers, visible_users_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.views import ApiViewSet
from opsapi.roles import Scope

ROLE_SCOPE_REFUSALS = (
    ErrorCode.ROLE_NEEDS_GROUP_ID,
    ErrorCode.ROLE_NEEDS_ORG_ID,
    ErrorCode.ROLE_NEEDS_NO_GROUP_ID,
)
"""Refusals of requests that name roles with their scopes."""

ROLE_CHANGE_REFUSALS = (ErrorCode.CANNOT_CHANGE_OWN_ROLES, ErrorCode.CANNOT_DEMOTE_LAST_OWNER)
"""Refusals of requests that revoke roles."""

NEW_USER_REFUSALS = (
    ErrorCode.INVALID_USERNAME,
    ErrorCode.INVALID_EMAIL_ADDRESS,
    ErrorCode.WEAK_PASSWORD,
    ErrorCode.CANNOT_ADD_GLOBAL_ROLE,
    ErrorCode.ROLE_NOT_HELD,
    ErrorCode.USER_ALREADY_EXISTS,
    ErrorCode.USER_NOT_FOUND,
)
"""Refusals of requests that create users."""


class KeyViewSet(ApiViewSet):
    """A view that uses the roles of the calling key."""

    @property
    def caller(self) -> KeyPrincipal:
        """The calling key, with its roles."""
        return cast(KeyPrincipal, self.request.auth)


class UserPresentingViewSet(KeyViewSet):
    """A view that shows users as the caller may see them."""

    @cached_property
    def seen_in(self) -> VisibleUsers:
        """The users that the caller sees."""
        return visible_users_of(self.caller.grants)


class PlaceViewSet(KeyViewSet):
    """A view below `/groups/{id}`, `/orgs/{id}` or `/admin`."""

    @property
    def here(self) -> Scope:
        """The project, the organization or the installation of the path."""
        return Scope(org_id=self.kwargs.get("org_id"), group_id=self.kwargs.get("group_id"))

    @property
    def place(self) -> Mapping[str, str]:
        """The parameters of the path, and the path of the scope as `base`."""
        base = "/admin"
        if self.here.group_id is not None:
            base = f"/groups/{self.here.group_id}"
        elif self.here.org_id is not None:
            base = f"/orgs/{self.here.org_id}"
        return {**super().place, "base": base}
