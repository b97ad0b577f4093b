"""Global alert configurations: endpoints 3 and 4 with their [+] siblings."""

from alerting.serializers.alerts import GLOBAL_ALERTS, AlertDocument
from alerting.serializers.global_configs import GlobalAlertConfigDocument, GlobalAlertConfigSwitch
from alerting.serializers.testing import AlertConfigTestDocument
from alerting.views.configs import AnyConfigViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import in_installation
from opsapi.roles import Role

_READ = in_installation(Role.GLOBAL_READ_ONLY)
_WRITE = in_installation(Role.GLOBAL_OWNER, Role.GLOBAL_MONITORING_ADMIN)


class GlobalAlertConfigViewSet(AnyConfigViewSet):
    """`/globalAlertConfigs`: configurations over all projects or some of them."""

    access = {
        "index": _READ,
        "retrieve": _READ,
        "alerts": _READ,
        "create": _WRITE,
        "replace": _WRITE,
        "update": _WRITE,
        "destroy": _WRITE,
        "test": _WRITE,
    }
    bodies = {
        "create": GlobalAlertConfigDocument,
        "replace": GlobalAlertConfigDocument,
        "update": GlobalAlertConfigSwitch,
    }
    answers = {
        "index": [GlobalAlertConfigDocument],
        "retrieve": GlobalAlertConfigDocument,
        "create": GlobalAlertConfigDocument,
        "replace": GlobalAlertConfigDocument,
        "update": GlobalAlertConfigDocument,
        "alerts": [AlertDocument],
        "test": AlertConfigTestDocument,
    }
    identifiers = {"global_config_id": ErrorCode.INVALID_GLOBAL_ALERT_CONFIG_ID}
    id_name = "global_config_id"
    among = GLOBAL_ALERTS
