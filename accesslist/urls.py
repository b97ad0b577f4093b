"""Routes of identity and access, below the public base."""

from accesslist.views.keys import GroupKeyViewSet, InstallationKeyViewSet
from accesslist.views.projects import ProjectViewSet
from accesslist.views.users import FirstUserViewSet, UserViewSet
from opsapi.api.routing import route

urlpatterns = [
    route("unauth/users", FirstUserViewSet, post="create"),
    route("users/<user_id>", UserViewSet, get="retrieve"),
    route("groups", ProjectViewSet, get="index", post="create"),
    route("groups/<group_id>", ProjectViewSet, get="retrieve"),
    route("groups/<group_id>/apiKeys", GroupKeyViewSet, get="index", post="create"),
    route("groups/<group_id>/apiKeys/<key_id>", GroupKeyViewSet, get="retrieve"),
    route("admin/apiKeys", InstallationKeyViewSet, get="index"),
    route("admin/apiKeys/<key_id>", InstallationKeyViewSet, get="retrieve"),
]
