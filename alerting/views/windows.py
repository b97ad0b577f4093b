"""Maintenance windows: created (endpoint 7), listed, read, changed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.access import READ, WRITE
from alerting.selectors.windows import WindowRow, window_row, window_rows
from alerting.serializers.windows import WindowChange, WindowDocument, present_window
from alerting.services.windows import window_change, window_create, window_delete
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.query import LISTING, Parameter, read_flag
from opsapi.api.views import ApiViewSet

INCLUDE_EXPIRED = Parameter(
    "includeExpired",
    read_flag,
    False,
    {"type": "boolean", "default": False},
    "Whether windows that have ended are included.",
    allowed=("true", "false"),
)


class WindowViewSet(ApiViewSet):
    """`/groups/{id}/maintenanceWindows` and `…/{window_id}`."""

    access = {"index": READ, "create": WRITE, "retrieve": READ, "update": WRITE, "destroy": WRITE}
    parameters = {"index": (*LISTING, INCLUDE_EXPIRED)}
    bodies = {"create": WindowDocument, "update": WindowChange}
    answers = {
        "index": [WindowDocument],
        "create": WindowDocument,
        "retrieve": WindowDocument,
        "update": WindowDocument,
    }
    statuses = {"destroy": 204}
    identifiers = {"window_id": ErrorCode.INVALID_MAINTENANCE_WINDOW_ID}

    window: WindowRow

    def load(self) -> None:
        """The window of the path."""
        if "window_id" in self.kwargs:
            self.window = self._row(self.kwargs["window_id"])

    def index(self, request: Request, group_id: str) -> Response:
        """Windows that are not over, in the order they begin."""
        rows = window_rows(self.group.id)
        if not self.query["includeExpired"]:
            rows = rows.filter(end__gt=self.now)
        return self.list(rows, lambda row: present_window(row, self.links))

    def create(self, request: Request, group_id: str) -> Response:
        """A new window; one that has begun silences at once."""
        values = self.body(stored={"groupId": self.group.id})
        window = window_create(group_id=self.group.id, values=values, actor=self.actor, now=self.now)
        return Response(present_window(self._row(window.id), self.links, alone=True))

    def retrieve(self, request: Request, group_id: str, window_id: str) -> Response:
        """One window."""
        return Response(present_window(self.window, self.links, alone=True))

    def update(self, request: Request, group_id: str, window_id: str) -> Response:
        """Changes what is named; what it no longer covers is told at once."""
        changes = self.body(stored=present_window(self.window, self.links, alone=True))
        window_change(
            group_id=self.group.id, window_id=window_id, changes=changes, actor=self.actor, now=self.now
        )
        return Response(present_window(self._row(window_id), self.links, alone=True))

    def destroy(self, request: Request, group_id: str, window_id: str) -> Response:
        """Deletes it; what it held back is told at once."""
        window_delete(group_id=self.group.id, window_id=window_id, actor=self.actor, now=self.now)
        return Response()

    def _row(self, window_id: str) -> WindowRow:
        row = window_row(window_id, group_id=self.group.id)
        return found(row, ErrorCode.MAINTENANCE_WINDOW_NOT_FOUND, window_id, self.group.id)
