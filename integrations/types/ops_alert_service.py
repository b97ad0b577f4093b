"""OPS_ALERT_SERVICE: ops alerting, told by Opsgenie's alerts (decisions 7).

Opsgenie's REST API ends on 2027-04-05.
"""

from integrations.choices import IntegrationType, Region, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind, region
from opsapi.api.fields import Text

OPS_ALERT_SERVICE = IntegrationKind(
    type=IntegrationType.OPS_ALERT_SERVICE,
    fields=(
        IntegrationField("apiKey", Text(), SecretKind.TOKEN),
        region(),
    ),
    example={"apiKey": "01234567-89ab-cdef-0123-456789abcdef", "region": Region.EU.value},
)
