"""ON_CALL_SERVICE: an on-call service, told by Splunk On-Call's REST endpoint (decisions 7)."""

from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.fields import Text

ON_CALL_SERVICE = IntegrationKind(
    type=IntegrationType.ON_CALL_SERVICE,
    fields=(
        IntegrationField("apiKey", Text(), SecretKind.TOKEN),
        IntegrationField("routingKey", Text(required=False), SecretKind.TOKEN),
    ),
    example={"apiKey": "01234567-89ab-cdef-0123-456789abcdef", "routingKey": "databases"},
)
