"""Who may read and write identities and access: for the routes of the API and the actions of the console."""

from collections.abc import Iterable

from accesslist.models import ApiKey
from accesslist.rules.access_lists import GLOBAL_LIST, AccessList, refuse_keys_beyond
from accesslist.rules.administration import (
    GLOBAL_WRITERS,
    GROUP_WRITERS,
    ORG_WRITERS,
    require_manageable_scopes,
)
from accesslist.selectors.keys import held_by
from opsapi.api.permissions import in_group, in_installation, in_org
from opsapi.api.principal import Operator
from opsapi.roles import INSTALLATION, Role, Scope

READ_GLOBAL, WRITE_GLOBAL = in_installation(Role.GLOBAL_READ_ONLY), in_installation(*GLOBAL_WRITERS)
READ_ORG, WRITE_ORG = in_org(Role.ORG_MEMBER), in_org(*ORG_WRITERS)
READ_PROJECT, WRITE_PROJECT = in_group(Role.GROUP_READ_ONLY), in_group(Role.GROUP_OWNER)
WRITE_PROJECT_ACCESS = in_group(*GROUP_WRITERS)
"""Keys, and the roles of teams."""
INVITE_TO_ORG = in_org(Role.GLOBAL_USER_ADMIN, *ORG_WRITERS)
INVITE_TO_PROJECT = in_group(*GROUP_WRITERS)
WRITE_USERS = in_installation(Role.GLOBAL_USER_ADMIN)
CREATE_ORGS = in_installation(Role.GLOBAL_OWNER)
PROJECT_CREATORS = frozenset({Role.GLOBAL_OWNER, Role.ORG_OWNER, Role.ORG_GROUP_CREATOR})
"""Roles that can create projects in some scope."""


def list_of(key: ApiKey | None, operator: Operator) -> AccessList:
    """The list of the key, or the global list without a key, for an operator who may write it.

    Raises:
        ApiError: USER_UNAUTHORIZED.
    """
    if key is None:
        operator.authorise(GLOBAL_WRITERS)
        return GLOBAL_LIST
    held = held_by(key)
    require_manageable_scopes(held, by=operator.grants)
    refuse_keys_beyond(held, by=operator.grants)
    return AccessList(key.id, key.public_key, _scope_of_log(scope for _, scope in held))


def _scope_of_log(scopes: Iterable[Scope]) -> Scope:
    """The scope whose log records the change: the key's only project, otherwise its only organization."""
    different = set(scopes)
    groups, orgs = {scope.group_id for scope in different}, {scope.org_id for scope in different}
    if len(groups) == 1 and None not in groups:
        return Scope(group_id=groups.pop())
    if len(orgs) == 1:
        return Scope(org_id=orgs.pop())
    return INSTALLATION
