"""The types of notifications a configuration can have. One more is one entry in its module and one here."""

from collections.abc import Mapping

from alerting.choices import ConfigNotificationType
from alerting.notification_types.base import NotificationType
from alerting.notification_types.people import ADMIN, EMAIL, GROUP, ORG, SMS, TEAM, USER
from alerting.notification_types.services import (
    CHAT_SERVICE,
    GROUP_CHAT_SERVICE,
    METRICS_SERVICE,
    ON_CALL_SERVICE,
    OPS_ALERT_SERVICE,
    PAGER_SERVICE,
    TEAM_CHAT_SERVICE,
    WEBHOOK,
)

NOTIFICATION_TYPES: Mapping[ConfigNotificationType, NotificationType] = {
    kind.type: kind
    for kind in (
        ADMIN,
        GROUP,
        ORG,
        USER,
        TEAM,
        EMAIL,
        SMS,
        PAGER_SERVICE,
        CHAT_SERVICE,
        GROUP_CHAT_SERVICE,
        METRICS_SERVICE,
        OPS_ALERT_SERVICE,
        ON_CALL_SERVICE,
        WEBHOOK,
        TEAM_CHAT_SERVICE,
    )
}
