"""CHAT_SERVICE: a chat service, told by Slack's chat.postMessage (decisions 7)."""

from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.fields import Text

CHAT_SERVICE = IntegrationKind(
    type=IntegrationType.CHAT_SERVICE,
    fields=(
        IntegrationField("apiToken", Text(), SecretKind.TOKEN),
        IntegrationField("channelName", Text(max_length=200)),
        IntegrationField("teamName", Text(max_length=200, required=False)),
    ),
    example={"apiToken": "token-0123456789", "channelName": "oncall", "teamName": "operations"},
)
