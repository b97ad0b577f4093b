"""Actions on keys and their access lists, allowed if one of the API routes to the key allows them."""

from dataclasses import dataclass
from typing import Any

from accesslist.network_access import list_of
from accesslist.rules.administration import GLOBAL_WRITERS, GROUP_WRITERS, ORG_WRITERS
from accesslist.rules.manageable_scopes import require_manageable_scopes
from accesslist.selectors.access_lists import held_by
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import Operator
from opsapi.console.actions import Action
from opsapi.roles import Scope

WRITERS = Access(Where.SOMEWHERE, (*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS))
"""Roles that can write keys in some scope; the roles of the key decide which scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAction(Action):
    """An action on a key in a scope that the operator manages (`accesslist.rules.manageable_scopes`)."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`. The roles of the key decide the scope."""
        require_manageable_scopes(held_by(row), by=operator.grants)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyListAction(Action):
    """An action on the access list of a key (the row)."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`."""
        list_of(row, operator)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAction(Action):
    """An action on an entry of an access list."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`."""
        list_of(row.api_key, operator)
