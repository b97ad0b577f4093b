"""Searches of the event log, and the index that each search uses.

A search reads along one index, newest first. If the index does not cover all conditions, the rest is filtered
among the next LOOKED_BACK events, and the page says how far it searched. So a page costs the same however
many events exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any

from django.db.models import F, Q
from django.db.models.lookups import Exact

from events.models import HOSTNAME, REMOTE_ADDRESS, WHO
from opsapi.api.principal import VisibleScope
from opsapi.clock import second_after
from opsapi.fields import Among

_NOTHING = Q(pk__in=())
LOOKED_BACK = 5_000
"""Maximum number of events searched without an index; then the page ends and can be continued."""
MOST_BRANCHES = 64
"""Maximum number of projects and types that are each searched in an index of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSearch:
    """The search: all given conditions must match.

    `visible_scope` is what the operator can read. `start` and `end` are whole seconds, both included.
    """

    visible_scope: VisibleScope
    event_id: str | None = None
    group_id: str | None = None
    event_types: tuple[str, ...] = ()
    who: str | None = None
    remote_address: str | None = None
    hostname: str | None = None
    alert_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    @property
    def between(self) -> Q:
        """The time range."""
        found = Q()
        if self.start is not None:
            found &= Q(created__gte=self.start)
        if self.end is not None:
            found &= Q(created__lt=second_after(self.end))
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """The plan of a search: branches, each along an index, and remaining conditions.

    Without remaining conditions, the branches together are the result, without duplicates. With remaining
    conditions there is a single branch.
    """

    branches: tuple[Q, ...]
    rest: Q | None = None


def way(search: EventSearch) -> Way:
    """The index that covers most of the search."""
    narrow = _narrow(search)
    if narrow:
        first, *others = narrow
        return Way((first,), _all([*others, *_types(search), *_scope(search)]))
    branches = [scope & of_type for scope in _scopes(search) for of_type in _each_type(search)]
    if len(branches) <= MOST_BRANCHES:
        return Way(tuple(branches))
    return Way((Q(),), _all([*_types(search), *_scope(search)]))


def _narrow(search: EventSearch) -> list[Q]:
    """Conditions that have an index and match few events; the first is used."""
    asked: list[tuple[Any, str | None]] = [
        (F("id"), search.event_id),
        (F("alert_id"), search.alert_id),
        (WHO, search.who),
        (HOSTNAME, search.hostname),
        (REMOTE_ADDRESS, search.remote_address),
    ]
    return [Q(Exact(expression, value)) for expression, value in asked if value is not None]


def _scopes(search: EventSearch) -> list[Q]:
    """A branch for each project and organization searched; none if it is not readable."""
    visible_scope = search.visible_scope
    if search.group_id is not None:
        readable = visible_scope.everything or search.group_id in visible_scope.group_ids
        return [Q(group_id=search.group_id)] if readable else []
    if visible_scope.everything:
        return [Q()]
    # An event of an organization can also belong to a project.
    elsewhere = ~Q(group_id__in=visible_scope.group_ids)
    return [
        *(Q(group_id=id_) for id_ in sorted(visible_scope.group_ids)),
        *(Q(org_id=id_) & elsewhere for id_ in sorted(visible_scope.org_ids)),
    ]


def _each_type(search: EventSearch) -> list[Q]:
    return [Q(event_type=name) for name in search.event_types] or [Q()]


def event_scope(visible_scope: VisibleScope) -> Q:
    """The events of readable projects and organizations, each along its own index."""
    if visible_scope.everything:
        return Q()
    return Q(Among("group_id", visible_scope.group_ids)) | Q(Among("org_id", visible_scope.org_ids))


def _scope(search: EventSearch) -> Iterator[Q]:
    """As `_scopes`, as a single condition, if any."""
    visible_scope = search.visible_scope
    if search.group_id is not None:
        yield from _scopes(search) or [_NOTHING]
    elif not visible_scope.everything:
        yield event_scope(visible_scope)


def _types(search: EventSearch) -> Iterator[Q]:
    if search.event_types:
        yield Q(Among("event_type", search.event_types))


def _all(conditions: list[Q]) -> Q | None:
    return reduce(and_, conditions) if conditions else None
