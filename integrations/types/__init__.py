"""The types of integrations. One more is one module and one line here."""

from collections.abc import Mapping

from integrations.choices import IntegrationType
from integrations.types.base import IntegrationKind
from integrations.types.chat_service import CHAT_SERVICE
from integrations.types.group_chat_service import GROUP_CHAT_SERVICE
from integrations.types.metrics_service import METRICS_SERVICE
from integrations.types.on_call_service import ON_CALL_SERVICE
from integrations.types.ops_alert_service import OPS_ALERT_SERVICE
from integrations.types.pager_service import PAGER_SERVICE
from integrations.types.scraper import SCRAPER
from integrations.types.team_chat_service import TEAM_CHAT_SERVICE
from integrations.types.webhook import WEBHOOK

INTEGRATION_TYPES: Mapping[IntegrationType, IntegrationKind] = {
    kind.type: kind
    for kind in (
        PAGER_SERVICE,
        CHAT_SERVICE,
        METRICS_SERVICE,
        GROUP_CHAT_SERVICE,
        OPS_ALERT_SERVICE,
        ON_CALL_SERVICE,
        WEBHOOK,
        TEAM_CHAT_SERVICE,
        SCRAPER,
    )
}
