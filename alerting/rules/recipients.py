"""Who a notification goes to, as people know them: an address, a channel, the name of a service. Pure."""

from collections.abc import Mapping

from alerting.choices import ConfigNotificationType
from integrations.choices import ChannelType
from integrations.labels import SERVICES

TYPE_LABELS: Mapping[str, str] = {
    ConfigNotificationType.ADMIN: "Administrators",
    ConfigNotificationType.GROUP: "Project members",
    ConfigNotificationType.ORG: "Organization members",
    ConfigNotificationType.USER: "User",
    ConfigNotificationType.TEAM: "Team",
    ConfigNotificationType.EMAIL: "E-mail",
    ConfigNotificationType.SMS: "SMS",
    **SERVICES,
}
"""By the type on the wire, which is also that of a channel."""


def recipient_words(
    *, type_name: str, channel: ChannelType | None, recipient: str | None, place: str = ""
) -> str:
    """`ada@example.com`, `Slack #oncall`, `PagerDuty`, `Webhook hooks.example.com`.

    `recipient` is as the log has it: an address, a URL or token without its secret, or while people are not
    looked up what names them; None: not to be shown. `place` is the channel, room or team it names.
    """
    label = TYPE_LABELS[channel or type_name]
    if recipient is None:
        return f"{label} (receiver not shown)"
    match channel:
        case None:
            named = place or recipient
            return f"{label}: {named}" if named else label
        case ChannelType.EMAIL | ChannelType.SMS:
            return recipient or label
        case ChannelType.WEBHOOK | ChannelType.TEAM_CHAT_SERVICE:
            host = recipient.partition("://")[2].partition("/")[0]
            return f"{label} {host}" if host else label
        case ChannelType.CHAT_SERVICE:
            return f"{label} #{place.lstrip('#')}" if place else label
        case _:
            return f"{label} {place}" if place else label
