"""Pages of search results, continued from the position of an event."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q, QuerySet

from events.models import Event
from events.search import LOOKED_BACK, EventSearch, way
from events.selectors import EventPosition


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
    followed = way(search)
    line = _Line(search, place, direction)
    if followed.rest is None:
        return _page(line.merged(followed.branches, size + 1), size, direction, None)
    (branch,) = followed.branches
    horizon = line.horizon(branch)
    return _page(line.sifted(branch, followed.rest, horizon, size + 1), size, direction, horizon)


@dataclass(frozen=True, slots=True)
class _Line:
    """Events after a position, in the order of the direction."""

    search: EventSearch
    place: EventPosition | None
    direction: Direction

    def merged(self, branches: Sequence[Q], limit: int) -> list[Event]:
        """The first events of all branches together, each read in the order of its index."""
        lines = [self._along(branch)[:limit] for branch in branches]
        if len(lines) < 2:
            return [event for line in lines for event in line]
        first, *others = lines
        return list(first.union(*others, all=True).order_by(*_ORDER[self.direction])[:limit])

    def horizon(self, branch: Q) -> EventPosition | None:
        """The last event to search; None if the whole branch is searched."""
        places = self._along(branch).values_list("created", "id")
        return next((EventPosition(*place) for place in places[LOOKED_BACK - 1 : LOOKED_BACK]), None)

    def sifted(self, branch: Q, rest: Q, horizon: EventPosition | None, limit: int) -> list[Event]:
        """Matching events of the branch, up to the horizon."""
        events = self._along(branch).filter(rest)
        if horizon is not None:
            events = events.filter(self._until(horizon))
        return list(events[:limit])

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


def _page(found: list[Event], size: int, direction: Direction, horizon: EventPosition | None) -> SearchPage:
    events = found[:size]
    last = EventPosition(events[-1].created, events[-1].id) if len(found) > size else None
    if direction is Direction.NEWER:
        events.reverse()
    return SearchPage(events, last or horizon, None if last else horizon)
