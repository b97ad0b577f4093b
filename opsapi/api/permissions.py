"""Permissions as data: a view declares the roles of each action, and `DeclaredAccess` checks the caller's."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from opsapi.api.principal import Principal
from opsapi.roles import Role


class Where(StrEnum):
    """The scope in which the caller needs a role."""

    NOWHERE = "No API key required"
    # If roles are named, the service knows the scope from the request.
    SOMEWHERE = "Any API key"
    INSTALLATION = "installation"
    ORG = "organization in the path"
    GROUP = "project in the path"


@dataclass(frozen=True, slots=True)
class Access:
    """The roles of which the caller needs any for an action, and the scope of the role."""

    where: Where
    roles: Sequence[Role] = ()


OPEN = Access(Where.NOWHERE)
ANY_KEY = Access(Where.SOMEWHERE)


def in_installation(*roles: Role) -> Access:
    """Require any of the roles in the installation."""
    return Access(Where.INSTALLATION, roles)


def in_org(*roles: Role) -> Access:
    """Require any of the roles in the organization `org_id` of the path."""
    return Access(Where.ORG, roles)


def in_group(*roles: Role) -> Access:
    """Require any of the roles in the project `group_id` of the path."""
    return Access(Where.GROUP, roles)


class DeclaredAccess(BasePermission):
    """Checks the view's `access`. The principal raises the refusals."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return true, or raise the refusal as an ApiError."""
        access: Access = view.access[view.action]
        if access.where in {Where.NOWHERE, Where.SOMEWHERE}:
            return True
        principal: Principal = view.principal
        if access.where is Where.INSTALLATION:
            principal.authorise(access.roles)
        elif access.where is Where.ORG:
            principal.authorise_org(access.roles, view.kwargs["org_id"])
        else:
            view.group = principal.authorise_group(access.roles, view.kwargs["group_id"])
        return True
