"""Routes of the event log, below the public base."""

from events.views import EventTypeViewSet, GlobalEventViewSet, GroupEventViewSet
from opsapi.api.routing import route

urlpatterns = [
    route("globalEvents", GlobalEventViewSet, get="index"),
    route("globalEvents/<event_id>", GlobalEventViewSet, get="retrieve"),
    route("groups/<group_id>/events", GroupEventViewSet, get="index"),
    route("groups/<group_id>/events/<event_id>", GroupEventViewSet, get="retrieve"),
    route("eventTypes", EventTypeViewSet, get="index"),
]
