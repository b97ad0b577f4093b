"""Reading the event log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from events.models import Event
from opsapi.clock import second_after
from opsapi.fields import WireTime

EventRow = dict[str, Any]
_COLUMNS = ("id", "event_type", "group_id", "org_id", "alert_id", "details")


# Built once: naming the columns costs the ORM more than all that follows per request.
_NEWEST_FIRST = Event.objects.order_by("-created", "-id")
_ROWS: QuerySet[Event, Any] = _NEWEST_FIRST.values(*_COLUMNS, wire_created=WireTime("created"))
_ROWS_WITH_CHANGES: QuerySet[Event, Any] = _NEWEST_FIRST.values(
    *_COLUMNS, "diffs", "raw", wire_created=WireTime("created")
)


def event_rows(
    *,
    group_id: str | None = None,
    event_types: Sequence[str] = (),
    min_date: datetime | None = None,
    max_date: datetime | None = None,
    with_changes: bool = False,
) -> QuerySet[Event, Any]:
    """Events newest first, id as tie-break; dates are whole seconds, both ends included."""
    events = _ROWS_WITH_CHANGES if with_changes else _ROWS
    if group_id is not None:
        events = events.filter(group_id=group_id)
    if event_types:
        events = events.filter(event_type__in=event_types)
    if min_date is not None:
        events = events.filter(created__gte=min_date)
    if max_date is not None:
        events = events.filter(created__lt=second_after(max_date))
    return events.all()


def event_row(event_id: str, *, group_id: str | None = None) -> EventRow | None:
    """One event, of the project when one is named; None when there is none."""
    return event_rows(group_id=group_id, with_changes=True).filter(id=event_id).first()
