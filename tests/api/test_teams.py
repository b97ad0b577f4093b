"""Teams of an organization."""

from typing import Any
from urllib.parse import quote

import pytest
from django.dispatch import receiver

from accesslist.hooks import team_deleting
from accesslist.models import Project, RoleGrant, Team
from events.models import Event
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.api import bodies
from tests.api.recipients import client, fields, is_member, make_user, named, org, refusal, since, statuses
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_team

pytestmark = pytest.mark.django_db


class TestTeams:
    """`/orgs/{id}/teams`."""

    @pytest.fixture(autouse=True)
    def _place(self, project: Project) -> None:
        self.project, self.teams = project, f"/orgs/{project.org_id}/teams"
        self.owner, self.member = (client(org(role, project)) for role in (Role.ORG_OWNER, Role.ORG_MEMBER))
        self.ada, self.grace = make_user(username="Ada"), make_user(username="grace")

    def test_members_of_a_team_become_members_of_the_organization(self) -> None:
        self.ada.grants.create(role=Role.ORG_READ_ONLY.value, org_id=self.project.org_id)
        before = Event.objects.count()
        made = self.owner.post(self.teams, {"name": "on call", "usernames": ["GRACE", "Ada"]})
        assert made.status_code == 201
        document = made.json()
        assert (document["name"], document["usernames"]) == ("on call", ["Ada", "grace"])
        assert self.member.get(f"{self.teams}/{document['id']}").json() == document
        assert is_member(self.grace, self.project)
        assert not is_member(self.ada, self.project)
        events = since(before)
        assert named(events) == [
            ("TEAM_CREATED", None),
            ("USER_ROLES_CHANGED_AUDIT", "grace"),
            ("JOINED_ORG", "grace"),
            ("USER_ADDED_TO_TEAM", "grace"),
            ("USER_ADDED_TO_TEAM", "Ada"),
        ]
        assert {(event.org_id, event.group_id) for event in events} == {(self.project.org_id, None)}
        assert statuses(events) == [("USERS", "NEW"), *[("ROLES", "NEW")] * 2, *[("USERS", "NEW")] * 2]
        assert events[0].details["teamId"] == events[3].details["teamId"] == document["id"]

    def test_teams_are_listed_in_the_order_of_creation(self) -> None:
        make_team(ProjectFactory.create())
        made = [
            self.owner.post(self.teams, {"name": name, "usernames": ["ada"]}).json() for name in ("b", "a")
        ]
        listed = self.member.get(self.teams).json()["results"]
        assert listed == [{**team, "links": team["links"][:1]} for team in made]

    @each("name", ["on call", "a/b c?", "%41", "団体", "teams/"])
    def test_a_team_is_found_by_its_name(self, name: str) -> None:
        made = self.owner.post(self.teams, {"name": name, "usernames": ["ada"]}).json()
        self.owner.post(self.teams, {"name": name, "usernames": ["ada"]})
        assert self.member.get(f"{self.teams}/byName/{quote(name, safe='')}").json() == made

    @each(
        ("change", "faults", "code"),
        [
            ({"name": None}, ["name"], "MISSING_ATTRIBUTE"),
            ({"name": ""}, ["name"], "INVALID_ATTRIBUTE"),
            ({"name": "x" * 201}, ["name"], "INVALID_ATTRIBUTE"),
            ({"usernames": None}, ["usernames"], "MISSING_ATTRIBUTE"),
            ({"usernames": []}, ["usernames"], "MISSING_ATTRIBUTE"),
            ({"usernames": "Ada"}, ["usernames"], "INVALID_ATTRIBUTE"),
            ({"usernames": ["Ada", 5]}, ["usernames[1]"], "INVALID_ATTRIBUTE"),
            ({"usernames": ["x"] * 501}, ["usernames"], "INVALID_ATTRIBUTE"),
            ({"usernames": ["nobody", "Ada", "x"]}, ["usernames[0]", "usernames[2]"], "INVALID_ATTRIBUTE"),
            ({"usernames": ["Ada", "aDA"]}, ["usernames[1]"], "INVALID_ATTRIBUTE"),
            ({"id": "x"}, ["id"], "ATTRIBUTE_READ_ONLY"),
            ({"members": []}, ["members"], "INVALID_ATTRIBUTE"),
        ],
    )
    def test_a_wrong_field_refuses_the_team(
        self,
        change: dict[str, Any],
        faults: list[str],
        code: str,
    ) -> None:
        answer = self.owner.post(self.teams, bodies.team(**{"usernames": ["Ada"], **change}))
        assert refusal(answer) == (400, code)
        assert fields(answer) == faults
        assert not Team.objects.exists()
        assert not Event.objects.exists()

    def test_a_team_is_renamed(self) -> None:
        team = make_team(self.project, self.ada)
        before = Event.objects.count()
        changed = self.owner.patch(f"{self.teams}/{team.id}", {"name": "night shift"})
        assert (changed.json()["name"], changed.json()["usernames"]) == ("night shift", ["Ada"])
        (event,) = since(before)
        assert (event.event_type, event.org_id, event.details["teamId"]) == (
            "TEAM_CHANGED_AUDIT",
            self.project.org_id,
            team.id,
        )
        (changes,) = event.diffs
        assert (changes["type"], changes["status"]) == ("USERS", "MODIFIED")
        assert [param["param"] for param in changes["params"]] == ["name"]

    def test_its_members_are_replaced(self) -> None:
        team = make_team(self.project, self.ada)
        before = Event.objects.count()
        changed = self.owner.patch(f"{self.teams}/{team.id}", {"usernames": ["Grace"]})
        assert changed.json()["usernames"] == ["grace"]
        assert is_member(self.grace, self.project)
        assert named(since(before)) == [
            ("TEAM_CHANGED_AUDIT", None),
            ("USER_REMOVED_FROM_TEAM_AUDIT", "Ada"),
            ("USER_ROLES_CHANGED_AUDIT", "grace"),
            ("JOINED_ORG", "grace"),
            ("USER_ADDED_TO_TEAM", "grace"),
        ]
        assert self.owner.patch(f"{self.teams}/{team.id}", {"usernames": []}).json()["usernames"] == []
        assert not team.members.exists()

    def test_a_team_that_was_read_can_be_written_back(self) -> None:
        team = make_team(self.project, self.grace, self.ada)
        before = Event.objects.count()
        for body in (self.owner.get(f"{self.teams}/{team.id}").json(), {}, {"usernames": ["grace", "ada"]}):
            assert self.owner.patch(f"{self.teams}/{team.id}", body).status_code == 200
        assert Event.objects.count() == before

    @each(
        ("change", "faults"),
        [
            ({"id": new_id}, ["id"]),
            ({"name": ""}, ["name"]),
            ({"usernames": ["ada", "nobody"]}, ["usernames[1]"]),
        ],
        ids=["id", "name", "usernames"],
    )
    def test_an_invalid_change_changes_nothing(
        self,
        change: dict[str, Any],
        faults: list[str],
    ) -> None:
        team, before = make_team(self.project), Event.objects.count()
        body = {name: value() if callable(value) else value for name, value in change.items()}
        answer = self.owner.patch(f"{self.teams}/{team.id}", {"name": "new", **body})
        assert (answer.status_code, fields(answer)) == (400, faults)
        assert self.owner.get(f"{self.teams}/{team.id}").json()["name"] == team.name
        assert (team.members.count(), Event.objects.count()) == (0, before)

    def test_a_deleted_team_leaves_its_projects(self) -> None:
        team = make_team(self.project, self.ada)
        self.ada.grants.create(role=Role.ORG_MEMBER.value, org_id=self.project.org_id)
        before = Event.objects.count()
        assert self.owner.delete(f"{self.teams}/{team.id}").status_code == 204
        assert refusal(self.owner.get(f"{self.teams}/{team.id}")) == (404, "TEAM_NOT_FOUND")
        assert not RoleGrant.objects.filter(team__isnull=False).exists()
        assert is_member(self.ada, self.project)
        events = since(before)
        assert [(event.event_type, event.group_id, event.org_id) for event in events] == [
            ("TEAM_REMOVED_FROM_GROUP", self.project.id, None),
            ("TEAM_DELETED", None, self.project.org_id),
        ]
        assert statuses(events) == [("ROLES", "REMOVED"), ("USERS", "REMOVED")]

    def test_others_hear_of_a_deletion_while_the_team_is_still_there(self) -> None:
        heard: list[bool] = []

        @receiver(team_deleting)
        def hear(team: Team, **_: Any) -> None:
            heard.append(Team.objects.filter(id=team.id).exists())

        team = make_team(self.project)
        assert self.owner.delete(f"{self.teams}/{team.id}").status_code == 204
        team_deleting.disconnect(hear)
        assert heard == [True]

    def test_a_team_of_another_organization_is_not_found(self) -> None:
        team = make_team(ProjectFactory.create())
        for method, path in (
            ("GET", f"{self.teams}/{team.id}"),
            ("PATCH", f"{self.teams}/{team.id}"),
            ("DELETE", f"{self.teams}/{team.id}"),
            ("GET", f"{self.teams}/{team.id}/users"),
            ("POST", f"{self.teams}/{team.id}/users"),
            ("GET", f"{self.teams}/byName/{quote(team.name)}"),
        ):
            assert refusal(self.owner.request(method, path, {})) == (404, "TEAM_NOT_FOUND"), path
