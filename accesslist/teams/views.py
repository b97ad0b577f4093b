"""Teams of an organization, their members, and their roles in projects."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_ORG, READ_PROJECT, WRITE_ORG, WRITE_PROJECT_ACCESS
from accesslist.rows import named, with_id
from accesslist.teams.changes import (
    group_team_update,
    group_teams_add,
    team_create,
    team_delete,
    team_update,
    team_user_remove,
    team_users_add,
)
from accesslist.teams.resource import (
    GroupTeamChange,
    GroupTeamDocument,
    TeamChange,
    TeamDocument,
    TeamInput,
    TeamMemberInput,
    members_asked,
    members_named,
    teams_asked,
)
from accesslist.teams.store import teams_in, teams_of
from accesslist.users.resource import UserDocument
from accesslist.users.store import users_of_team
from accesslist.views import KeyViewSet, UserPresentingViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts
from opsapi.api.views import answers_of, read_write
from opsapi.roles import Role


class TeamViewSet(UserPresentingViewSet):
    """`/orgs/{id}/teams`, `/orgs/{id}/teams/{id}` and `/orgs/{id}/teams/byName/{name}`."""

    access = read_write(READ_ORG, WRITE_ORG)
    parameters = {"index": LISTING}
    bodies = {"create": TeamInput, "update": TeamChange}
    answers = answers_of(TeamDocument)
    statuses = {"create": 201, "destroy": 204}
    refusals = {"create": (ErrorCode.TEAM_NOT_FOUND,), "retrieve": (ErrorCode.TEAM_NOT_FOUND,)}
    identifiers = {"team_id": ErrorCode.INVALID_TEAM_ID}

    team: Facts

    def load(self) -> None:
        """The team of the path, in the organization of the path."""
        if "team_name" in self.kwargs:
            name = self.kwargs["team_name"]
            rows = named(teams_of(self.kwargs["org_id"]), name=name)
            self.team = TeamDocument.found(rows, ErrorCode.TEAM_NOT_FOUND, name)
        elif "team_id" in self.kwargs:
            self.team = self._stored(self.kwargs["team_id"])

    def index(self, request: Request, org_id: str) -> Response:
        """List the teams of the organization."""
        return self.list_of(TeamDocument, teams_of(org_id))

    def create(self, request: Request, org_id: str) -> Response:
        """Create a team. Its members become members of the organization."""
        body = self.body()
        members = members_named(body.pop("usernames"))
        team = team_create(
            org_id=org_id,
            values=body,
            members=members,
            seen_in=self.seen_in,
            actor=self.actor,
            now=self.now,
        )
        return self.alone(TeamDocument, self._stored(team.id))

    def retrieve(self, request: Request, org_id: str, **_: str) -> Response:
        """Get a team; by name, the oldest team with this name."""
        return self.alone(TeamDocument, self.team)

    def update(self, request: Request, org_id: str, team_id: str) -> Response:
        """Change the name or the members of a team."""
        body = self.body(stored=self.team)
        usernames = body.pop("usernames", None)
        team_update(
            team_id=team_id,
            org_id=org_id,
            changes=body,
            members=None if usernames is None else members_named(usernames),
            seen_in=self.seen_in,
            actor=self.actor,
            now=self.now,
        )
        return self.alone(TeamDocument, self._stored(team_id))

    def destroy(self, request: Request, org_id: str, team_id: str) -> Response:
        """Delete a team and its roles in projects. Its members stay in the organization."""
        team_delete(team_id=team_id, org_id=org_id, actor=self.actor, now=self.now)
        return Response()

    def _stored(self, team_id: str) -> Facts:
        rows = with_id(teams_of(self.kwargs["org_id"]), team_id)
        return TeamDocument.found(rows, ErrorCode.TEAM_NOT_FOUND, team_id)


class TeamUserViewSet(UserPresentingViewSet):
    """`/orgs/{id}/teams/{id}/users`."""

    access = {"index": READ_ORG, "create": WRITE_ORG, "destroy": WRITE_ORG}
    parameters = {"index": LISTING, "create": LISTING}
    bodies = {"create": [TeamMemberInput]}
    answers = {"index": [UserDocument], "create": [UserDocument]}
    statuses = {"create": 201, "destroy": 204}
    identifiers = {"team_id": ErrorCode.INVALID_TEAM_ID, "user_id": ErrorCode.INVALID_USER_ID}

    def load(self) -> None:
        """The team of the path, and the member."""
        org_id, team_id = self.kwargs["org_id"], self.kwargs["team_id"]
        get_or_404(with_id(teams_of(org_id), team_id).first(), ErrorCode.TEAM_NOT_FOUND, team_id)
        if "user_id" in self.kwargs:
            user_id = self.kwargs["user_id"]
            row = with_id(users_of_team(team_id, self.seen_in), user_id).first()
            get_or_404(row, ErrorCode.USER_NOT_FOUND, user_id)

    def index(self, request: Request, **named: str) -> Response:
        """List the members of the team."""
        return self.list_of(UserDocument, users_of_team(named["team_id"], self.seen_in))

    def create(self, request: Request, **named: Any) -> Response:
        """Add users to the team. The response lists all members."""
        members = members_asked(self.body_array())
        team_users_add(**named, members=members, seen_in=self.seen_in, actor=self.actor, now=self.now)
        return self.index(request, **named)

    def destroy(self, request: Request, **named: Any) -> Response:
        """Remove a user from the team."""
        team_user_remove(**named, actor=self.actor, now=self.now)
        return Response()


class GroupTeamViewSet(KeyViewSet):
    """`/groups/{id}/teams`: teams with roles in the project."""

    access = read_write(READ_PROJECT, WRITE_PROJECT_ACCESS)
    parameters = {"index": LISTING, "create": LISTING}
    bodies = {"create": [GroupTeamDocument], "update": GroupTeamChange}
    answers = {**answers_of(GroupTeamDocument), "create": [GroupTeamDocument]}
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
        group_team_update(group=self.group, team_id=team_id, roles=(), actor=self.actor, now=self.now)
        return Response()

    def _stored(self, team_id: str) -> Facts:
        rows = with_id(teams_in(self.group.id), team_id)
        return GroupTeamDocument.found(rows, ErrorCode.TEAM_NOT_FOUND, team_id)
