"""Reading the event log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Any, NotRequired, TypedDict

from django.db.models import Q, QuerySet, Sum

from events.log.models import Event, EventCount
from opsapi.api.paging import DeferredRows
from opsapi.api.principal import VisibleScope
from opsapi.clock import second_after
from opsapi.fields import Among, WireTime
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject


class EventRow(TypedDict):
    """An event as read for the API; `diffs` and `raw` are read with `with_changes` only."""

    id: str
    event_type: str
    group_id: str | None
    org_id: str | None
    alert_id: str | None
    details: JsonObject
    wire_created: str
    diffs: NotRequired[list[JsonObject]]
    raw: NotRequired[JsonObject]


_COLUMNS = ("id", "event_type", "group_id", "org_id", "alert_id", "details")


# Built once: naming the columns costs the ORM more than everything else in a request.
_NEWEST_FIRST = Event.objects.order_by("-created", "-id")
_ROWS: QuerySet[Event, Any] = _NEWEST_FIRST.values(*_COLUMNS, wire_created=WireTime("created"))
_ROWS_WITH_CHANGES: QuerySet[Event, Any] = _NEWEST_FIRST.values(
    *_COLUMNS, "diffs", "raw", wire_created=WireTime("created")
)


_NO_DAY = date.max.toordinal() + 1


@dataclass(frozen=True, slots=True)
class EventPosition:
    """The position of an event in the order of all events."""

    created: datetime
    id: str

    @property
    def older(self) -> Q:
        """Events after it, newest first."""
        # The first condition is for the index, the second for events of the same moment.
        return Q(created__lte=self.created) & (Q(created__lt=self.created) | Q(id__lt=self.id))

    @property
    def newer(self) -> Q:
        """Events before it, newest first."""
        return Q(created__gte=self.created) & (Q(created__gt=self.created) | Q(id__gt=self.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events: of a project, or of an organization, or of the installation.

    Dates are whole seconds, both included. `before`: only events after that position, newest first.
    """

    group_id: str | None = None
    org_id: str | None = None
    event_types: Sequence[str] = ()
    min_date: datetime | None = None
    max_date: datetime | None = None
    before: EventPosition | None = None

    def applied(self, events: QuerySet[Event, Any]) -> QuerySet[Event, Any]:
        """Return the events that pass the filter."""
        events = _in_scope(events, self.group_id, self.org_id)
        if self.event_types:
            events = events.filter(event_type__in=self.event_types)
        if self.min_date is not None:
            events = events.filter(created__gte=self.min_date)
        if self.max_date is not None:
            events = events.filter(created__lt=second_after(self.max_date))
        return events if self.before is None else events.filter(self.before.older)

    def whole_days(self) -> range:
        """Return the UTC days, as ordinals, of which no event is left out because of its time."""
        first = 0
        if self.min_date is not None:
            first = self.min_date.toordinal() + (self.min_date.time() > time())
        ends = [self.max_date and second_after(self.max_date), self.before and self.before.created]
        return range(first, min((end.toordinal() for end in ends if end), default=_NO_DAY))


def event_rows(events: EventFilter, *, with_changes: bool = False) -> QuerySet[Event, Any]:
    """Return the rows of events, newest first, then by ID."""
    return events.applied(_ROWS_WITH_CHANGES if with_changes else _ROWS).all()


def event_count(events: EventFilter) -> int:
    """Return the number of events: `EventCount` has the whole days, and the events of other days are counted.

    Counting ten million events takes a second.
    """
    days = events.whole_days()
    if not days:
        return events.applied(Event.objects.all()).count()
    counts = EventCount.objects.filter(scope=events.group_id or events.org_id or "")
    if events.event_types:
        counts = counts.filter(event_type__in=events.event_types)
    edges = Q()
    if days.start:
        first = date.fromordinal(days.start)
        counts, edges = counts.filter(day__gte=first), Q(created__lt=datetime.combine(first, time(), UTC))
    if days.stop < _NO_DAY:
        after = date.fromordinal(days.stop)
        counts = counts.filter(day__lt=after)
        edges |= Q(created__gte=datetime.combine(after, time(), UTC))
    in_whole_days: int = counts.aggregate(sum=Sum("number", default=0))["sum"]
    return in_whole_days + (events.applied(Event.objects.filter(edges)).count() if edges else 0)


_SINCE_DAY = """
SELECT (SELECT coalesce(sum(number), 0) FROM events_eventcount
         WHERE scope = ANY(%(scopes)s) AND day >= %(day)s)"""
_ALL_AFTER = " - (SELECT count(*) FROM events_event WHERE created >= %(until)s)"
# An event of a project and an organization counts for both, as in `EventCount`.
_READABLE_AFTER = """
     - (SELECT count(*) FROM events_event WHERE group_id = ANY(%(scopes)s) AND created >= %(until)s)
     - (SELECT count(*) FROM events_event WHERE org_id = ANY(%(scopes)s) AND created >= %(until)s)"""


def event_number(visible_scope: VisibleScope, *, since: datetime, until: datetime) -> int:
    """Return a number that changes with the number of readable events from the day of `since` to `until`.

    It costs as much as counting the events after `until`. One statement reads both numbers, so that they are
    of the same moment.
    """
    everything = visible_scope.everything
    scopes = [""] if everything else [*visible_scope.group_ids, *visible_scope.org_ids]
    values: JsonObject = {"scopes": scopes, "day": since.astimezone(UTC).date(), "until": until}
    statement = _SINCE_DAY + (_ALL_AFTER if everything else _READABLE_AFTER)
    [(number,)] = fetch_rows(statement, values)
    return int(number)


class EventRows(DeferredRows):
    """The rows of events, for `list_document`."""

    def __init__(self, events: EventFilter, *, with_changes: bool) -> None:
        super().__init__(event_rows(events, with_changes=with_changes))
        self._events = events

    def count(self) -> int:
        """All rows."""
        return event_count(self._events)


def event_row(event_id: str, *, group_id: str | None = None, org_id: str | None = None) -> EventRow | None:
    """An event, of the project or organization if given; None if there is none."""
    events = EventFilter(group_id=group_id, org_id=org_id)
    return event_rows(events, with_changes=True).filter(id=event_id).first()


def event_position(
    event_id: str, *, group_id: str | None = None, org_id: str | None = None
) -> EventPosition | None:
    """The position of an event; None if the scope has no such event."""
    events: QuerySet[Event, Any] = Event.objects.filter(id=event_id).values_list("created", flat=True)
    created = _in_scope(events, group_id, org_id).first()
    return None if created is None else EventPosition(created, event_id)


def readable_position(event_id: str, *, visible_scope: VisibleScope) -> EventPosition | None:
    """The position of an event; None if no readable event has this ID."""
    events = Event.objects.filter(event_scope(visible_scope), id=event_id)
    created = events.values_list("created", flat=True).first()
    return None if created is None else EventPosition(created, event_id)


class NamedRow(StrEnum):
    """The kind of an ID, as far as events know it."""

    EVENT = "event_id"
    GROUP = "group_id"
    ALERT = "alert_id"


def what_is_named(row_id: str, *, visible_scope: VisibleScope) -> NamedRow:
    """The kind of the ID: an event, a project with readable events, or otherwise an alert."""
    readable = Event.objects.filter(event_scope(visible_scope))
    if readable.filter(id=row_id).exists():
        return NamedRow.EVENT
    return NamedRow.GROUP if readable.filter(group_id=row_id).exists() else NamedRow.ALERT


def _in_scope(events: QuerySet[Event, Any], group_id: str | None, org_id: str | None) -> QuerySet[Event, Any]:
    if group_id is not None:
        events = events.filter(group_id=group_id)
    if org_id is not None:
        events = events.filter(org_id=org_id)
    return events


def event_scope(visible_scope: VisibleScope) -> Q:
    """The events of readable projects and organizations, each along its own index."""
    if visible_scope.everything:
        return Q()
    return Q(Among("group_id", visible_scope.group_ids)) | Q(Among("org_id", visible_scope.org_ids))
