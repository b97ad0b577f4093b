"""How the console calls services and the fields of an integration."""

from collections.abc import Mapping

LABELS: Mapping[str, str] = {
    "apiKey": "API key",
    "apiToken": "API token",
    "channelName": "Channel",
    "enabled": "Enabled",
    "listenAddress": "Listen address",
    "notificationToken": "Notification token",
    "password": "Password",
    "region": "Region",
    "roomName": "Room",
    "routingKey": "Routing key",
    "scheme": "Scheme",
    "secret": "Secret for signing",
    "serviceDiscovery": "Service discovery",
    "serviceKey": "Service key",
    "teamName": "Team name",
    "url": "URL",
    "username": "User name",
    "webhookUrl": "Webhook URL",
}
"""By the field's name on the wire; the fields of notifications that bear these names are called alike."""

SERVICES: Mapping[str, str] = {
    "PAGER_SERVICE": "PagerDuty",
    "CHAT_SERVICE": "Slack",
    "GROUP_CHAT_SERVICE": "Group chat (HipChat)",
    "METRICS_SERVICE": "Datadog",
    "OPS_ALERT_SERVICE": "Opsgenie",
    "ON_CALL_SERVICE": "Splunk On-Call",
    "WEBHOOK": "Webhook",
    "TEAM_CHAT_SERVICE": "Microsoft Teams",
    "SCRAPER": "Prometheus",
}
"""The services people know, by the type on the wire of an integration, a channel or a notification."""
