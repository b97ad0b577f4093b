"""The routes of the API by which a caller may change the roles of a key. Pure.

There are three, each for a scope: the installation, an organization with its projects, or a project. A
route shows the keys that hold a role in its scope. A caller who changes such a key needs a role that may
write there: the scopes where this is so are the manageable scopes of the key.
"""

from collections.abc import Iterable, Sequence

from accesslist.rules.administration import GLOBAL_WRITERS, GROUP_WRITERS, ORG_WRITERS
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.roles import INSTALLATION, Grant, Role, Scope, satisfies


def manageable_scopes(held: Iterable[tuple[Grant, Scope]], *, by: Sequence[Grant]) -> list[Scope]:
    """Return the widest scopes in which the caller may change a key; each role is in at most one of them.

    `held`: the key's grants, each with its scope; the scope of a project names its organization too. `by`:
    the caller's grants.
    """
    if _may_write(by, GLOBAL_WRITERS, INSTALLATION):
        return [INSTALLATION]
    places = list(dict.fromkeys(scope for _, scope in held))
    owned = [org_id for org_id in _orgs(places) if _may_write(by, ORG_WRITERS, Scope(org_id=org_id))]
    projects = [place for place in places if place.group_id and place.org_id not in owned]
    return [
        *[Scope(org_id=org_id) for org_id in owned],
        *[Scope(group_id=project.group_id) for project in projects if _may_write(by, GROUP_WRITERS, project)],
    ]


def require_manageable_scopes(held: Iterable[tuple[Grant, Scope]], *, by: Sequence[Grant]) -> list[Scope]:
    """As `manageable_scopes`.

    Raises:
        ApiError: USER_UNAUTHORIZED, when there is none.
    """
    found = manageable_scopes(held, by=by)
    if not found:
        roles = (*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS)
        raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(role.value for role in roles))
    return found


def is_within_scope(scope: Scope, managed: Scope) -> bool:
    """Whether a role in `scope`, a project with its organization, belongs to the managed scope."""
    if managed.group_id is not None:
        return scope.group_id == managed.group_id
    return managed.org_id is None or scope.org_id == managed.org_id


def _orgs(places: Iterable[Scope]) -> list[str]:
    return list(dict.fromkeys(place.org_id for place in places if place.org_id))


def _may_write(by: Sequence[Grant], writers: Iterable[Role], scope: Scope) -> bool:
    return any(satisfies(by, role, scope) for role in writers)
