"""Routes of alerting, below the public base."""

from alerting.views.alerts import AlertViewSet
from alerting.views.configs import AlertConfigViewSet
from alerting.views.matchers import MatcherFieldViewSet
from opsapi.api.routing import route

urlpatterns = [
    route("groups/<group_id>/alerts", AlertViewSet, get="index"),
    route("groups/<group_id>/alerts/<alert_id>", AlertViewSet, get="retrieve"),
    route("groups/<group_id>/alertConfigs", AlertConfigViewSet, get="index", post="create"),
    route("groups/<group_id>/alertConfigs/<config_id>", AlertConfigViewSet, get="retrieve", delete="destroy"),
    route("groups/<group_id>/alertConfigs/<config_id>/test", AlertConfigViewSet, post="test"),
    route("alertConfigs/matchers/fieldNames", MatcherFieldViewSet, get="index"),
]
