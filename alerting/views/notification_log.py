"""The log of notifications of an event that opens no alert."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.access import READ
from alerting.selectors.notification_log import event_notifications, notified_event
from alerting.serializers.notification_log import LoggedNotificationDocument
from alerting.views.base import LogViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.paging import DeferredRows
from opsapi.api.query import LISTING


class EventNotificationViewSet(LogViewSet):
    """`/groups/{id}/events/{id}/notifications`."""

    access = {"index": READ}
    parameters = {"index": LISTING}
    answers = {"index": [LoggedNotificationDocument]}
    identifiers = {"event_id": ErrorCode.INVALID_EVENT_ID}

    def load(self) -> None:
        """The event of the path, of the project or of its organization."""
        event_id, group = self.kwargs["event_id"], self.group
        event = notified_event(event_id, group_id=group.id, org_id=group.org_id)
        get_or_404(event, ErrorCode.EVENT_NOT_FOUND, event_id)

    def index(self, request: Request, group_id: str, event_id: str) -> Response:
        """The notifications of the event, newest first."""
        rows = DeferredRows(event_notifications(event_id, group_id=self.group.id))
        return self.list(rows, self.present_logged)
