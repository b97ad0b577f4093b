"""Routes of the fleet, below the public base."""

from automation.views import HostViewSet, MetricViewSet
from opsapi.api.routing import route

urlpatterns = [
    route("groups/<group_id>/hosts", HostViewSet, get="index"),
    route("groups/<group_id>/hosts/<host_id>", HostViewSet, get="retrieve"),
    route("metricNames", MetricViewSet, get="index"),
]
