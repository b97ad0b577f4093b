"""Roles as data: a view declares the roles of each action, and one class checks the caller's."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from opsapi.api.principal import Principal
from opsapi.roles import Role


class Where(StrEnum):
    """Where a role has to be held."""

    NOWHERE = "no API key required"
    # Where, if roles are named, the service finds out from what is asked for.
    SOMEWHERE = "any API key"
    INSTALLATION = "installation"
    ORG = "organization in the path"
    GROUP = "project in the path"


@dataclass(frozen=True, slots=True)
class Access:
    """Which roles open an action (any of them does), and where they have to be held."""

    where: Where
    roles: Sequence[Role] = ()


OPEN = Access(Where.NOWHERE)
ANY_KEY = Access(Where.SOMEWHERE)


def in_installation(*roles: Role) -> Access:
    """One of the roles, held over the installation."""
    return Access(Where.INSTALLATION, roles)


def in_org(*roles: Role) -> Access:
    """One of the roles, held in the organization `org_id` of the path."""
    return Access(Where.ORG, roles)


def in_group(*roles: Role) -> Access:
    """One of the roles, held in the project `group_id` of the path."""
    return Access(Where.GROUP, roles)


class DeclaredAccess(BasePermission):
    """Holds the view's `access` against the caller; refusals are raised by the principal."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Always true when it returns: every refusal is an ApiError."""
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
