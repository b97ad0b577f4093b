"""Alerts and project alert configurations: endpoints 6 and 8 to 10 with their [+] siblings."""

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.throttles import throttle
from alerting.choices import AlertStatus
from alerting.models import AlertConfig
from alerting.selectors.alerts import AlertRow, AlertRows, alert_row
from alerting.selectors.configs import ConfigRow, config_rows
from alerting.serializers.alerts import AlertDocument, present_alert
from alerting.serializers.configs import (
    MATCHER_FIELD_ROWS,
    AlertConfigDocument,
    MatcherFieldDocument,
    present_config,
)
from alerting.serializers.testing import AlertConfigTestDocument, present_tests
from alerting.services.configs import alert_config_create, alert_config_delete
from alerting.services.testing import alert_config_test
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY, in_group
from opsapi.api.query import LISTING, PAGING, Parameter, read_choice
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


class AlertConfigViewSet(ApiViewSet):
    """Endpoints 8, 9 and 10, and making a configuration."""

    access = {
        "index": in_group(Role.GROUP_READ_ONLY),
        "retrieve": in_group(Role.GROUP_READ_ONLY),
        "create": in_group(Role.GROUP_MONITORING_ADMIN),
        "destroy": in_group(Role.GROUP_MONITORING_ADMIN),
        "test": in_group(Role.GROUP_MONITORING_ADMIN),
    }
    parameters = {"index": LISTING, "retrieve": PAGING}
    bodies = {"create": AlertConfigDocument}
    answers = {
        "index": [AlertConfigDocument],
        "retrieve": AlertConfigDocument,
        "create": AlertConfigDocument,
        "test": AlertConfigTestDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    identifiers = {"config_id": ErrorCode.INVALID_ALERT_CONFIG_ID}

    config: ConfigRow

    def load(self) -> None:
        """The configuration of the path."""
        if "config_id" in self.kwargs:
            self.config = self._row(self.kwargs["config_id"])

    def index(self, request: Request, group_id: str) -> Response:
        """Configurations, in the order they were made."""
        return self.list(config_rows(self.group.id), lambda row: present_config(row, self.links))

    def retrieve(self, request: Request, group_id: str, config_id: str) -> Response:
        """One configuration."""
        return Response(present_config(self.config, self.links, alone=True))

    def create(self, request: Request, group_id: str) -> Response:
        """A new configuration; conditions that hold already open their alerts at once."""
        values = self.body(stored={"groupId": self.group.id})
        config = alert_config_create(group_id=self.group.id, values=values, actor=self.actor, now=self.now)
        return Response(present_config(self._row(config.id), self.links, alone=True))

    def destroy(self, request: Request, group_id: str, config_id: str) -> Response:
        """Deletes it; its alerts are cancelled."""
        alert_config_delete(config=self._stored(config_id), actor=self.actor, now=self.now)
        return Response()

    def test(self, request: Request, group_id: str, config_id: str) -> Response:
        """Sends each of its notifications as a test, and answers how each ended; takes no body."""
        throttle(f"test notifications {self.group.id}", settings.OPSAPI_RATE_TEST_NOTIFICATIONS, self.now)
        tests = alert_config_test(config=self._stored(config_id), actor=self.actor, now=self.now)
        return Response(present_tests(tests))

    def _stored(self, config_id: str) -> AlertConfig:
        config = AlertConfig.objects.filter(id=config_id, deleted=None).first()
        return found(config, ErrorCode.ALERT_CONFIG_NOT_FOUND, config_id, self.group.id)

    def _row(self, config_id: str) -> ConfigRow:
        row: ConfigRow | None = config_rows(self.group.id).filter(id=config_id).first()
        return found(row, ErrorCode.ALERT_CONFIG_NOT_FOUND, config_id, self.group.id)


class MatcherFieldViewSet(ApiViewSet):
    """The closed set of matcher fields."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [MatcherFieldDocument]}

    def index(self, request: Request) -> Response:
        """Every field matchers can look at."""
        return self.list(PlainRows(MATCHER_FIELD_ROWS), lambda row: row)
