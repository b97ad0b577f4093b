"""Endpoints 17, 18 and 19, the project's event list, and the table of event types."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from events.selectors import EventRow, event_row, event_rows
from events.serializers import (
    EVENT_TYPE_ROWS,
    EventDocument,
    EventTypeDocument,
    GroupEventDocument,
    present_event,
    present_group_event,
)
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, found
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY, in_group, in_installation
from opsapi.api.query import LISTING, MAX_DATE, MIN_DATE, Parameter, read_choice, read_flag
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role

_TYPES = [event_type.value for event_type in EventType]
EVENT_TYPE = Parameter(
    "eventType",
    read_choice(_TYPES),
    schema={"type": "string", "enum": _TYPES},
    description="Only events of this type; may be repeated.",
    repeatable=True,
    code=ErrorCode.INVALID_ENUM_VALUE,
    allowed=_TYPES,
)
INCLUDE_RAW = Parameter(
    "includeRaw",
    read_flag,
    False,
    {"type": "boolean", "default": False},
    "Whether the raw field is shown.",
    allowed=("true", "false"),
)
_FILTERS = (*LISTING, EVENT_TYPE, MIN_DATE, MAX_DATE)


def _filters(query: Any) -> dict[str, Any]:
    """The filters of a list, as the selector takes them; refuses a range that ends before it starts."""
    start, end = query["minDate"], query["maxDate"]
    if start and end and start > end:
        fault = BadField("minDate", ErrorCode.INVALID_QUERY_PARAMETER, "must not be after maxDate")
        raise ApiError.of_fields([fault])
    return {"event_types": query["eventType"], "min_date": start, "max_date": end}


class GlobalEventViewSet(ApiViewSet):
    """Endpoints 17 and 19: every event of the installation."""

    access = {
        "index": in_installation(Role.GLOBAL_READ_ONLY),
        "retrieve": in_installation(Role.GLOBAL_READ_ONLY),
    }
    parameters = {"index": _FILTERS}
    answers = {"index": [EventDocument], "retrieve": EventDocument}
    identifiers = {"event_id": ErrorCode.INVALID_EVENT_ID}

    event: EventRow

    def load(self) -> None:
        """The event of the path."""
        if "event_id" in self.kwargs:
            event_id = self.kwargs["event_id"]
            self.event = found(event_row(event_id), ErrorCode.EVENT_NOT_FOUND, event_id)

    def index(self, request: Request) -> Response:
        """Events, newest first."""
        rows = event_rows(**_filters(self.query))
        return self.list(rows, lambda row: present_event(row, self.links))

    def retrieve(self, request: Request, event_id: str) -> Response:
        """One event."""
        return Response(present_event(self.event, self.links, alone=True))


class GroupEventViewSet(ApiViewSet):
    """Endpoint 18 and the list beside it: the events of a project."""

    access = {"index": in_group(Role.GROUP_READ_ONLY), "retrieve": in_group(Role.GROUP_READ_ONLY)}
    parameters = {"index": (*_FILTERS, INCLUDE_RAW), "retrieve": (INCLUDE_RAW,)}
    answers = {"index": [GroupEventDocument], "retrieve": GroupEventDocument}
    identifiers = {"event_id": ErrorCode.INVALID_EVENT_ID}

    event: EventRow

    def load(self) -> None:
        """The event of the path, in the project of the path."""
        if "event_id" in self.kwargs:
            event_id = self.kwargs["event_id"]
            row = event_row(event_id, group_id=self.group.id)
            self.event = found(row, ErrorCode.EVENT_NOT_FOUND, event_id)

    def index(self, request: Request, group_id: str) -> Response:
        """Events of the project, newest first."""
        rows = event_rows(group_id=self.group.id, with_changes=True, **_filters(self.query))
        return self.list(rows, lambda row: self._present(row, alone=False))

    def retrieve(self, request: Request, group_id: str, event_id: str) -> Response:
        """One event, always with its diffs."""
        return Response(self._present(self.event, alone=True))

    def _present(self, row: EventRow, *, alone: bool) -> dict[str, Any]:
        return present_group_event(row, self.links, alone=alone, include_raw=self.query["includeRaw"])


class EventTypeViewSet(ApiViewSet):
    """The closed set of event types."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [EventTypeDocument]}

    def index(self, request: Request) -> Response:
        """Every event type."""
        return self.list(PlainRows(EVENT_TYPE_ROWS), lambda row: row)
