"""Maintenance windows: created (endpoint 7), listed, read, changed, deleted."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.access import READ, WRITE
from alerting.windows.changes import window_change, window_create, window_delete
from alerting.windows.previews import window_preview
from alerting.windows.resource import WindowChange, WindowDocument, WindowPreviewDocument
from alerting.windows.rules import rule_of_values
from alerting.windows.store import window_with_id, windows_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.query import LISTING, flag_parameter
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet, answers_of, read_write

INCLUDE_EXPIRED = flag_parameter("includeExpired", "Whether windows that have ended are included.")


class WindowViewSet(ApiViewSet):
    """`/groups/{id}/maintenanceWindows` and `…/{window_id}`."""

    access = {**read_write(READ, WRITE), "preview": WRITE}
    parameters = {"index": (*LISTING, INCLUDE_EXPIRED)}
    bodies = {"create": WindowDocument, "preview": WindowDocument, "update": WindowChange}
    answers = {**answers_of(WindowDocument), "preview": WindowPreviewDocument}
    statuses = {"destroy": 204}
    refusals = {"create": [ErrorCode.LIMIT_REACHED], "update": [ErrorCode.LIMIT_REACHED]}
    identifiers = {"window_id": ErrorCode.INVALID_MAINTENANCE_WINDOW_ID}

    window: Facts

    def load(self) -> None:
        """The window of the path."""
        if "window_id" in self.kwargs:
            self.window = self._stored(self.kwargs["window_id"])

    def index(self, request: Request, group_id: str) -> Response:
        """List windows that are not over, in the order of their start."""
        after = None if self.query["includeExpired"] else self.now
        return self.list_of(WindowDocument, windows_of(self.group.id, unexpired_at=after))

    def create(self, request: Request, group_id: str) -> Response:
        """Create a window. A window that has begun mutes notifications at once."""
        values = self.body(stored={"groupId": self.group.id})
        window = window_create(group_id=self.group.id, values=values, actor=self.actor, now=self.now)
        return self.alone(WindowDocument, self._stored(window.id))

    def preview(self, request: Request, group_id: str) -> Response:
        """Get the next occurrences of a window, and the hosts and open alerts that it would mute.

        Nothing is saved.
        """
        values = self.body(stored={"groupId": self.group.id})
        preview = window_preview(group_id=self.group.id, rule=rule_of_values(values), now=self.now)
        return Response(
            WindowPreviewDocument.of_group(preview, self.links, group_id=self.group.id, now=self.now)
        )

    def retrieve(self, request: Request, group_id: str, window_id: str) -> Response:
        """Get a window."""
        return self.alone(WindowDocument, self.window)

    def update(self, request: Request, group_id: str, window_id: str) -> Response:
        """Change the given fields. Notifications that the window no longer mutes are sent at once."""
        changes = self.body(stored=self.window)
        window_change(
            group_id=self.group.id, window_id=window_id, changes=changes, actor=self.actor, now=self.now
        )
        return self.alone(WindowDocument, self._stored(window_id))

    def destroy(self, request: Request, group_id: str, window_id: str) -> Response:
        """Delete a window. Notifications that it muted are sent at once."""
        window_delete(group_id=self.group.id, window_id=window_id, actor=self.actor, now=self.now)
        return Response()

    def _stored(self, window_id: str) -> Facts:
        window = window_with_id(window_id, group_id=self.group.id)
        return WindowDocument.found(window, ErrorCode.MAINTENANCE_WINDOW_NOT_FOUND, window_id, self.group.id)
