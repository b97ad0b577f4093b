"""The roles of teams in a project."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_PROJECT, WRITE_PROJECT_ACCESS
from accesslist.selectors.organizations import teams_in
from accesslist.serializers.teams import GroupTeamChange, GroupTeamDocument, teams_asked
from accesslist.services.group_teams import group_team_remove, group_team_update, group_teams_add
from accesslist.views.base import KeyViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts
from opsapi.roles import Role


class GroupTeamViewSet(KeyViewSet):
    """`/groups/{id}/teams`: teams with roles in the project."""

    access = {
        "index": READ_PROJECT,
        "create": WRITE_PROJECT_ACCESS,
        "retrieve": READ_PROJECT,
        "update": WRITE_PROJECT_ACCESS,
        "destroy": WRITE_PROJECT_ACCESS,
    }
    parameters = {"index": LISTING, "create": LISTING}
    bodies = {"create": [GroupTeamDocument], "update": GroupTeamChange}
    answers = {
        "index": [GroupTeamDocument],
        "create": [GroupTeamDocument],
        "retrieve": GroupTeamDocument,
        "update": GroupTeamDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {"create": (ErrorCode.ROLE_NOT_HELD,), "update": (ErrorCode.ROLE_NOT_HELD,)}
    identifiers = {"team_id": ErrorCode.INVALID_TEAM_ID}

    team: Facts

    def load(self) -> None:
        """The team of the path, which must have a role in the project."""
        if "team_id" in self.kwargs:
            self.team = self._stored(self.kwargs["team_id"])

    def index(self, request: Request, group_id: str) -> Response:
        """List the teams with roles in the project."""
        return self.list_of(GroupTeamDocument, teams_in(self.group.id))

    def create(self, request: Request, group_id: str) -> Response:
        """Replace the roles of teams in the project. The response lists all teams of the project."""
        asked = teams_asked(self.body_array())
        group_teams_add(group=self.group, asked=asked, by=self.caller.grants, actor=self.actor, now=self.now)
        return self.index(request, group_id)

    def retrieve(self, request: Request, group_id: str, team_id: str) -> Response:
        """Get the roles of a team in the project."""
        return self.alone(GroupTeamDocument, self.team)

    def update(self, request: Request, group_id: str, team_id: str) -> Response:
        """Replace the roles of a team in the project."""
        roles = [Role(name) for name in self.body(stored=self.team)["role_names"]]
        group_team_update(
            group=self.group,
            team_id=team_id,
            roles=roles,
            by=self.caller.grants,
            actor=self.actor,
            now=self.now,
        )
        return self.alone(GroupTeamDocument, self._stored(team_id))

    def destroy(self, request: Request, group_id: str, team_id: str) -> Response:
        """Revoke the roles of a team in the project."""
        group_team_remove(group=self.group, team_id=team_id, actor=self.actor, now=self.now)
        return Response()

    def _stored(self, team_id: str) -> Facts:
        team = GroupTeamDocument.first(teams_in(self.group.id).filter(id=team_id))
        return get_or_404(team, ErrorCode.TEAM_NOT_FOUND, team_id)
