"""Base classes of views: the calling key, its sight of users, and the scopes of paths."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import cast

from django.utils.functional import cached_property

from accesslist.principal import KeyPrincipal
from accesslist.selectors.users import Sight, sight_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.views import ApiViewSet
from opsapi.roles import INSTALLATION, Scope

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
    def seen_in(self) -> Sight:
        """The caller's sight of users."""
        return sight_of(self.caller.grants)


class PlaceViewSet(KeyViewSet, ABC):
    """A view below a project, an organization or the installation. Add one of the classes below."""

    @property
    @abstractmethod
    def here(self) -> Scope:
        """The scope of the path."""

    @property
    @abstractmethod
    def base_path(self) -> str:
        """The path of the scope."""

    @property
    def place(self) -> Mapping[str, str]:
        """The parameters of the path, and its `base`."""
        return {**super().place, "base": self.base_path}


class InGroup(PlaceViewSet):
    """Below `/groups/{id}`."""

    @property
    def here(self) -> Scope:
        """The project of the path."""
        return Scope(group_id=self.group.id)

    @property
    def base_path(self) -> str:
        """The path of the scope."""
        return f"/groups/{self.group.id}"


class InOrg(PlaceViewSet):
    """Below `/orgs/{id}`."""

    @property
    def here(self) -> Scope:
        """The organization of the path."""
        return Scope(org_id=self.kwargs["org_id"])

    @property
    def base_path(self) -> str:
        """The path of the scope."""
        return f"/orgs/{self.kwargs['org_id']}"


class InInstallation(PlaceViewSet):
    """Below `/admin`."""

    @property
    def here(self) -> Scope:
        """The installation."""
        return INSTALLATION

    @property
    def base_path(self) -> str:
        """The path of the scope."""
        return "/admin"
