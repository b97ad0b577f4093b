"""Actions on keys and their access lists: allowed where one of the API's routes to the key allows it."""

from dataclasses import dataclass
from typing import Any

from accesslist.doors import list_of
from accesslist.rules.administering import GLOBAL_WRITERS, GROUP_WRITERS, ORG_WRITERS
from accesslist.rules.doors import refuse_closed_doors
from accesslist.selectors.access_lists import held_by
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import Operator
from opsapi.console.actions import Action
from opsapi.roles import Scope

WRITERS = Access(Where.SOMEWHERE, (*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS))
"""Who writes keys somewhere; where exactly depends on the roles of the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAction(Action):
    """What is done to a key through a door (`accesslist.rules.doors`)."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`; the key's roles say where."""
        refuse_closed_doors(held_by(row), by=operator.grants)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyListAction(Action):
    """What is done to the access list of a key, which is the row."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`."""
        list_of(row, operator)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAction(Action):
    """What is done to an entry of a list."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`."""
        list_of(row.api_key, operator)
