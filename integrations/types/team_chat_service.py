"""TEAM_CHAT_SERVICE: a team chat, told by an Adaptive Card to a Teams Workflows URL (decisions 7)."""

from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.fields import WebUrl

TEAM_CHAT_SERVICE = IntegrationKind(
    type=IntegrationType.TEAM_CHAT_SERVICE,
    fields=(IntegrationField("webhookUrl", WebUrl(), SecretKind.URL),),
    example={"webhookUrl": "https://chat.example.com/workflows/0123456789"},
)
