"""Types that notify an outside service, with which a project can be integrated."""

from alerting.choices import ConfigNotificationType
from alerting.notification_types.base import NotificationField, NotificationType
from integrations.choices import ChannelType, IntegrationType
from integrations.types import INTEGRATION_TYPES


def _service(name: str, **config_names: str) -> NotificationType:
    """The type of that name; which field is which of the integration, whose checks and secrets they share."""
    kind = INTEGRATION_TYPES[IntegrationType(name)]
    known = {field.name: field for field in kind.fields}
    names = {config_name: field_name for field_name, config_name in config_names.items()}
    return NotificationType(
        type=ConfigNotificationType(name),
        channels=(ChannelType(name),),
        fields=tuple(
            NotificationField(
                field_name,
                known[config_name].form,
                known[config_name].secret,
                names.get(known[config_name].goes_with or ""),
                config_name,
            )
            for field_name, config_name in config_names.items()
        ),
        example={field_name: kind.example[config_name] for field_name, config_name in config_names.items()},
        integration=kind.type,
    )


PAGER_SERVICE = _service("PAGER_SERVICE", serviceKey="serviceKey")
CHAT_SERVICE = _service("CHAT_SERVICE", apiToken="apiToken", channelName="channelName")
GROUP_CHAT_SERVICE = _service(
    "GROUP_CHAT_SERVICE",
    notificationToken="notificationToken",
    roomName="roomName",
)
METRICS_SERVICE = _service("METRICS_SERVICE", metricsServiceApiKey="apiKey")
OPS_ALERT_SERVICE = _service("OPS_ALERT_SERVICE", opsAlertApiKey="apiKey", opsAlertRegion="region")
ON_CALL_SERVICE = _service("ON_CALL_SERVICE", onCallApiKey="apiKey", onCallRoutingKey="routingKey")
WEBHOOK = _service("WEBHOOK", webhookUrl="url", webhookSecret="secret")
TEAM_CHAT_SERVICE = _service("TEAM_CHAT_SERVICE", teamChatWebhookUrl="webhookUrl")
