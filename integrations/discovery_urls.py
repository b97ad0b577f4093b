"""URLs of scrapers, below their base."""

from integrations.discovery.views import DiscoveryViewSet
from opsapi.api.views import route

urlpatterns = [route("groups/<group_id>/discovery", DiscoveryViewSet, get="retrieve")]
