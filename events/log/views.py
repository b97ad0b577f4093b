"""Endpoints 17, 18 and 19: events of a project, an organization and the installation; event types."""

from collections.abc import Mapping
from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from events.log.resource import GLOBAL_EVENTS, EventDocument, EventTypeDocument, GroupEventDocument
from events.log.store import EventFilter, EventPosition, EventRow, EventRows, event_position, event_row
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY, in_group, in_installation, in_org
from opsapi.api.query import (
    LISTING,
    MAX_DATE,
    MIN_DATE,
    Parameter,
    flag_parameter,
    identifier_parameter,
    read_choice,
)
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role
from opsapi.wire_json import JsonObject

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
INCLUDE_RAW = flag_parameter("includeRaw", "Whether to include the raw field.")
BEFORE = identifier_parameter(
    "before", "ID of an event of this list: returns the events after it. Use it to page without page numbers."
)
_FILTERS = (*LISTING, EVENT_TYPE, MIN_DATE, MAX_DATE, BEFORE)


class EventViewSet(ApiViewSet):
    """A list of events and a single event. Subclasses define the scope."""

    answers = {"index": [EventDocument], "retrieve": EventDocument}
    parameters = {"index": _FILTERS}
    identifiers = {"event_id": ErrorCode.INVALID_EVENT_ID}
    path: ClassVar[str] = GLOBAL_EVENTS

    event: EventRow

    @property
    def scope(self) -> Mapping[str, str]:
        """The scope of the events, for selectors."""
        return {}

    def load(self) -> None:
        """The event of the path."""
        if "event_id" in self.kwargs:
            event_id = self.kwargs["event_id"]
            self.event = get_or_404(event_row(event_id, **self.scope), ErrorCode.EVENT_NOT_FOUND, event_id)

    def index(self, request: Request, **_: str) -> Response:
        """List events, newest first."""
        return self.list(self._rows(), lambda row: self.present(row, alone=False))

    def retrieve(self, request: Request, event_id: str, **_: str) -> Response:
        """Get an event."""
        return Response(self.present(self.event, alone=True))

    def present(self, row: EventRow, *, alone: bool) -> JsonObject:
        """Return the document of an event."""
        return EventDocument.present(row, self.links, among=self.path.format(**self.scope), alone=alone)

    def _rows(self) -> EventRows:
        start, end = self.query["minDate"], self.query["maxDate"]
        if start and end and start > end:
            raise _wrong("minDate", "must not be after maxDate")
        events = EventFilter(
            **self.scope,
            event_types=self.query["eventType"],
            min_date=start,
            max_date=end,
            before=self._before(),
        )
        return EventRows(events, with_changes=self.answers["index"] == [GroupEventDocument])

    def _before(self) -> EventPosition | None:
        event_id = self.query["before"]
        if event_id is None:
            return None
        place = event_position(event_id, **self.scope)
        if place is None:
            raise _wrong("before", "is not the id of an event in this list")
        return place


class GlobalEventViewSet(EventViewSet):
    """Endpoints 17 and 19: all events of the installation."""

    access = {
        "index": in_installation(Role.GLOBAL_READ_ONLY),
        "retrieve": in_installation(Role.GLOBAL_READ_ONLY),
    }


class ChangeViewSet(EventViewSet):
    """Events of a project or of an organization, with their changes."""

    answers = {"index": [GroupEventDocument], "retrieve": GroupEventDocument}
    parameters = {"index": (*_FILTERS, INCLUDE_RAW), "retrieve": (INCLUDE_RAW,)}

    def present(self, row: EventRow, *, alone: bool) -> JsonObject:
        """Return the document of an event with its diffs."""
        document = super().present(row, alone=alone)
        raw = {"raw": row["raw"]} if self.query["includeRaw"] else {}
        return {**document, "diffs": row["diffs"], **raw}


class GroupEventViewSet(ChangeViewSet):
    """Endpoint 18 and the list of events of a project."""

    access = {"index": in_group(Role.GROUP_READ_ONLY), "retrieve": in_group(Role.GROUP_READ_ONLY)}
    path = "/groups/{group_id}/events"

    @property
    def scope(self) -> Mapping[str, str]:
        """The project."""
        return {"group_id": self.group.id}


class OrganizationEventViewSet(ChangeViewSet):
    """The events of an organization, and the creation of its projects."""

    access = {"index": in_org(Role.ORG_MEMBER), "retrieve": in_org(Role.ORG_MEMBER)}
    path = "/orgs/{org_id}/events"

    @property
    def scope(self) -> Mapping[str, str]:
        """The organization."""
        return {"org_id": self.kwargs["org_id"]}


class EventTypeViewSet(ApiViewSet):
    """The closed set of event types."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [EventTypeDocument]}

    def index(self, request: Request) -> Response:
        """List the event types."""
        return self.list(PlainRows(EventType), lambda row: EventTypeDocument.of(row.spec))


def _wrong(parameter: str, message: str) -> ApiError:
    return ApiError.of_field(parameter, ErrorCode.INVALID_QUERY_PARAMETER, message)
