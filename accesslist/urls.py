"""Routes of identity and access, below the public base."""

from collections.abc import Mapping
from typing import Any

from django.urls import URLPattern

from accesslist.access_lists.views import (
    GlobalAccessListViewSet,
    GroupKeyAccessListViewSet,
    InstallationKeyAccessListViewSet,
    KeyAccessListViewSet,
    OrgKeyAccessListViewSet,
)
from accesslist.invitations.views import GroupInvitationViewSet, InvitationViewSet, OrgInvitationViewSet
from accesslist.keys.views import GroupKeyViewSet, InstallationKeyViewSet, OrgKeyViewSet
from accesslist.projects.views import OrganizationViewSet, ProjectViewSet
from accesslist.teams.views import GroupTeamViewSet, TeamUserViewSet, TeamViewSet
from accesslist.users.views import FirstUserViewSet, GroupUserViewSet, OrgUserViewSet, UserViewSet
from opsapi.api.views import route

ONE: Mapping[str, Any] = {"get": "retrieve", "patch": "update", "delete": "destroy"}


def _key_lists(prefix: str, viewset: type[KeyAccessListViewSet]) -> list[URLPattern]:
    """The access list of a key, reached from there."""
    template = f"{prefix}/apiKeys/<key_id>/accessList"
    return [
        route(template, viewset, get="index", post="create"),
        route(f"{template}/<key_entry_id>", viewset, get="retrieve", delete="destroy"),
    ]


def _invitations(prefix: str, parameter: str, viewset: type[InvitationViewSet]) -> list[URLPattern]:
    """The invitations to the project or the organization."""
    return [
        route(f"{prefix}/invites", viewset, get="index", post="create"),
        route(f"{prefix}/invites/<{parameter}>", viewset, **ONE),
        route(f"{prefix}/invites/<{parameter}>/resend", viewset, post="resend"),
    ]


urlpatterns = [
    route("unauth/users", FirstUserViewSet, post="create"),
    route("users", UserViewSet, get="index", post="create"),
    route("users/byName/<path:username>", UserViewSet, get="retrieve"),
    route("users/<user_id>", UserViewSet, **ONE),
    route("orgs", OrganizationViewSet, get="index", post="create"),
    route("orgs/byName/<path:org_name>", OrganizationViewSet, get="by_name"),
    route("orgs/<org_id>", OrganizationViewSet, get="retrieve", patch="update", delete="destroy"),
    route("orgs/<org_id>/groups", OrganizationViewSet, get="projects"),
    route("orgs/<org_id>/users", OrgUserViewSet, get="index"),
    route("orgs/<org_id>/teams", TeamViewSet, get="index", post="create"),
    route("orgs/<org_id>/teams/byName/<path:team_name>", TeamViewSet, get="retrieve"),
    route("orgs/<org_id>/teams/<team_id>", TeamViewSet, **ONE),
    route("orgs/<org_id>/teams/<team_id>/users", TeamUserViewSet, get="index", post="create"),
    route("orgs/<org_id>/teams/<team_id>/users/<user_id>", TeamUserViewSet, delete="destroy"),
    *_invitations("orgs/<org_id>", "org_invitation_id", OrgInvitationViewSet),
    route("groups", ProjectViewSet, get="index", post="create"),
    route("groups/byName/<path:group_name>", ProjectViewSet, get="by_name"),
    route("groups/<group_id>", ProjectViewSet, get="retrieve", patch="update", delete="destroy"),
    route("groups/<group_id>/users", GroupUserViewSet, get="index"),
    *_invitations("groups/<group_id>", "group_invitation_id", GroupInvitationViewSet),
    route("groups/<group_id>/teams", GroupTeamViewSet, get="index", post="create"),
    route("groups/<group_id>/teams/<team_id>", GroupTeamViewSet, **ONE),
    route("groups/<group_id>/apiKeys", GroupKeyViewSet, get="index", post="create"),
    route("groups/<group_id>/apiKeys/<key_id>", GroupKeyViewSet, **ONE),
    route("orgs/<org_id>/apiKeys", OrgKeyViewSet, get="index", post="create"),
    route("orgs/<org_id>/apiKeys/<key_id>", OrgKeyViewSet, **ONE),
    route("admin/apiKeys", InstallationKeyViewSet, get="index", post="create"),
    route("admin/apiKeys/<key_id>", InstallationKeyViewSet, **ONE),
    route("admin/accessList", GlobalAccessListViewSet, get="index", post="create"),
    route("admin/accessList/<entry_id>", GlobalAccessListViewSet, **ONE),
    route("admin/whitelist", GlobalAccessListViewSet, deprecated=True, get="index", post="create"),
    route("admin/whitelist/<entry_id>", GlobalAccessListViewSet, deprecated=True, **ONE),
    *_key_lists("groups/<group_id>", GroupKeyAccessListViewSet),
    *_key_lists("orgs/<org_id>", OrgKeyAccessListViewSet),
    *_key_lists("admin", InstallationKeyAccessListViewSet),
]
