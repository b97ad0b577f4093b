"""Teams as the API shows and accepts them."""

from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework import serializers

from accesslist.selectors.teams import TeamRow, team_facts
from accesslist.services.group_teams import AskedTeam
from accesslist.services.teams import MOST_JOINING, MOST_MEMBERS, AskedMember
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import BadField
from opsapi.api.examples import AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import Identifier, ListOf, OneOf, PathName, Text
from opsapi.api.links import Links
from opsapi.roles import Role

_GROUP_ROLES = [role.value for role in Role if role.is_group]


class TeamDocument(Document):
    """A team and what makes it."""

    example = {
        "id": ANOTHER_ID,
        "name": "on call",
        "usernames": ["ada@example.com", "grace@example.com"],
        "links": self_link(f"/orgs/{AN_ID}/teams/{ANOTHER_ID}"),
    }

    id = serializers.CharField(read_only=True)
    name = PathName(max_length=200)
    usernames = serializers.ListField(child=serializers.CharField())
    links = LinkDocument(many=True, read_only=True)


class TeamInput(TeamDocument):
    """What makes a team."""

    usernames = ListOf(Text(max_length=254), max_length=MOST_JOINING)


class TeamChange(TeamDocument):
    """What changes a team; `usernames` replace its members."""

    name = PathName(max_length=200, required=False)
    usernames = ListOf(Text(max_length=254), max_length=MOST_MEMBERS, clearable=True, required=False)


class TeamMemberInput(Document):
    """A user to be added to a team: exactly one of both."""

    example = {"username": "grace@example.com"}
    refusals = (ErrorCode.MISSING_ATTRIBUTE, ErrorCode.INVALID_ATTRIBUTE)

    id = Identifier(required=False)
    username = Text(max_length=254, required=False)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """One of both, whichever."""
        if len(values) == 2:
            yield BadField("username", ErrorCode.INVALID_ATTRIBUTE, "and id cannot be sent together")
        if not values and not bad & {"id", "username"}:
            yield BadField("username", ErrorCode.MISSING_ATTRIBUTE, "or id is required")


class GroupTeamDocument(Document):
    """A team's roles in a project."""

    example = {
        "teamId": ANOTHER_ID,
        "roleNames": [Role.GROUP_READ_ONLY.value],
        "links": self_link(f"/groups/{AN_ID}/teams/{ANOTHER_ID}"),
    }

    teamId = Identifier()
    roleNames = ListOf(OneOf(_GROUP_ROLES))
    links = LinkDocument(many=True, read_only=True)


class GroupTeamChange(GroupTeamDocument):
    """What changes them."""

    writable = frozenset({"roleNames"})


def present_team(row: TeamRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A team."""
    org = f"/orgs/{row['org_id']}"
    path = f"{org}/teams/{row['id']}"
    relations = {"org": org, "users": f"{path}/users"}
    return {**team_facts(row), "links": links.related(path, relations if alone else {})}


def present_group_team(row: TeamRow, links: Links, group_id: str) -> dict[str, Any]:
    """A team's roles in a project."""
    path = f"/groups/{group_id}/teams/{row['id']}"
    return {"teamId": row["id"], "roleNames": row["roles"], "links": links.self_only(path)}


def members_named(usernames: Sequence[str]) -> list[AskedMember]:
    """The `usernames` of a team, as services take them."""
    return [AskedMember(f"usernames[{place}]", username=username) for place, username in enumerate(usernames)]


def members_asked(body: Sequence[dict[str, Any]]) -> list[AskedMember]:
    """The users of a checked array, as services take them."""
    return [
        AskedMember(f"[{place}].{next(iter(one))}", one.get("id"), one.get("username"))
        for place, one in enumerate(body)
    ]


def teams_asked(body: Sequence[dict[str, Any]]) -> list[AskedTeam]:
    """The teams of a checked array, as services take them."""
    return [
        AskedTeam(f"[{place}].teamId", one["teamId"], [Role(name) for name in one["roleNames"]])
        for place, one in enumerate(body)
    ]
