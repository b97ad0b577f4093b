"""The channels, in the order of selection lists. docs/how-to/add-a-channel.md: how to add a channel."""

from collections.abc import Mapping

from integrations.channels.base import Channel
from integrations.channels.datadog import DATADOG
from integrations.channels.email import EMAIL
from integrations.channels.hipchat import HIPCHAT
from integrations.channels.microsoft_teams import MICROSOFT_TEAMS
from integrations.channels.opsgenie import OPSGENIE
from integrations.channels.pagerduty import PAGERDUTY
from integrations.channels.slack import SLACK
from integrations.channels.sms import SMS
from integrations.channels.splunk_on_call import SPLUNK_ON_CALL
from integrations.channels.webhook import WEBHOOK
from integrations.choices import ChannelType

CHANNELS: Mapping[ChannelType, Channel] = {
    channel.type: channel
    for channel in (
        EMAIL,
        SMS,
        PAGERDUTY,
        SLACK,
        HIPCHAT,
        DATADOG,
        OPSGENIE,
        SPLUNK_ON_CALL,
        WEBHOOK,
        MICROSOFT_TEAMS,
    )
}
