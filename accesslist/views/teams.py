"""Teams of an organization and their members."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import READ_ORG, WRITE_ORG
from accesslist.selectors.organizations import named, teams_of
from accesslist.selectors.users import users_of_team
from accesslist.serializers.teams import (
    TeamChange,
    TeamDocument,
    TeamInput,
    TeamMemberInput,
    members_asked,
    members_named,
)
from accesslist.serializers.users import UserDocument
from accesslist.services.teams import (
    team_create,
    team_delete,
    team_update,
    team_user_remove,
    team_users_add,
)
from accesslist.views.base import UserPresentingViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts


class TeamViewSet(UserPresentingViewSet):
    """`/orgs/{id}/teams`, `/orgs/{id}/teams/{id}` and `/orgs/{id}/teams/byName/{name}`."""

    access = {
        "index": READ_ORG,
        "create": WRITE_ORG,
        "retrieve": READ_ORG,
        "update": WRITE_ORG,
        "destroy": WRITE_ORG,
    }
    parameters = {"index": LISTING}
    bodies = {"create": TeamInput, "update": TeamChange}
    answers = {
        "index": [TeamDocument],
        "create": TeamDocument,
        "retrieve": TeamDocument,
        "update": TeamDocument,
    }
    statuses = {"create": 201, "destroy": 204}
    refusals = {"create": (ErrorCode.TEAM_NOT_FOUND,), "retrieve": (ErrorCode.TEAM_NOT_FOUND,)}
    identifiers = {"team_id": ErrorCode.INVALID_TEAM_ID}

    team: Facts

    def load(self) -> None:
        """The team of the path, in the organization of the path."""
        if "team_name" in self.kwargs:
            name = self.kwargs["team_name"]
            oldest = TeamDocument.first(named(teams_of(self.kwargs["org_id"]), name=name))
            self.team = get_or_404(oldest, ErrorCode.TEAM_NOT_FOUND, name)
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
        team = TeamDocument.first(teams_of(self.kwargs["org_id"]).filter(id=team_id))
        return get_or_404(team, ErrorCode.TEAM_NOT_FOUND, team_id)


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
        get_or_404(teams_of(org_id).filter(id=team_id).first(), ErrorCode.TEAM_NOT_FOUND, team_id)
        if "user_id" in self.kwargs:
            user_id = self.kwargs["user_id"]
            row = users_of_team(team_id, self.seen_in).filter(id=user_id).first()
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
