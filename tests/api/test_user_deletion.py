"""Deleting users, and what happens when several callers write users at once."""

import pytest
from django.test import Client

from accesslist.models import Project, RoleGrant
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.recipients import client as make_client
from tests.api.recipients import group, make_user, org, recorded, refusal, since, statuses, wire
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory, make_key, make_team
from tests.racing import at_once

pytestmark = pytest.mark.django_db


class TestDeleting:
    """`DELETE /users/{id}`."""

    def test_a_user_leaves_everything(self, project: Project) -> None:
        user = make_user(group(Role.GROUP_OWNER, project), org(Role.ORG_MEMBER, project), username="ada")
        team = make_team(project, user)
        before = Event.objects.count()
        caller = make_client(Grant(Role.GLOBAL_USER_ADMIN))
        assert caller.delete(f"/users/{user.id}").status_code == 204
        assert refusal(caller.get(f"/users/{user.id}")) == (404, "USER_NOT_FOUND")
        assert not RoleGrant.objects.filter(user__isnull=False).exists()
        assert not team.members.exists()
        events = since(before)
        assert recorded(events) == [
            ("USER_ROLES_CHANGED_AUDIT", project.id, None),
            ("REMOVED_FROM_GROUP", project.id, None),
            ("USER_ROLES_CHANGED_AUDIT", None, project.org_id),
            ("REMOVED_FROM_ORG_AUDIT", None, project.org_id),
            ("USER_REMOVED_FROM_TEAM_AUDIT", None, project.org_id),
            ("USER_DELETED_AUDIT", None, None),
        ]
        assert [status for _, status in statuses(events)] == ["REMOVED"] * 6
        assert {event.details["targetUsername"] for event in events} == {"ada"}

    def test_the_name_is_free_again(self, owner: ApiClient) -> None:
        made = owner.post("/users", bodies.user()).json()
        assert owner.delete(f"/users/{made['id']}").status_code == 204
        assert owner.post("/users", bodies.user()).status_code == 201

    def test_holders_of_global_roles_are_deleted_by_global_owners(self, owner: ApiClient) -> None:
        user = make_user(Grant(Role.GLOBAL_READ_ONLY))
        answer = make_client(Grant(Role.GLOBAL_USER_ADMIN)).delete(f"/users/{user.id}")
        assert refusal(answer) == (403, "USER_UNAUTHORIZED")
        assert answer.json()["parameters"] == ["GLOBAL_OWNER"]
        assert owner.delete(f"/users/{user.id}").status_code == 204

    def test_the_last_global_owner_stays(self, owner: ApiClient) -> None:
        user = make_user(Grant(Role.GLOBAL_OWNER))
        assert refusal(owner.delete(f"/users/{user.id}")) == (403, "CANNOT_DEMOTE_LAST_OWNER")
        make_user(Grant(Role.GLOBAL_OWNER))
        assert owner.delete(f"/users/{user.id}").status_code == 204

    def test_their_session_in_the_console_ends(
        self, owner: ApiClient, project: Project, client: Client
    ) -> None:
        make_user(Grant(Role.GLOBAL_OWNER))
        user = make_user(Grant(Role.GLOBAL_OWNER))
        client.force_login(user)
        assert client.get("/admin/").status_code == 200
        assert owner.delete(f"/users/{user.id}").status_code == 204
        answer = client.get("/admin/")
        assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/login/?next=/admin/")

    def test_a_session_ends_with_the_role(self, owner: ApiClient, project: Project, client: Client) -> None:
        make_user(Grant(Role.GLOBAL_OWNER))
        user = make_user(Grant(Role.GLOBAL_OWNER))
        client.force_login(user)
        assert owner.patch(f"/users/{user.id}", {"roles": []}).status_code == 200
        assert client.get("/admin/").status_code == 302


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """What several callers do at once."""

    def test_a_username_is_created_once_by_concurrent_requests(self) -> None:
        key = make_key(Role.GLOBAL_OWNER)
        answers = at_once(lambda _: ApiClient(key).post("/users", bodies.user()).status_code)
        assert sorted(answers) == [201] + [409] * (len(answers) - 1)

    def test_one_global_owner_stays(self) -> None:
        key = make_key(Role.GLOBAL_OWNER)
        users = [make_user(Grant(Role.GLOBAL_OWNER)) for _ in range(10)]
        answers = at_once(lambda number: ApiClient(key).delete(f"/users/{users[number].id}").status_code)
        assert sorted(answers) == [204] * 9 + [403]

    def test_concurrent_equal_changes_are_recorded_once(self) -> None:
        key, project = make_key(Role.GLOBAL_OWNER), ProjectFactory.create()
        user, body = make_user(), {"roles": wire(group(Role.GROUP_OWNER, project))}
        answers = at_once(lambda _: ApiClient(key).patch(f"/users/{user.id}", body).status_code)
        assert set(answers) == {200}
        assert Event.objects.filter(event_type="JOINED_GROUP").count() == 1

    def test_a_user_is_deleted_once(self) -> None:
        key, user = make_key(Role.GLOBAL_OWNER), make_user()
        answers = at_once(lambda _: ApiClient(key).delete(f"/users/{user.id}").status_code)
        assert sorted(answers) == [204] + [404] * (len(answers) - 1)

    def test_no_role_outlives_its_project(self) -> None:
        key, project = make_key(Role.GLOBAL_OWNER), ProjectFactory.create()
        users = [make_user() for _ in range(9)]
        body = {"roles": wire(group(Role.GROUP_OWNER, project))}

        def call(number: int) -> int:
            caller = ApiClient(key)
            if number < 9:
                status: int = caller.patch(f"/users/{users[number].id}", body).status_code
            else:
                status = caller.delete(f"/groups/{project.id}").status_code
            return status

        answers = at_once(call)
        assert answers[9] == 204
        assert set(answers[:9]) <= {200, 400}
        assert not RoleGrant.objects.filter(project_id=project.id).exists()
