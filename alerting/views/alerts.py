"""Endpoint 6 and the other routes of alerts, of a project and of global configurations."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.access import READ, READ_GLOBAL, WRITE, WRITE_GLOBAL
from alerting.selectors.alerts import AlertRow, AlertRows, alert_row
from alerting.selectors.configs import configs_of
from alerting.selectors.notification_log import alert_notifications
from alerting.serializers.alerts import (
    GLOBAL_ALERTS,
    STATUSES,
    AcknowledgementDocument,
    AlertDocument,
    present_alert,
)
from alerting.serializers.configs import RaisingConfigDocument, config_document
from alerting.serializers.notification_log import LoggedNotificationDocument
from alerting.services.acknowledgements import alert_acknowledge
from alerting.views.notification_log import LogViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.paging import DeferredRows
from opsapi.api.query import LISTING, Parameter, read_choice

STATUS = Parameter(
    "status",
    read_choice(STATUSES),
    schema={"type": "string", "enum": STATUSES},
    description="Only alerts in this state.",
    code=ErrorCode.INVALID_ALERT_STATUS,
    allowed=STATUSES,
)


class AnyAlertViewSet(LogViewSet):
    """Alerts, their acknowledgement and their notifications. Subclasses define the scope."""

    parameters = {"index": (*LISTING, STATUS), "configs": LISTING, "notifications": LISTING}
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
        """The alert of the path."""
        if self.id_name in self.kwargs:
            self.alert = self._find()

    def index(self, request: Request, **_: str) -> Response:
        """List alerts, newest first."""
        rows = AlertRows(self.scope, self.query["status"])
        return self.list(rows, lambda row: present_alert(row, self.links, now=self.now, among=self.among))

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
        configs = configs_of(group_id).filter(id=self.alert["config_id"])
        readable = self.reads_config(is_global=self.alert["is_global"])
        return self.list_of(config_document(group_id), configs if readable else configs.none())

    def notifications(self, request: Request, **_: str) -> Response:
        """List the notifications of the alert, newest first."""
        rows = DeferredRows(alert_notifications(self.alert["id"]))
        return self.list(rows, self.present_logged)

    @property
    def scope(self) -> str | None:
        """The project of the alerts; None for alerts of global configurations."""
        return None

    def _find(self) -> AlertRow:
        alert_id = self.kwargs[self.id_name]
        row = alert_row(alert_id, group_id=self.scope)
        return get_or_404(row, ErrorCode.ALERT_NOT_FOUND, alert_id, self.scope or GLOBAL_ALERTS[1:])

    def _answer(self, row: AlertRow) -> Response:
        return Response(present_alert(row, self.links, now=self.now, among=self.among, alone=True))


class AlertViewSet(AnyAlertViewSet):
    """Endpoint 6: the alerts of a project, including alerts of global configurations."""

    access = {"index": READ, "retrieve": READ, "acknowledge": WRITE, "configs": READ, "notifications": READ}
    identifiers = {"alert_id": ErrorCode.INVALID_ALERT_ID}
    id_name = "alert_id"

    @property
    def scope(self) -> str:
        """The project."""
        return self.group.id


class GlobalAlertViewSet(AnyAlertViewSet):
    """`/globalAlerts`: the alerts of global configurations in all projects."""

    access = {
        "index": READ_GLOBAL,
        "retrieve": READ_GLOBAL,
        "acknowledge": WRITE_GLOBAL,
        "configs": READ_GLOBAL,
        "notifications": READ_GLOBAL,
    }
    identifiers = {"global_alert_id": ErrorCode.INVALID_ALERT_ID}
    id_name = "global_alert_id"
    among = GLOBAL_ALERTS
