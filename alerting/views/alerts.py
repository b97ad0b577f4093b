"""Alerts: endpoint 6 with its [+] siblings."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.choices import AlertStatus
from alerting.selectors.alerts import AlertRow, AlertRows, alert_row
from alerting.serializers.alerts import AlertDocument, present_alert
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.permissions import in_group
from opsapi.api.query import LISTING, Parameter, read_choice
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role

_STATUSES = [status.value for status in AlertStatus]
STATUS = Parameter(
    "status",
    read_choice(_STATUSES),
    schema={"type": "string", "enum": _STATUSES},
    description="Only alerts in this state.",
    code=ErrorCode.INVALID_ALERT_STATUS,
    allowed=_STATUSES,
)


class AlertViewSet(ApiViewSet):
    """Endpoint 6: the alerts of a project."""

    access = {"index": in_group(Role.GROUP_READ_ONLY), "retrieve": in_group(Role.GROUP_READ_ONLY)}
    parameters = {"index": (*LISTING, STATUS)}
    answers = {"index": [AlertDocument], "retrieve": AlertDocument}
    identifiers = {"alert_id": ErrorCode.INVALID_ALERT_ID}

    alert: AlertRow

    def load(self) -> None:
        """The alert of the path."""
        if "alert_id" not in self.kwargs:
            return
        row = alert_row(self.kwargs["alert_id"], group_id=self.group.id)
        self.alert = found(row, ErrorCode.ALERT_NOT_FOUND, self.kwargs["alert_id"], self.group.id)

    def index(self, request: Request, group_id: str) -> Response:
        """Alerts, newest first."""
        rows = AlertRows(self.group.id, self.query["status"])
        return self.list(rows, lambda row: present_alert(row, self.links))

    def retrieve(self, request: Request, group_id: str, alert_id: str) -> Response:
        """One alert."""
        return Response(present_alert(self.alert, self.links, alone=True))
