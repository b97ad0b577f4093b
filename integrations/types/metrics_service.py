"""METRICS_SERVICE: a metrics service, told by Datadog's events (decisions 7)."""

from integrations.choices import IntegrationType, Region, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind, region
from opsapi.api.fields import Text

METRICS_SERVICE = IntegrationKind(
    type=IntegrationType.METRICS_SERVICE,
    fields=(
        IntegrationField("apiKey", Text(), SecretKind.TOKEN),
        region(),
    ),
    example={"apiKey": "0123456789abcdef0123456789abcdef", "region": Region.US.value},
)
