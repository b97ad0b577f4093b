"""Global alert configurations: endpoints 3 and 4 with their [+] siblings."""

from alerting.access import READ_GLOBAL, WRITE_GLOBAL
from alerting.serializers.alerts import GLOBAL_ALERTS, AlertDocument
from alerting.serializers.global_configs import GlobalAlertConfigDocument, GlobalAlertConfigSwitch
from alerting.serializers.testing import AlertConfigTestDocument
from alerting.views.configs import AnyConfigViewSet
from opsapi.api.catalogue import ErrorCode


class GlobalAlertConfigViewSet(AnyConfigViewSet):
    """`/globalAlertConfigs`: configurations over all projects or some of them."""

    access = {
        "index": READ_GLOBAL,
        "retrieve": READ_GLOBAL,
        "alerts": READ_GLOBAL,
        "create": WRITE_GLOBAL,
        "replace": WRITE_GLOBAL,
        "update": WRITE_GLOBAL,
        "destroy": WRITE_GLOBAL,
        "test": WRITE_GLOBAL,
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
