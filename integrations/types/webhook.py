"""WEBHOOK: any receiver of signed JSON over HTTP (decisions 7)."""

from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.fields import Text, WebUrl

WEBHOOK = IntegrationKind(
    type=IntegrationType.WEBHOOK,
    fields=(
        IntegrationField("url", WebUrl(), SecretKind.URL),
        IntegrationField("secret", Text(required=False), SecretKind.SECRET, goes_with="url"),
    ),
    example={"url": "https://hooks.example.com/in/0123456789", "secret": "a long enough secret"},
)
