"""The channels. CONTRIBUTING tells how one is added."""

from collections.abc import Mapping

from integrations.channels.base import Channel
from integrations.channels.chat_service import CHAT_SERVICE
from integrations.channels.email import EMAIL
from integrations.channels.group_chat_service import GROUP_CHAT_SERVICE
from integrations.channels.metrics_service import METRICS_SERVICE
from integrations.channels.on_call_service import ON_CALL_SERVICE
from integrations.channels.ops_alert_service import OPS_ALERT_SERVICE
from integrations.channels.pager_service import PAGER_SERVICE
from integrations.channels.sms import SMS
from integrations.channels.team_chat_service import TEAM_CHAT_SERVICE
from integrations.channels.webhook import WEBHOOK
from integrations.choices import ChannelType

CHANNELS: Mapping[ChannelType, Channel] = {
    channel.type: channel
    for channel in (
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
