"""Searches of the event log, and the index that each search uses.

A search reads along one index, newest first. If the index does not cover all conditions, the rest is filtered
among the next LOOKED_BACK events, and the page says how far it searched. So a page costs the same however
many events exist."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.lookups import Exact

from events.log.models import HOSTNAME, REMOTE_ADDRESS, USERNAME, WHO, Event, present
from events.log.store import EventPosition, event_scope
from opsapi.api.principal import VisibleScope
from opsapi.clock import second_after
from opsapi.fields import Among

_NOTHING, _ALL = Q(pk__in=()), Q()
LOOKED_BACK = 5_000
"""Maximum number of events searched without an index; then the page ends and can be continued."""
_OBJECTS = ("alertConfigId", "hostId", "maintenanceWindowId", "teamId")
"""The details with the ID of the row that an event is about."""
MOST_BRANCHES = 64
"""Maximum number of projects and types that are each searched in an index of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSearch:
    """The search: all given conditions must match.

    `visible_scope` is what the operator can read. `port` is the port of `hostname`: a machine can have
    several hosts. `by_people`: only events of users. `object_name` is the ID of the row that the event is
    about, or its name in diffs. `start` and `end` are whole seconds, both included.
    """

    visible_scope: VisibleScope
    event_id: str | None = None
    group_id: str | None = None
    event_types: tuple[str, ...] = ()
    who: str | None = None
    by_people: bool = False
    remote_address: str | None = None
    hostname: str | None = None
    port: int | None = None
    alert_id: str | None = None
    object_name: str | None = None
    start: datetime | None = None
    end: datetime | None = None

    @property
    def between(self) -> Q:
        """The time range."""
        condition = Q()
        if self.start is not None:
            condition &= Q(created__gte=self.start)
        if self.end is not None:
            condition &= Q(created__lt=second_after(self.end))
        return condition


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The plan of a search: branches, each along an index, and remaining conditions.

    The branches together have no duplicates. Without remaining conditions, they are the result.
    """

    branches: tuple[Q, ...]
    rest: Q | None = None


def search_plan(search: EventSearch) -> SearchPlan:
    """The index that covers most of the search."""
    narrow = _narrow(search)
    if narrow:
        first, *others = narrow
        at_port = [Q(details__port=search.port)] if search.port is not None else []
        rest = [*others, *at_port, *_types(search), *_scope(search), *_about(search)]
        return SearchPlan((first,), _all(rest))
    types = [Q(event_type=name) for name in search.event_types] or [Q()]
    branches = [scope & of_type for scope in _scopes(search) for of_type in types]
    if len(branches) <= MOST_BRANCHES:
        return SearchPlan(tuple(branches), _all(list(_about(search))))
    return SearchPlan((Q(),), _all([*_types(search), *_scope(search), *_about(search)]))


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


def _about(search: EventSearch) -> Iterator[Q]:
    if search.by_people:
        yield present(USERNAME)
    name = search.object_name
    if name is not None:
        of_details = (Q(**{f"details__{key}": name}) for key in _OBJECTS)
        yield reduce(or_, of_details, Q(diffs__contains=[{"id": name}]))


def _all(conditions: list[Q]) -> Q | None:
    return reduce(and_, conditions) if conditions else None


class Direction(StrEnum):
    """The direction of a page from its starting position."""

    OLDER = "older"
    NEWER = "newer"


_ORDER = {Direction.OLDER: ("-created", "-id"), Direction.NEWER: ("created", "id")}


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page, newest first, and whether there may be more in its direction.

    `next` is the position to continue from; None at the end. `looked_to` is the time up to which events were
    searched, if the page ended before it was full.
    """

    events: Sequence[Event]
    next: EventPosition | None
    looked_to: EventPosition | None = None


def search_page(
    search: EventSearch,
    *,
    size: int,
    place: EventPosition | None = None,
    direction: Direction = Direction.OLDER,
) -> SearchPage:
    """The events next to a position; without a position the newest, or the oldest for direction NEWER."""
    plan = search_plan(search)
    line = _Line(search, place, direction)
    if plan.rest is None:
        return _page(line.merged(plan.branches, size + 1), size, direction, None)
    horizon = line.horizon(plan.branches)
    return _page(line.sifted(plan.branches, plan.rest, horizon, size + 1), size, direction, horizon)


@dataclass(frozen=True, slots=True)
class _Line:
    """Events after a position, in the order of the direction."""

    search: EventSearch
    place: EventPosition | None
    direction: Direction

    def merged(self, branches: Sequence[Q], limit: int, rest: Q = _ALL) -> list[Event]:
        """The first events of all branches together, each read in the order of its index."""
        lines = [self._along(branch).filter(rest)[:limit] for branch in branches]
        return list(self._joined(lines)[:limit]) if lines else []

    def horizon(self, branches: Sequence[Q]) -> EventPosition | None:
        """The last event to search; None if the branches are searched to their end."""
        lines = [self._along(branch).values_list("created", "id")[:LOOKED_BACK] for branch in branches]
        places = self._joined(lines)[LOOKED_BACK - 1 : LOOKED_BACK] if lines else ()
        return next((EventPosition(*place) for place in places), None)

    def sifted(
        self, branches: Sequence[Q], rest: Q, horizon: EventPosition | None, limit: int
    ) -> list[Event]:
        """Matching events of the branches, up to the horizon."""
        return self.merged(branches, limit, rest if horizon is None else rest & self._until(horizon))

    def _joined(self, lines: Sequence[QuerySet[Any, Any]]) -> QuerySet[Any, Any]:
        first, *others = lines
        return first.union(*others, all=True).order_by(*_ORDER[self.direction]) if others else first

    def _along(self, branch: Q) -> QuerySet[Event]:
        rows = Event.objects.defer("raw").order_by(*_ORDER[self.direction])
        events = rows.filter(branch, self.search.between)
        if self.place is None:
            return events
        return events.filter(self.place.older if self.direction is Direction.OLDER else self.place.newer)

    def _until(self, horizon: EventPosition) -> Q:
        if self.direction is Direction.OLDER:
            return Q(created__gte=horizon.created) & ~horizon.older
        return Q(created__lte=horizon.created) & ~horizon.newer


def _page(rows: list[Event], size: int, direction: Direction, horizon: EventPosition | None) -> SearchPage:
    events = rows[:size]
    last = EventPosition(events[-1].created, events[-1].id) if len(rows) > size else None
    if direction is Direction.NEWER:
        events.reverse()
    return SearchPage(events, last or horizon, None if last else horizon)
