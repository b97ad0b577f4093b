"""Reading the event log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NotRequired, TypedDict

from django.db.models import Q, QuerySet

from events.models import Event
from events.search import event_scope
from opsapi.api.principal import VisibleScope
from opsapi.clock import second_after
from opsapi.fields import WireTime
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


def event_rows(
    *,
    group_id: str | None = None,
    org_id: str | None = None,
    event_types: Sequence[str] = (),
    min_date: datetime | None = None,
    max_date: datetime | None = None,
    before: EventPosition | None = None,
    with_changes: bool = False,
) -> QuerySet[Event, Any]:
    """Events newest first, then by ID. Dates are whole seconds, both included.

    `before`: only events after that position in this order, which are older.
    """
    events = _in_scope(_ROWS_WITH_CHANGES if with_changes else _ROWS, group_id, org_id)
    if event_types:
        events = events.filter(event_type__in=event_types)
    if min_date is not None:
        events = events.filter(created__gte=min_date)
    if max_date is not None:
        events = events.filter(created__lt=second_after(max_date))
    if before is not None:
        events = events.filter(before.older)
    return events.all()


def event_row(event_id: str, *, group_id: str | None = None, org_id: str | None = None) -> EventRow | None:
    """An event, of the project or organization if given; None if there is none."""
    return event_rows(group_id=group_id, org_id=org_id, with_changes=True).filter(id=event_id).first()


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
