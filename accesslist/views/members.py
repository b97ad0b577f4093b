"""The users of an organization and of a project."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_ORG, READ_PROJECT
from accesslist.selectors.users import group_user_rows, org_user_rows
from accesslist.serializers.users import UserDocument
from accesslist.views.base import UserPresentingViewSet
from opsapi.api.query import LISTING


class OrgUserViewSet(UserPresentingViewSet):
    """`/orgs/{id}/users`."""

    access = {"index": READ_ORG}
    parameters = {"index": LISTING}
    answers = {"index": [UserDocument]}

    def index(self, request: Request, org_id: str) -> Response:
        """Those with a role in the organization, in one of its projects, or in one of its teams."""
        return self.list(org_user_rows(org_id, self.seen_in), self.present)


class GroupUserViewSet(UserPresentingViewSet):
    """`/groups/{id}/users`."""

    access = {"index": READ_PROJECT}
    parameters = {"index": LISTING}
    answers = {"index": [UserDocument]}

    def index(self, request: Request, group_id: str) -> Response:
        """Those with a role in the project, their own or a team's."""
        return self.list(group_user_rows(group_id, self.seen_in), self.present)
