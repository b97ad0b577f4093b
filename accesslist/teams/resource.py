"""Teams as the API shows and accepts them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from rest_framework import serializers

from accesslist.users.models import User
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import ANOTHER_ID, Document, LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import Identifier, ListOf, OneOf, PathName, ShownId, ShownList, Text
from opsapi.api.resources import Resource
from opsapi.roles import Role

MOST_MEMBERS = 5000
"""The maximum number of users of a team."""

MOST_JOINING = 500
"""The maximum number of users that one request adds."""

_USERNAMES = ["ada@example.com", "grace@example.com"]
_GROUP_ROLES = [role.value for role in Role if role.is_group]


@dataclass(frozen=True, slots=True)
class AskedMember:
    """A user in a request body, by ID or by username; `path` is the path of the field."""

    path: str
    user_id: str | None = None
    username: str | None = None


@dataclass(frozen=True, slots=True)
class AskedTeam:
    """A team with roles in a request body; `path` is the path of the team's field."""

    path: str
    team_id: str
    roles: Sequence[Role]


class TeamDocument(Resource):
    """A team with its members."""

    path = "/orgs/{org_id}/teams/{id}"
    relations = {"org": "/orgs/{org_id}", "users": f"{path}/users"}
    columns = {
        "usernames": ArraySubquery(
            User.objects.filter(teams=OuterRef("id")).order_by("username_key").values("username")
        )
    }

    id = ShownId(read_only=True, example=ANOTHER_ID)
    name = PathName(max_length=200, example="on call")
    usernames: serializers.ListField = ShownList(child=serializers.CharField(), example=_USERNAMES)
    links = LinkDocument(many=True, read_only=True)


class TeamInput(TeamDocument):
    """A new team."""

    usernames = ListOf(Text(max_length=254), max_length=MOST_JOINING, example=_USERNAMES)


class TeamChange(TeamDocument):
    """Changes to a team; `usernames` replaces its members."""

    is_change = True

    usernames = ListOf(Text(max_length=254), max_length=MOST_MEMBERS, clearable=True, example=_USERNAMES)


class TeamMemberInput(Document):
    """A user to add to a team, by `id` or by `username`."""

    refusals = (ErrorCode.MISSING_ATTRIBUTE, ErrorCode.INVALID_ATTRIBUTE)

    id = Identifier(required=False)
    username = Text(max_length=254, required=False, example="grace@example.com")

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Require exactly one of `id` and `username`."""
        if len(values) == 2:
            yield BadField("username", ErrorCode.INVALID_ATTRIBUTE, "and id cannot be sent together")
        if not values and not bad & {"id", "username"}:
            yield BadField("username", ErrorCode.MISSING_ATTRIBUTE, "or id is required")


class GroupTeamDocument(Resource):
    """A team's roles in a project."""

    path = "/groups/{group_id}/teams/{teamId}"

    teamId = Identifier(source="id", example=ANOTHER_ID)
    roleNames = ListOf(OneOf(_GROUP_ROLES), source="role_names", example=[Role.GROUP_READ_ONLY.value])
    links = LinkDocument(many=True, read_only=True)


class GroupTeamChange(GroupTeamDocument):
    """Changes to a team's roles in a project."""

    writable = frozenset({"roleNames"})


def members_named(usernames: Sequence[str]) -> list[AskedMember]:
    """Return the `usernames` of a team as services accept them."""
    return [
        AskedMember(f"usernames[{position}]", username=username)
        for position, username in enumerate(usernames)
    ]


def members_asked(body: Sequence[Mapping[str, Any]]) -> list[AskedMember]:
    """Return the users of a checked array as services accept them."""
    return [
        AskedMember(f"[{position}].{next(iter(member))}", member.get("id"), member.get("username"))
        for position, member in enumerate(body)
    ]


def teams_asked(body: Sequence[Mapping[str, Any]]) -> list[AskedTeam]:
    """Return the teams of a checked array as services accept them."""
    return [
        AskedTeam(f"[{position}].teamId", team["id"], [Role(name) for name in team["role_names"]])
        for position, team in enumerate(body)
    ]
