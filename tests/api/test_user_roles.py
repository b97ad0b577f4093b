"""Changing the roles of users: who may, what stays, which events record it."""

from typing import Any

import pytest

from accesslist.models import Project, User
from accesslist.roles.changes import user_roles_replace
from accesslist.roles.rules import RoleRequest, asked_roles
from accesslist.users.changes import user_delete
from accesslist.users.store import EVERYTHING
from events.models import Event
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind
from opsapi.ids import new_id
from opsapi.roles import INSTALLATION, Grant, Role
from tests.api.recipients import client, fields, group, held, make_user, org, recorded, refusal, since, wire
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_team

NOTHING = "f" * 24
pytestmark = pytest.mark.django_db


@pytest.fixture
def other(db: None) -> Project:
    """A project of another organization."""
    made: Project = ProjectFactory.create()
    return made


@pytest.fixture
def sibling(project: Project) -> Project:
    """A second project of the organization."""
    made: Project = ProjectFactory.create(org=project.org)
    return made


class TestRoles:
    """`PATCH /users/{id}`."""

    def patch(self, caller: ApiClient, user: User, *grants: Grant) -> Any:
        """Ask for these roles."""
        return caller.patch(f"/users/{user.id}", {"roles": wire(*grants)})

    @pytest.mark.slow
    @each("role", [role for role in Role if not role.is_global])
    def test_a_caller_who_administers_nothing_is_refused_before_the_body(
        self, project: Project, role: Role
    ) -> None:
        administer = {Role.ORG_OWNER, Role.GROUP_OWNER, Role.GROUP_USER_ADMIN}
        caller = client(org(role, project) if role.is_org else group(role, project))
        for user_id in (make_user().id, new_id()):
            answer = caller.patch(f"/users/{user_id}?pretty=x", b"nonsense", content_type="text/plain")
            if role not in administer:
                assert refusal(answer) == (403, "USER_UNAUTHORIZED")
                assert "GROUP_USER_ADMIN" in answer.json()["detail"]
            else:
                assert refusal(answer) in {
                    (415, "UNSUPPORTED_MEDIA_TYPE"),
                    (404, "USER_NOT_FOUND"),
                }

    @each("role", [Role.GLOBAL_READ_ONLY, Role.GLOBAL_MONITORING_ADMIN])
    def test_a_reading_global_role_administers_nobody(self, role: Role) -> None:
        assert refusal(self.patch(client(Grant(role)), make_user())) == (403, "USER_UNAUTHORIZED")

    def test_a_document_that_was_read_can_be_written_back(self, owner: ApiClient, project: Project) -> None:
        user = make_user(Grant(Role.GLOBAL_OWNER), group(Role.GROUP_OWNER, project), username="ada")
        make_team(project, user)
        before = Event.objects.count()
        for caller in (owner, client(Grant(Role.GLOBAL_USER_ADMIN)), client(org(Role.ORG_OWNER, project))):
            document = caller.get(f"/users/{user.id}").json()
            answer = caller.patch(f"/users/{user.id}", document)
            assert (answer.status_code, answer.json()) == (200, document)
        assert held(user) == {Grant(Role.GLOBAL_OWNER), group(Role.GROUP_OWNER, project)}
        assert Event.objects.count() == before

    @each(
        ("change", "field", "code"),
        [
            ({"roles": None}, "roles", "MISSING_ATTRIBUTE"),
            ({"username": "grace"}, "username", "ATTRIBUTE_READ_ONLY"),
            ({"teamIds": [NOTHING]}, "teamIds", "ATTRIBUTE_READ_ONLY"),
            ({"password": "correct horse battery"}, "password", "INVALID_ATTRIBUTE"),
            ({"roles": [{"roleName": "GROUP_OWNER"}]}, "roles[0].groupId", "ROLE_NEEDS_GROUP_ID"),
            (
                {"roles": [{"roleName": "GROUP_OWNER", "groupId": NOTHING}]},
                "roles[0].groupId",
                "INVALID_ATTRIBUTE",
            ),
            (
                {"roles": [{"roleName": "GLOBAL_OWNER"}, {"roleName": "ORG_OWNER", "orgId": NOTHING}]},
                "roles[1].orgId",
                "INVALID_ATTRIBUTE",
            ),
        ],
    )
    def test_a_wrong_field_is_named_and_changes_nothing(
        self, owner: ApiClient, change: dict[str, Any], field: str, code: str
    ) -> None:
        user, before = make_user(Grant(Role.GLOBAL_READ_ONLY)), Event.objects.count()
        body = {**owner.get(f"/users/{user.id}").json(), **change}
        answer = owner.patch(f"/users/{user.id}", body)
        assert refusal(answer) == (400, code)
        assert fields(answer) == [field]
        assert (held(user), Event.objects.count()) == ({Grant(Role.GLOBAL_READ_ONLY)}, before)

    def test_roles_outside_the_callers_scope_stay(
        self, project: Project, sibling: Project, other: Project
    ) -> None:
        outside = {
            Grant(Role.GLOBAL_READ_ONLY),
            org(Role.ORG_OWNER, other),
            org(Role.ORG_MEMBER, project),
            group(Role.GROUP_OWNER, sibling),
        }
        user = make_user(*outside, group(Role.GROUP_OWNER, project))
        admin = client(group(Role.GROUP_USER_ADMIN, project))
        answer = self.patch(admin, user, group(Role.GROUP_READ_ONLY, project))
        assert answer.status_code == 200
        assert held(user) == outside | {group(Role.GROUP_READ_ONLY, project)}
        assert self.patch(admin, user, org(Role.ORG_MEMBER, project)).status_code == 200
        assert held(user) == outside
        assert self.patch(client(org(Role.ORG_OWNER, project)), user).status_code == 200
        assert held(user) == {Grant(Role.GLOBAL_READ_ONLY), org(Role.ORG_OWNER, other)}
        assert self.patch(client(Grant(Role.GLOBAL_USER_ADMIN)), user).status_code == 200
        assert held(user) == {Grant(Role.GLOBAL_READ_ONLY)}

    def test_an_administrator_of_a_scope_can_invite_an_invisible_user(
        self, project: Project, other: Project
    ) -> None:
        user = make_user(org(Role.ORG_OWNER, other))
        admin = client(group(Role.GROUP_OWNER, project))
        assert refusal(admin.get(f"/users/{user.id}")) == (404, "USER_NOT_FOUND")
        answer = self.patch(admin, user, group(Role.GROUP_READ_ONLY, project))
        assert (answer.status_code, answer.json()["roles"]) == (
            200,
            wire(group(Role.GROUP_READ_ONLY, project)),
        )
        assert admin.get(f"/users/{user.id}").json() == answer.json()
        assert org(Role.ORG_OWNER, other) in held(user)

    @each("is_stored", [True, False])
    def test_a_role_that_the_caller_is_not_shown_cannot_be_probed(
        self, project: Project, other: Project, is_stored: bool
    ) -> None:
        there = group(Role.GROUP_OWNER, other)
        user = make_user(*([there] if is_stored else []))
        answer = self.patch(client(org(Role.ORG_OWNER, project)), user, there)
        assert refusal(answer) == (403, "USER_UNAUTHORIZED")
        assert held(user) == ({there} if is_stored else set())

    def test_refused_role_changes(self, project: Project, sibling: Project) -> None:
        project_admin = client(group(Role.GROUP_USER_ADMIN, project))
        org_owner, user_admin = client(org(Role.ORG_OWNER, project)), client(Grant(Role.GLOBAL_USER_ADMIN))
        nowhere = Grant(Role.GROUP_READ_ONLY, group_id=NOTHING)
        table = [
            (project_admin, group(Role.GROUP_OWNER, project), (403, "ROLE_NOT_HELD")),
            (project_admin, group(Role.GROUP_READ_ONLY, sibling), (403, "USER_UNAUTHORIZED")),
            (project_admin, org(Role.ORG_MEMBER, project), (403, "USER_UNAUTHORIZED")),
            (project_admin, nowhere, (403, "USER_UNAUTHORIZED")),
            (org_owner, nowhere, (403, "USER_UNAUTHORIZED")),
            (org_owner, Grant(Role.GLOBAL_READ_ONLY), (403, "CANNOT_ADD_GLOBAL_ROLE")),
            (user_admin, Grant(Role.GLOBAL_READ_ONLY), (403, "CANNOT_ADD_GLOBAL_ROLE")),
            (user_admin, org(Role.ORG_OWNER, project), (403, "ROLE_NOT_HELD")),
            (user_admin, Grant(Role.GROUP_OWNER, group_id=NOTHING), (403, "ROLE_NOT_HELD")),
            (user_admin, nowhere, (400, "INVALID_ATTRIBUTE")),
        ]
        user, before = make_user(), Event.objects.count()
        for caller, wanted, expected in table:
            assert refusal(self.patch(caller, user, wanted)) == expected, wanted
        assert (held(user), Event.objects.count()) == (set(), before)

    def test_a_caller_can_write_back_roles_they_lack(self, project: Project) -> None:
        user = make_user(group(Role.GROUP_OWNER, project))
        wanted = [group(Role.GROUP_OWNER, project), group(Role.GROUP_READ_ONLY, project)]
        assert self.patch(client(group(Role.GROUP_USER_ADMIN, project)), user, *wanted).status_code == 200
        assert held(user) == set(wanted)

    def test_each_scope_records_its_own_roles(
        self, owner: ApiClient, project: Project, sibling: Project
    ) -> None:
        user = make_user(
            Grant(Role.GLOBAL_READ_ONLY),
            group(Role.GROUP_OWNER, project),
            org(Role.ORG_MEMBER, project),
            username="ada",
        )
        before = Event.objects.count()
        wanted = (
            group(Role.GROUP_READ_ONLY, project),
            group(Role.GROUP_READ_ONLY, sibling),
            Grant(Role.GLOBAL_OWNER),
        )
        assert self.patch(owner, user, *wanted).status_code == 200
        events = since(before)
        assert recorded(events) == [
            ("USER_ROLES_CHANGED_AUDIT", None, None),
            ("USER_ROLES_CHANGED_AUDIT", project.id, None),
            ("USER_ROLES_CHANGED_AUDIT", None, project.org_id),
            ("REMOVED_FROM_ORG_AUDIT", None, project.org_id),
            ("USER_ROLES_CHANGED_AUDIT", sibling.id, None),
            ("JOINED_GROUP", sibling.id, None),
            ("INVITED_TO_GROUP", sibling.id, None),
        ]
        assert [[diff["status"] for diff in event.diffs] for event in events] == [
            ["MODIFIED"],
            ["MODIFIED"],
            ["REMOVED"],
            ["REMOVED"],
            ["NEW"],
            ["NEW"],
            ["NEW"],
        ]
        assert all(event.details["targetUsername"] == "ada" for event in events)
        param = {
            "param": "roles",
            "display": "roles",
            "old": f'[{{"roleName":"GROUP_OWNER","groupId":"{project.id}"}}]',
            "new": f'[{{"roleName":"GROUP_READ_ONLY","groupId":"{project.id}"}}]',
        }
        assert events[1].diffs == [{"id": user.id, "type": "ROLES", "status": "MODIFIED", "params": [param]}]

    @each("logged_in", [True, False])
    def test_a_role_for_a_user_who_never_logged_in_is_an_invitation(
        self, owner: ApiClient, project: Project, logged_in: bool
    ) -> None:
        user = make_user(group(Role.GROUP_READ_ONLY, ProjectFactory.create()))
        User.objects.filter(id=user.id).update(last_login=clock.now() if logged_in else None)
        for role in (Role.GROUP_READ_ONLY, Role.GROUP_OWNER):
            assert self.patch(owner, user, group(role, project)).status_code == 200
        invited = Event.objects.filter(event_type="INVITED_TO_GROUP", group_id=project.id)
        assert invited.count() == (0 if logged_in else 1)

    def test_revoking_the_last_role_in_a_project_is_recorded_as_leaving(
        self, owner: ApiClient, project: Project
    ) -> None:
        user, before = make_user(group(Role.GROUP_OWNER, project)), Event.objects.count()
        assert self.patch(owner, user).json()["roles"] == []
        assert recorded(since(before)) == [
            ("USER_ROLES_CHANGED_AUDIT", project.id, None),
            ("REMOVED_FROM_GROUP", project.id, None),
        ]

    def test_the_last_global_owner_stays(self, owner: ApiClient) -> None:
        user = make_user(Grant(Role.GLOBAL_OWNER))
        answer = self.patch(owner, user, Grant(Role.GLOBAL_READ_ONLY))
        assert refusal(answer) == (403, "CANNOT_DEMOTE_LAST_OWNER")
        make_user(Grant(Role.GLOBAL_OWNER))
        assert self.patch(owner, user, Grant(Role.GLOBAL_READ_ONLY)).status_code == 200
        assert held(user) == {Grant(Role.GLOBAL_READ_ONLY)}


@pytest.fixture
def operator(db: None) -> tuple[User, Actor]:
    """A Global owner as an actor of the console; another Global owner exists."""
    make_user(Grant(Role.GLOBAL_OWNER))
    user = make_user(Grant(Role.GLOBAL_OWNER))
    return user, Actor(ActorKind.USER, user.id, user.username, True)


def test_a_user_cannot_change_their_own_roles(operator: tuple[User, Actor]) -> None:
    user, actor = operator
    by = [Grant(Role.GLOBAL_OWNER)]
    more = RoleRequest(asked_roles(wire(*by, Grant(Role.GLOBAL_READ_ONLY))), INSTALLATION, by)
    with pytest.raises(ApiError) as refused:
        user_roles_replace(user_id=user.id, roles=more, seen_in=EVERYTHING, actor=actor, now=clock.now())
    assert refused.value.code == "CANNOT_CHANGE_OWN_ROLES"
    with pytest.raises(ApiError) as refused:
        user_delete(user_id=user.id, by=by, actor=actor, now=clock.now())
    assert refused.value.code == "CANNOT_CHANGE_OWN_ROLES"
    assert held(user) == set(by)


def test_own_roles_can_be_written_back_unchanged(operator: tuple[User, Actor]) -> None:
    user, actor = operator
    by = [Grant(Role.GLOBAL_OWNER)]
    same = RoleRequest(asked_roles(wire(*by)), INSTALLATION, by)
    user_roles_replace(user_id=user.id, roles=same, seen_in=EVERYTHING, actor=actor, now=clock.now())
    assert held(user) == set(by)
    assert not Event.objects.exists()


@pytest.mark.slow
@each(
    "body",
    [
        "no JSON",
        {},
        {"roles": "GROUP_OWNER"},
        {"roles": [], "firstName": "Ada"},
        {"roles": [{"roleName": "GROUP_OWNER"}]},
        {"roles": [{"roleName": "GLOBAL_OWNER"}]},
        {"roles": [{"roleName": "ORG_OWNER", "orgId": NOTHING}]},
        {"roles": [{"roleName": "GROUP_OWNER", "groupId": NOTHING}]},
        {"roles": []},
    ],
)
def test_an_unknown_id_gets_the_same_answer_as_an_invisible_user(project: Project, body: Any) -> None:
    stranger, caller = make_user(username="stranger"), client(group(Role.GROUP_OWNER, project))
    answers = [caller.patch(f"/users/{user_id}", body) for user_id in (stranger.id, NOTHING)]
    recorded = [
        (answer.status_code, answer.content.decode().replace(user_id, "ID"))
        for answer, user_id in zip(answers, (stranger.id, NOTHING), strict=True)
    ]
    assert recorded[0] == recorded[1]
    assert held(stranger) == set()
