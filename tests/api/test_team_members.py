"""The members of a team."""

from typing import Any

import pytest

from accesslist.models import Project, RoleGrant
from accesslist.teams.changes import team_user_remove
from events.models import Event
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.api.recipients import client, fields, is_member, make_user, named, org, refusal, since, statuses
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key, make_team
from tests.racing import at_once, while_it_waits

pytestmark = pytest.mark.django_db


class TestMembers:
    """`/orgs/{id}/teams/{id}/users`."""

    @pytest.fixture(autouse=True)
    def _place(self, project: Project) -> None:
        self.project, self.teams = project, f"/orgs/{project.org_id}/teams"
        self.owner, self.member = (client(org(role, project)) for role in (Role.ORG_OWNER, Role.ORG_MEMBER))
        self.ada, self.grace = make_user(username="Ada"), make_user(username="grace")

    def test_users_are_added_by_name_or_id_and_listed(self) -> None:
        team = make_team(self.project)
        path, before = f"{self.teams}/{team.id}/users", Event.objects.count()
        added = self.owner.post(path, [{"username": "grace"}, {"id": self.ada.id}])
        assert added.status_code == 201
        assert [user["username"] for user in added.json()["results"]] == ["Ada", "grace"]
        assert added.json()["results"][0]["teamIds"] == [team.id]
        assert self.member.get(path).json() == added.json()
        assert [name for kind, name in named(since(before)) if kind == "USER_ADDED_TO_TEAM"] == [
            "grace",
            "Ada",
        ]
        assert is_member(self.ada, self.project)
        before = Event.objects.count()
        assert self.owner.post(path, [{"username": "ADA"}]).status_code == 201
        assert Event.objects.count() == before

    @each(
        ("body", "faults", "code"),
        [
            ([], ["[0]"], "MISSING_ATTRIBUTE"),
            ([{}], ["[0].username"], "MISSING_ATTRIBUTE"),
            ([{"username": "Ada", "id": "a" * 24}], ["[0].username"], "INVALID_ATTRIBUTE"),
            ([{"username": "Ada"}, {"username": "nobody"}], ["[1].username"], "INVALID_ATTRIBUTE"),
            ([{"username": "Ada"}, {"id": "a" * 24}], ["[1].id"], "INVALID_ATTRIBUTE"),
            ([{"username": "Ada"}, {"username": "ada"}], ["[1].username"], "INVALID_ATTRIBUTE"),
            ([{"id": "x"}], ["[0].id"], "INVALID_ATTRIBUTE"),
            (["Ada"], ["[0]"], "INVALID_ATTRIBUTE"),
        ],
    )
    def test_a_wrong_user_refuses_all(
        self,
        body: list[Any],
        faults: list[str],
        code: str,
    ) -> None:
        team, before = make_team(self.project), Event.objects.count()
        answer = self.owner.post(f"{self.teams}/{team.id}/users", body)
        assert refusal(answer) == (400, code)
        assert fields(answer) == faults
        assert (team.members.count(), Event.objects.count()) == (0, before)

    def test_a_removed_member_stays_in_the_organization(self) -> None:
        team = make_team(self.project, self.ada, self.grace)
        self.ada.grants.create(role=Role.ORG_MEMBER.value, org_id=self.project.org_id)
        before = Event.objects.count()
        assert self.owner.delete(f"{self.teams}/{team.id}/users/{self.ada.id}").status_code == 204
        assert refusal(self.owner.delete(f"{self.teams}/{team.id}/users/{self.ada.id}")) == (
            404,
            "USER_NOT_FOUND",
        )
        assert list(team.members.all()) == [self.grace]
        assert is_member(self.ada, self.project)
        events = since(before)
        assert named(events) == [("USER_REMOVED_FROM_TEAM_AUDIT", "Ada")]
        assert statuses(events) == [("USERS", "REMOVED")]


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """What several callers do at once."""

    def test_a_user_joins_the_organization_once_by_however_many_teams(self) -> None:
        key, project, ada = make_key(Role.GLOBAL_OWNER), ProjectFactory.create(), make_user(username="Ada")
        teams = [make_team(project) for _ in range(10)]

        def add(number: int) -> int:
            path = f"/orgs/{project.org_id}/teams/{teams[number].id}/users"
            status: int = ApiClient(key).post(path, [{"id": ada.id}]).status_code
            return status

        assert set(at_once(add)) == {201}
        assert is_member(ada, project)
        assert Event.objects.filter(event_type="JOINED_ORG").count() == 1
        assert ada.teams.count() == 10

    def test_a_deleted_user_leaves_all_teams(self) -> None:
        key, project, ada = make_key(Role.GLOBAL_OWNER), ProjectFactory.create(), make_user(username="Ada")
        team = make_team(project)

        def call(number: int) -> int:
            caller, path = ApiClient(key), f"/orgs/{project.org_id}/teams/{team.id}/users"
            if number == 5:
                status: int = caller.delete(f"/users/{ada.id}").status_code
            else:
                status = caller.post(path, [{"username": "ada"}]).status_code
            return status

        answers = at_once(call)
        assert answers[5] == 204
        assert set(answers) <= {201, 204, 400}
        assert not team.members.exists()

    def test_a_user_who_is_deleted_and_removed_at_the_same_time_leaves_the_team_once(self) -> None:
        key, project, ada = make_key(Role.GLOBAL_OWNER), ProjectFactory.create(), make_user(username="Ada")
        team = make_team(project, ada)
        taken = {"team_id": team.id, "org_id": project.org_id or "", "user_id": ada.id}
        answer = while_it_waits(
            lambda: ApiClient(key).delete(f"/users/{ada.id}"),
            lambda: team_user_remove(**taken, actor=SYSTEM, now=clock.now()),
        )
        assert answer.status_code == 204
        assert Event.objects.filter(event_type="USER_REMOVED_FROM_TEAM_AUDIT").count() == 1

    def test_concurrent_changes_of_roles_leave_the_roles_of_a_single_request(self) -> None:
        key, project = make_key(Role.GLOBAL_OWNER), ProjectFactory.create()
        team = make_team(project)
        roles = ["GROUP_READ_ONLY", "GROUP_MONITORING_ADMIN"]

        def call(number: int) -> int:
            caller, path = ApiClient(key), f"/groups/{project.id}/teams/{team.id}"
            status: int = caller.patch(path, {"roleNames": [roles[number % 2]]}).status_code
            return status

        assert set(at_once(call)) == {200}
        assert RoleGrant.objects.filter(team=team).count() == 1
