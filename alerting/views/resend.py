"""Sending a failed notification of an alert again."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.access import WRITE
from alerting.models import Notification
from alerting.selectors.alerts import AlertRow, alert_row
from alerting.selectors.notification_log import alert_notification, alert_notifications
from alerting.serializers.notification_log import LoggedNotificationDocument
from alerting.services.resend import notification_resend
from alerting.views.base import LogViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404


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
        """Makes a failed notification due again, with the same delivery id; takes no body."""
        notification_resend(notification=self.notification, actor=self.actor, now=self.now)
        row = alert_notifications(self.alert["id"]).filter(id=self.notification.id).first()
        row = get_or_404(row, ErrorCode.NOTIFICATION_NOT_FOUND, self.notification.id)
        return Response(self.present_logged(row))
