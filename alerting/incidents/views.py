"""Endpoint 6 and the other routes of alerts and of the notification log."""

from typing import ClassVar

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.rows import with_id
from accesslist.views import KeyViewSet
from alerting.access import READ, READ_GLOBAL, WRITE, WRITE_GLOBAL
from alerting.configs.resource import RaisingConfigDocument, config_document
from alerting.configs.store import configs_named
from alerting.engine.models import Notification
from alerting.engine.notification_log import (
    alert_notification,
    alert_notifications,
    event_notifications,
    notified_event,
)
from alerting.engine.resend import notification_resend
from alerting.engine.resource import LoggedNotificationDocument
from alerting.incidents.changes import alert_acknowledge
from alerting.incidents.resource import GLOBAL_ALERTS, STATUSES, AcknowledgementDocument, AlertDocument
from alerting.incidents.store import AlertRow, AlertRows, alert_row
from alerting.severities import SEVERITIES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.paging import DeferredRows
from opsapi.api.query import LISTING, Parameter, read_choice
from opsapi.roles import INSTALLATION, Role


class LogViewSet(KeyViewSet):
    """A view that shows notifications of the log."""

    def list_logged(self, notifications: QuerySet[Notification]) -> Response:
        """Return a page of notifications of the log."""
        document = LoggedNotificationDocument
        rows = DeferredRows(document.rows(notifications))
        return self.list(rows, lambda row: document.present(document.facts(row), self.links))

    def reads_config(self, alert: AlertRow) -> bool:
        """Whether the caller may read the configuration of the alert, and so its recipients."""
        return not alert["is_global"] or self.reads_global_configs

    @property
    def reads_global_configs(self) -> bool:
        return self.caller.holds(Role.GLOBAL_READ_ONLY, INSTALLATION)


class EventNotificationViewSet(LogViewSet):
    """`/groups/{id}/events/{id}/notifications`."""

    access = {"index": READ}
    parameters = {"index": LISTING}
    answers = {"index": [LoggedNotificationDocument]}
    identifiers = {"event_id": ErrorCode.INVALID_EVENT_ID}

    def load(self) -> None:
        event_id, group = self.kwargs["event_id"], self.group
        event = notified_event(event_id, group_id=group.id, org_id=group.org_id)
        get_or_404(event, ErrorCode.EVENT_NOT_FOUND, event_id)

    def index(self, request: Request, group_id: str, event_id: str) -> Response:
        """List the notifications of the event, newest first."""
        return self.list_logged(
            event_notifications(event_id, group_id=self.group.id, with_global=self.reads_global_configs)
        )


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
        alert_id, notification_id = self.kwargs["alert_id"], self.kwargs["notification_id"]
        row = alert_row(alert_id, group_id=self.group.id)
        self.alert = get_or_404(row, ErrorCode.ALERT_NOT_FOUND, alert_id, self.group.id)
        notification = alert_notification(alert_id, notification_id)
        self.notification = get_or_404(notification, ErrorCode.NOTIFICATION_NOT_FOUND, notification_id)

    def resend(self, request: Request, **_: str) -> Response:
        """Send a failed notification again, with the same delivery ID. No body is needed."""
        notification_resend(notification=self.notification, actor=self.actor, now=self.now)
        rows = alert_notifications(self.alert["id"], with_recipients=self.reads_config(self.alert))
        facts = LoggedNotificationDocument.found(
            with_id(rows, self.notification.id), ErrorCode.NOTIFICATION_NOT_FOUND, self.notification.id
        )
        return self.alone(LoggedNotificationDocument, facts)


STATUS = Parameter(
    "status",
    read_choice(STATUSES),
    schema={"type": "string", "enum": STATUSES},
    description="Only alerts in this state.",
    code=ErrorCode.INVALID_ALERT_STATUS,
    allowed=STATUSES,
)


SEVERITY = Parameter(
    "severity",
    read_choice(SEVERITIES),
    schema={"type": "string", "enum": SEVERITIES},
    description="Only items of this severity; may be repeated.",
    repeatable=True,
    allowed=SEVERITIES,
)


_READING = ("index", "retrieve", "configs", "notifications")


class AnyAlertViewSet(LogViewSet):
    """Alerts, their acknowledgement and their notifications. Subclasses define the scope."""

    parameters = {
        "index": (*LISTING, STATUS, SEVERITY),
        "configs": LISTING,
        "notifications": LISTING,
    }
    bodies = {"acknowledge": AcknowledgementDocument}
    answers = {
        "index": [AlertDocument],
        "retrieve": AlertDocument,
        "acknowledge": AlertDocument,
        "configs": [RaisingConfigDocument],
        "notifications": [LoggedNotificationDocument],
    }
    refusals = {"acknowledge": [ErrorCode.INVALID_ALERT_STATUS]}
    id_name: ClassVar[str]
    among: ClassVar[str | None] = None

    alert: AlertRow

    def load(self) -> None:
        if self.id_name in self.kwargs:
            self.alert = self._find()

    def index(self, request: Request, **_: str) -> Response:
        """List alerts, newest first."""
        rows = AlertRows(self.scope, self.query["status"], severities=self.query["severity"])
        return self.list(
            rows, lambda row: AlertDocument.present(row, self.links, now=self.now, among=self.among)
        )

    def retrieve(self, request: Request, **_: str) -> Response:
        """Get an alert."""
        return self._answer(self.alert)

    def acknowledge(self, request: Request, **_: str) -> Response:
        """Acknowledge an alert: reminders stop until then. A past time removes the acknowledgement."""
        body = self.body(stored=self._answer(self.alert).data)
        alert_acknowledge(
            alert_id=self.alert["id"],
            group_id=self.alert["group_id"],
            until=body["acknowledgedUntil"],
            comment=body.get("acknowledgementComment"),
            actor=self.actor,
            now=self.now,
        )
        return self._answer(self._find())

    def configs(self, request: Request, **_: str) -> Response:
        """Get the configuration of the alert; empty if it is deleted, or if the caller may not read it."""
        group_id = None if self.alert["is_global"] else self.alert["group_id"]
        readable = self.reads_config(self.alert)
        configs = configs_named([self.alert["config_id"]] if readable else [], group_id)
        return self.list_of(config_document(group_id), configs)

    def notifications(self, request: Request, **_: str) -> Response:
        """List the notifications of the alert, newest first."""
        return self.list_logged(
            alert_notifications(self.alert["id"], with_recipients=self.reads_config(self.alert))
        )

    @property
    def scope(self) -> str | None:
        """The project of the alerts; None for alerts of global configurations."""
        return None

    def _find(self) -> AlertRow:
        alert_id = self.kwargs[self.id_name]
        row = alert_row(alert_id, group_id=self.scope)
        return get_or_404(row, ErrorCode.ALERT_NOT_FOUND, alert_id, self.scope or GLOBAL_ALERTS[1:])

    def _answer(self, row: AlertRow) -> Response:
        return Response(AlertDocument.present(row, self.links, now=self.now, among=self.among, alone=True))


class AlertViewSet(AnyAlertViewSet):
    """Endpoint 6: the alerts of a project, including alerts of global configurations."""

    access = {**dict.fromkeys(_READING, READ), "acknowledge": WRITE}
    identifiers = {"alert_id": ErrorCode.INVALID_ALERT_ID}
    id_name = "alert_id"

    @property
    def scope(self) -> str:
        return self.group.id


class GlobalAlertViewSet(AnyAlertViewSet):
    """`/globalAlerts`: the alerts of global configurations in all projects."""

    access = {**dict.fromkeys(_READING, READ_GLOBAL), "acknowledge": WRITE_GLOBAL}
    identifiers = {"global_alert_id": ErrorCode.INVALID_ALERT_ID}
    id_name = "global_alert_id"
    among = GLOBAL_ALERTS
