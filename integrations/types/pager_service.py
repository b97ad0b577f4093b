"""PAGER_SERVICE: a paging service, told by the Events API v2 of PagerDuty (decisions 7).

Its 32-hex v1 keys keep working (contract 2.4).
"""

from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.fields import Text

PAGER_SERVICE = IntegrationKind(
    type=IntegrationType.PAGER_SERVICE,
    fields=(IntegrationField("serviceKey", Text(), SecretKind.TOKEN),),
    example={"serviceKey": "0123456789abcdef0123456789abcdef"},
)
