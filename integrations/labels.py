"""How the console calls the fields of an integration."""

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
