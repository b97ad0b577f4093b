"""Access of console operators to keys and access lists, through the routes of the API."""

from collections.abc import Iterable

from accesslist.models import ApiKey
from accesslist.rules.access_lists import GLOBAL_LIST, AccessList, refuse_keys_beyond
from accesslist.rules.administration import GLOBAL_WRITERS
from accesslist.rules.manageable_scopes import require_manageable_scopes
from accesslist.selectors.access_lists import held_by
from opsapi.api.principal import Operator
from opsapi.roles import INSTALLATION, Scope


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
    return AccessList(key.id, key.public_key, _place(scope for _, scope in held))


def _place(scopes: Iterable[Scope]) -> Scope:
    """The scope whose log records the change: the key's only project, otherwise its only organization."""
    places = set(scopes)
    groups, orgs = {place.group_id for place in places}, {place.org_id for place in places}
    if len(groups) == 1 and None not in groups:
        return Scope(group_id=groups.pop())
    if len(orgs) == 1:
        return Scope(org_id=orgs.pop())
    return INSTALLATION
