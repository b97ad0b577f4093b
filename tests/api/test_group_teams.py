"""The roles of teams in projects."""

from typing import Any

import pytest

from accesslist.models import Project, RoleGrant
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.recipients import client, fields, named, refusal, since, statuses
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def in_project(project: Project) -> str:
    """Where the project's teams are."""
    return f"/groups/{project.id}/teams"


class TestInProjects:
    """`/groups/{id}/teams`."""

    @pytest.fixture(autouse=True)
    def _team(self, project: Project) -> None:
        self.team = make_team(project, team_id=bodies.TEAM_ID)
        RoleGrant.objects.filter(team=self.team).delete()
        self.project = project

    def listed(self, caller: ApiClient) -> dict[str, list[str]]:
        """Team → its roles in the project."""
        rows = caller.get(f"/groups/{self.project.id}/teams").json()["results"]
        return {row["teamId"]: row["roleNames"] for row in rows}

    def test_roles_in_the_project_are_granted_to_a_team(
        self, admin: ApiClient, reader: ApiClient, in_project: str
    ) -> None:
        before = Event.objects.count()
        given = admin.post(in_project, bodies.team_roles("GROUP_OWNER", "GROUP_READ_ONLY", "GROUP_OWNER"))
        assert given.status_code == 201
        assert [(row["teamId"], row["roleNames"]) for row in given.json()["results"]] == [
            (self.team.id, ["GROUP_OWNER", "GROUP_READ_ONLY"])
        ]
        assert reader.get(in_project).json() == given.json()
        assert reader.get(f"{in_project}/{self.team.id}").json() == given.json()["results"][0]
        (event,) = since(before)
        assert (event.event_type, event.group_id, event.org_id) == (
            "TEAM_ADDED_TO_GROUP",
            self.project.id,
            None,
        )
        assert event.details["teamId"] == self.team.id
        assert statuses([event]) == [("ROLES", "NEW")]

    def test_one_that_is_there_has_the_new_roles_instead(self, admin: ApiClient, in_project: str) -> None:
        admin.post(in_project, bodies.team_roles("GROUP_OWNER"))
        before = Event.objects.count()
        for _ in range(2):
            admin.post(in_project, bodies.team_roles("GROUP_READ_ONLY"))
        assert self.listed(admin) == {self.team.id: ["GROUP_READ_ONLY"]}
        events = since(before)
        assert named(events) == [("TEAM_ROLES_CHANGED_AUDIT", None)]
        assert statuses(events) == [("ROLES", "MODIFIED")]

    def test_the_roles_of_a_team_are_replaced_and_revoked(self, admin: ApiClient, in_project: str) -> None:
        admin.post(in_project, bodies.team_roles("GROUP_OWNER"))
        path, before = f"{in_project}/{self.team.id}", Event.objects.count()
        changed = admin.patch(path, {"roleNames": ["GROUP_READ_ONLY", "GROUP_MONITORING_ADMIN"]})
        assert changed.json()["roleNames"] == ["GROUP_READ_ONLY", "GROUP_MONITORING_ADMIN"]
        assert admin.patch(path, admin.get(path).json()).status_code == 200
        assert admin.delete(path).status_code == 204
        assert refusal(admin.delete(path)) == (404, "TEAM_NOT_FOUND")
        assert self.listed(admin) == {}
        events = since(before)
        assert named(events) == [("TEAM_ROLES_CHANGED_AUDIT", None), ("TEAM_REMOVED_FROM_GROUP", None)]
        assert statuses(events) == [("ROLES", "MODIFIED"), ("ROLES", "REMOVED")]

    @each(
        ("changes", "faults", "code"),
        [
            ({"teamId": None}, ["[0].teamId"], "MISSING_ATTRIBUTE"),
            ({"teamId": "x"}, ["[0].teamId"], "INVALID_ATTRIBUTE"),
            ({"teamId": "a" * 24}, ["[0].teamId"], "INVALID_ATTRIBUTE"),
            ({"roleNames": None}, ["[0].roleNames"], "MISSING_ATTRIBUTE"),
            ({"roleNames": []}, ["[0].roleNames"], "MISSING_ATTRIBUTE"),
            ({"roleNames": ["ORG_MEMBER"]}, ["[0].roleNames[0]"], "INVALID_ENUM_VALUE"),
            ({"roleNames": ["GROUP_OWNER", "GLOBAL_OWNER"]}, ["[0].roleNames[1]"], "INVALID_ENUM_VALUE"),
            ({"name": "x"}, ["[0].name"], "INVALID_ATTRIBUTE"),
        ],
    )
    def test_a_wrong_field_is_named(
        self, admin: ApiClient, in_project: str, changes: dict[str, Any], faults: list[str], code: str
    ) -> None:
        before = Event.objects.count()
        answer = admin.post(in_project, bodies.team_roles(**changes))
        assert refusal(answer) == (400, code)
        assert fields(answer) == faults
        assert (self.listed(admin), Event.objects.count()) == ({}, before)

    def test_a_team_is_named_once_and_of_the_same_organization(
        self, admin: ApiClient, in_project: str
    ) -> None:
        foreign = make_team(ProjectFactory.create())
        answer = admin.post(in_project, [*bodies.team_roles() * 2, *bodies.team_roles(teamId=foreign.id)])
        assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
        assert fields(answer) == ["[1].teamId", "[2].teamId"]
        assert self.listed(admin) == {}

    @each("team_id", [bodies.TEAM_ID, "a" * 24])
    def test_a_caller_cannot_grant_a_role_they_lack(
        self, admin: ApiClient, in_project: str, team_id: str
    ) -> None:
        caller = client(Grant(Role.GROUP_USER_ADMIN, group_id=self.project.id))
        before = Event.objects.count()
        answer = caller.post(in_project, bodies.team_roles("GROUP_OWNER", teamId=team_id))
        assert refusal(answer) == (403, "ROLE_NOT_HELD")
        assert (self.listed(admin), Event.objects.count()) == ({}, before)
        assert caller.post(in_project, bodies.team_roles("GROUP_USER_ADMIN")).status_code == 201
        path = f"{in_project}/{self.team.id}"
        assert refusal(caller.patch(path, {"roleNames": ["GROUP_OWNER"]})) == (403, "ROLE_NOT_HELD")
        admin.patch(path, {"roleNames": ["GROUP_OWNER"]})
        kept = caller.patch(path, {"roleNames": ["GROUP_OWNER", "GROUP_READ_ONLY"]})
        assert kept.json()["roleNames"] == ["GROUP_OWNER", "GROUP_READ_ONLY"]

    def test_a_deleted_project_revokes_the_roles_of_its_teams(
        self, owner: ApiClient, in_project: str
    ) -> None:
        owner.post(in_project, bodies.team_roles("GROUP_OWNER"))
        assert owner.delete(f"/groups/{self.project.id}").status_code == 204
        assert not RoleGrant.objects.filter(team=self.team).exists()
