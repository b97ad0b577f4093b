"""The channels. CONTRIBUTING tells how one is added."""

from collections.abc import Mapping

from integrations.channels.base import Channel
from integrations.channels.email import EMAIL
from integrations.channels.webhook import WEBHOOK
from integrations.choices import ChannelType

CHANNELS: Mapping[ChannelType, Channel] = {channel.type: channel for channel in (EMAIL, WEBHOOK)}
