"""GROUP_CHAT_SERVICE: a group chat, told by a HipChat v2-shaped room notification (decisions 7)."""

from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.fields import Text

GROUP_CHAT_SERVICE = IntegrationKind(
    type=IntegrationType.GROUP_CHAT_SERVICE,
    fields=(
        IntegrationField("notificationToken", Text(), SecretKind.TOKEN),
        IntegrationField("roomName", Text(max_length=200)),
    ),
    example={"notificationToken": "token-0123456789", "roomName": "oncall"},
)
