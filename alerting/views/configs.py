"""Project alert configurations: endpoints 8 to 10 with their [+] siblings."""

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.throttles import throttle
from alerting.models import AlertConfig
from alerting.selectors.configs import ConfigRow, config_rows
from alerting.serializers.configs import AlertConfigDocument, present_config
from alerting.serializers.testing import AlertConfigTestDocument, present_tests
from alerting.services.configs import alert_config_create, alert_config_delete
from alerting.services.testing import alert_config_test
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import found
from opsapi.api.permissions import in_group
from opsapi.api.query import LISTING, PAGING
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role


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
