"""The notification log of alerts and events, and sending a failed notification again."""

from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.views.base import KeyViewSet
from alerting.access import READ, WRITE
from alerting.models import Notification
from alerting.selectors.alerts import AlertRow, alert_row
from alerting.selectors.notification_log import (
    LoggedRow,
    alert_notification,
    alert_notifications,
    event_notifications,
    notified_event,
)
from alerting.serializers.notification_log import LoggedNotificationDocument, present_logged
from alerting.services.resend import notification_resend
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.paging import DeferredRows
from opsapi.api.query import LISTING
from opsapi.roles import INSTALLATION, Role
from opsapi.wire_json import JsonObject


class LogViewSet(KeyViewSet):
    """A view that shows notifications of the log."""

    def present_logged(self, row: LoggedRow) -> JsonObject:
        """A notification, with its recipient if the caller may read its configuration."""
        return present_logged(row, with_recipient=self.reads_config(is_global=row["is_global"]))

    def reads_config(self, *, is_global: bool) -> bool:
        """Whether the caller may read the configuration, and so its recipients."""
        return not is_global or self._reads_global_configs

    @cached_property
    def _reads_global_configs(self) -> bool:
        return self.caller.holds(Role.GLOBAL_READ_ONLY, INSTALLATION)


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
        """List the notifications of the event, newest first."""
        rows = DeferredRows(event_notifications(event_id, group_id=self.group.id))
        return self.list(rows, self.present_logged)


class ResendingViewSet(LogViewSet):
    """`/groups/{id}/alerts/{id}/notifications/{id}/resend`."""

    access = {"resend": WRITE}
    answers = {"resend": LoggedNotificationDocument}
    identifiers = {
        "alert_id": ErrorCode.INVALID_ALERT_ID,
        "notification_id": ErrorCode.INVALID_NOTIFICATION_ID,
    }
    refusals = {"resend": [ErrorCode.NOTIFICATION_CANNOT_BE_RESENT]}

    alert: AlertRow
    notification: Notification

    def load(self) -> None:
        """The alert and the notification of the path."""
        alert_id, notification_id = self.kwargs["alert_id"], self.kwargs["notification_id"]
        row = alert_row(alert_id, group_id=self.group.id)
        self.alert = get_or_404(row, ErrorCode.ALERT_NOT_FOUND, alert_id, self.group.id)
        notification = alert_notification(alert_id, notification_id)
        self.notification = get_or_404(notification, ErrorCode.NOTIFICATION_NOT_FOUND, notification_id)

    def resend(self, request: Request, **_: str) -> Response:
        """Send a failed notification again, with the same delivery ID. No body is needed."""
        notification_resend(notification=self.notification, actor=self.actor, now=self.now)
        row = alert_notifications(self.alert["id"]).filter(id=self.notification.id).first()
        row = get_or_404(row, ErrorCode.NOTIFICATION_NOT_FOUND, self.notification.id)
        return Response(self.present_logged(row))
