"""URLs of the event log, below the public base."""

from events.log.views import EventTypeViewSet, GlobalEventViewSet, GroupEventViewSet, OrganizationEventViewSet
from opsapi.api.views import route

urlpatterns = [
    route("globalEvents", GlobalEventViewSet, get="index"),
    route("globalEvents/<event_id>", GlobalEventViewSet, get="retrieve"),
    route("groups/<group_id>/events", GroupEventViewSet, get="index"),
    route("groups/<group_id>/events/<event_id>", GroupEventViewSet, get="retrieve"),
    route("orgs/<org_id>/events", OrganizationEventViewSet, get="index"),
    route("orgs/<org_id>/events/<event_id>", OrganizationEventViewSet, get="retrieve"),
    route("eventTypes", EventTypeViewSet, get="index"),
]
