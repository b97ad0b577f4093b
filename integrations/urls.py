"""URLs of integrations, below the public base."""

from integrations.credentials.views import IntegrationViewSet
from opsapi.api.views import route

_INTEGRATIONS = "groups/<group_id>/integrations"

urlpatterns = [
    route(_INTEGRATIONS, IntegrationViewSet, get="index"),
    route(
        f"{_INTEGRATIONS}/<path:integration_type>",
        IntegrationViewSet,
        get="retrieve",
        post="create",
        put="replace",
        delete="destroy",
    ),
]
