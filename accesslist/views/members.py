"""The users of an organization and of a project."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_ORG, READ_PROJECT
from accesslist.selectors.users import users_of_group, users_of_org
from accesslist.serializers.users import UserDocument
from accesslist.views.base import UserPresentingViewSet
from opsapi.api.query import LISTING


class OrgUserViewSet(UserPresentingViewSet):
    """`/orgs/{id}/users`."""

    access = {"index": READ_ORG}
    parameters = {"index": LISTING}
    answers = {"index": [UserDocument]}

    def index(self, request: Request, org_id: str) -> Response:
        """Users with a role in the organization or in one of its projects, and members of its teams."""
        return self.list_of(UserDocument, users_of_org(org_id, self.seen_in))


class GroupUserViewSet(UserPresentingViewSet):
    """`/groups/{id}/users`."""

    access = {"index": READ_PROJECT}
    parameters = {"index": LISTING}
    answers = {"index": [UserDocument]}

    def index(self, request: Request, group_id: str) -> Response:
        """Users with a role in the project, directly or by a team."""
        return self.list_of(UserDocument, users_of_group(group_id, self.seen_in))
