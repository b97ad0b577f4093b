"""Users: who can see them, and who can create them."""

from typing import Any
from urllib.parse import quote

import pytest
from pytest_django import Settings

from accesslist.models import Project, User
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.recipients import client, fields, group, held, make_user, org, recorded, refusal, since, wire
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_team

NOTHING = "f" * 24
pytestmark = pytest.mark.django_db


def names(document: dict[str, Any]) -> list[str]:
    """Who is in a list."""
    return [row["username"] for row in document["results"]]


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


class TestSeeing:
    """`GET /users`, `/users/{id}`, `/users/byName/{name}`."""

    @pytest.fixture(autouse=True)
    def _people(self, project: Project, sibling: Project, other: Project) -> None:
        self.project, self.sibling, self.other = project, sibling, other
        self.people = {
            "in org": make_user(org(Role.ORG_MEMBER, project), username="in org"),
            "in group": make_user(group(Role.GROUP_OWNER, project), username="in group"),
            "in sibling": make_user(group(Role.GROUP_READ_ONLY, sibling), username="in sibling"),
            "by team": make_user(username="by team"),
            "elsewhere": make_user(org(Role.ORG_OWNER, other), username="elsewhere"),
            "global": make_user(Grant(Role.GLOBAL_OWNER), username="global"),
            "nowhere": make_user(username="nowhere"),
        }
        make_team(project, self.people["by team"])

    INSIDE = ["in org", "in group", "in sibling", "by team"]

    def callers(self) -> list[tuple[ApiClient, list[str]]]:
        """Each caller, with the users that it sees."""
        everybody = [*self.INSIDE, "elsewhere", "global", "nowhere"]
        inside = [
            org(Role.ORG_MEMBER, self.project),
            org(Role.ORG_OWNER, self.project),
            group(Role.GROUP_READ_ONLY, self.project),
            group(Role.GROUP_DATA_ACCESS_READ_ONLY, self.sibling),
        ]
        both = (group(Role.GROUP_READ_ONLY, self.project), org(Role.ORG_MEMBER, self.other))
        return [
            *[(client(grant), self.INSIDE) for grant in inside],
            (client(Grant(Role.GLOBAL_READ_ONLY)), everybody),
            (client(Grant(Role.GLOBAL_BACKUP_ADMIN)), everybody),
            (client(org(Role.ORG_MEMBER, self.other)), ["elsewhere"]),
            (client(*both), [*self.INSIDE, "elsewhere"]),
            (client(group(Role.GROUP_AGENT, self.project)), []),
            (client(), []),
        ]

    @pytest.mark.slow
    def test_users_who_share_an_organization_are_visible(self) -> None:
        for caller, seen in self.callers():
            assert names(caller.get("/users").json()) == seen
            for name, user in self.people.items():
                by_id, by_name = caller.get(f"/users/{user.id}"), caller.get(f"/users/byName/{quote(name)}")
                if name in seen:
                    assert by_id.json() == by_name.json()
                    assert by_id.json()["username"] == name
                else:
                    assert refusal(by_id) == (404, "USER_NOT_FOUND")
                    assert refusal(by_name) == (404, "USERNAME_NOT_FOUND")

    def test_only_roles_in_shared_organizations_are_visible(self) -> None:
        here, there = group(Role.GROUP_OWNER, self.sibling), org(Role.ORG_OWNER, self.other)
        user = make_user(Grant(Role.GLOBAL_READ_ONLY), there, here, username="everywhere")
        teams = [make_team(project, user).id for project in (self.other, self.project)]
        shown = client(org(Role.ORG_MEMBER, self.project)).get(f"/users/{user.id}").json()
        assert (shown["roles"], shown["teamIds"]) == (wire(here), teams[1:])
        shown = client(Grant(Role.GLOBAL_READ_ONLY)).get(f"/users/{user.id}").json()
        assert (shown["roles"], shown["teamIds"]) == (wire(Grant(Role.GLOBAL_READ_ONLY), there, here), teams)

    def test_a_reader_of_a_project_sees_no_role_and_no_team_of_its_siblings(self) -> None:
        here, there = group(Role.GROUP_READ_ONLY, self.project), group(Role.GROUP_OWNER, self.sibling)
        above = org(Role.ORG_MEMBER, self.project)
        user = make_user(here, there, above, username="both")
        teams = [make_team(project, user).id for project in (self.sibling, self.project)]
        reader = client(group(Role.GROUP_READ_ONLY, self.project))
        for path in (f"/users/{user.id}", "/users/byName/both"):
            shown = reader.get(path).json()
            assert (shown["roles"], shown["teamIds"]) == (wire(here, above), teams[1:])
        for path in ("/users", f"/groups/{self.project.id}/users"):
            listed = {row["username"]: row for row in reader.get(path).json()["results"]}
            assert (listed["both"]["roles"], listed["both"]["teamIds"]) == (wire(here, above), teams[1:])
        assert reader.get(f"/users/{self.people['in sibling'].id}").json()["roles"] == []

    def test_a_role_in_a_sibling_that_is_not_shown_cannot_be_guessed(self) -> None:
        here, there = group(Role.GROUP_READ_ONLY, self.project), group(Role.GROUP_OWNER, self.sibling)
        holder, other = make_user(here, there), make_user(here)
        owner = client(group(Role.GROUP_OWNER, self.project))
        for user in (holder, other):
            answer = owner.patch(f"/users/{user.id}", {"roles": wire(here, there)})
            assert refusal(answer) == (403, "USER_UNAUTHORIZED")
            assert owner.patch(f"/users/{user.id}", owner.get(f"/users/{user.id}").json()).status_code == 200
        assert held(holder) == {here, there}

    def test_contact_data_is_visible_to_administrators_of_the_user(self) -> None:
        contact = {"email_address": "ada@example.com", "mobile_number": "+12025550100"}
        user = make_user(group(Role.GROUP_READ_ONLY, self.project), username="ada", **contact)
        in_team = make_user(username="bob", **contact)
        make_team(self.project, in_team)
        administrators = [
            group(Role.GROUP_OWNER, self.project),
            group(Role.GROUP_USER_ADMIN, self.project),
            org(Role.ORG_OWNER, self.project),
            Grant(Role.GLOBAL_USER_ADMIN),
            Grant(Role.GLOBAL_OWNER),
        ]
        others = [
            group(Role.GROUP_READ_ONLY, self.project),
            group(Role.GROUP_MONITORING_ADMIN, self.project),
            group(Role.GROUP_OWNER, self.sibling),
            org(Role.ORG_READ_ONLY, self.project),
            Grant(Role.GLOBAL_READ_ONLY),
            Grant(Role.GLOBAL_MONITORING_ADMIN),
        ]
        for grant in (*administrators, *others):
            for user_shown in (user, in_team):
                shown = client(grant).get(f"/users/{user_shown.id}").json()
                seen = {shown.get("emailAddress"), shown.get("mobileNumber")}
                assert seen == (set(contact.values()) if grant in administrators else {None}), grant

    def test_an_address_that_is_the_name_is_shown_to_all(self) -> None:
        name = "eve@example.com"
        user = make_user(group(Role.GROUP_OWNER, self.project), username=name, email_address=name)
        shown = client(group(Role.GROUP_READ_ONLY, self.project)).get(f"/users/{user.id}").json()
        assert shown["emailAddress"] == name

    def test_an_organization_lists_users_with_a_role_in_it_or_in_its_projects(self) -> None:
        reader = client(org(Role.ORG_MEMBER, self.project))
        assert names(reader.get(f"/orgs/{self.project.org_id}/users").json()) == self.INSIDE

    def test_a_project_lists_users_with_a_role_in_it(self) -> None:
        reader = client(group(Role.GROUP_READ_ONLY, self.project))
        listed = reader.get(f"/groups/{self.project.id}/users").json()
        assert names(listed) == ["in group", "by team"]
        assert listed["results"][0]["roles"] == wire(group(Role.GROUP_OWNER, self.project))


@each(
    ("name", "asked"),
    [
        ("Ada@Example.com", "ada@example.COM"),
        ("Straße", "STRASSE"),
        ("ﬁona", "FIONA"),
        ("DOMAIN\\ada", "domain\\ADA"),
        ("a/b c?d#e%41", "A/b C?d#e%41"),
        ("寿司 🍣", "寿司 🍣"),
        ("byName", "byname"),
        ("users/", "users/"),
        ("..", ".."),
    ],
)
def test_a_name_is_found_however_it_is_typed(owner: ApiClient, name: str, asked: str) -> None:
    made = owner.post("/users", bodies.user(username=name))
    assert made.status_code == 201
    assert owner.get(f"/users/byName/{quote(asked, safe='')}").json() == made.json()


class TestMaking:
    """`POST /users`."""

    def test_a_user_is_created_with_roles_and_their_scopes(self, owner: ApiClient, project: Project) -> None:
        roles = wire(
            Grant(Role.GLOBAL_READ_ONLY), org(Role.ORG_MEMBER, project), group(Role.GROUP_OWNER, project)
        )
        before = Event.objects.count()
        made = owner.post("/users", bodies.user(roles=roles, mobileNumber="+12025550100"))
        assert made.status_code == 201
        document = made.json()
        assert document["roles"] == roles
        assert "password" not in document
        assert owner.get(f"/users/{document['id']}").json() == document
        events = since(before)
        assert recorded(events) == [
            ("USER_CREATED_AUDIT", None, None),
            ("USER_ROLES_CHANGED_AUDIT", None, project.org_id),
            ("JOINED_ORG", None, project.org_id),
            ("USER_ROLES_CHANGED_AUDIT", project.id, None),
            ("JOINED_GROUP", project.id, None),
            ("INVITED_TO_GROUP", project.id, None),
        ]
        assert {event.details["targetUsername"] for event in events} == {"ada@example.com"}
        assert [(diff["type"], diff["status"], diff["id"]) for diff in events[0].diffs] == [
            ("USERS", "NEW", document["id"])
        ]
        (joined,) = events[4].diffs
        assert (joined["type"], joined["status"]) == ("ROLES", "NEW")
        assert project.id in joined["params"][0]["new"]
        assert str(project.org_id) not in str(joined)

    def test_roles_may_be_left_out(self, owner: ApiClient) -> None:
        assert owner.post("/users", bodies.user()).json()["roles"] == []

    @each(
        ("role", "status", "code"),
        [
            ({"roleName": "GROUP_READ_ONLY"}, 400, "ROLE_NEEDS_GROUP_ID"),
            ({"roleName": "ORG_MEMBER"}, 400, "ROLE_NEEDS_ORG_ID"),
            ({"roleName": "GLOBAL_READ_ONLY", "groupId": NOTHING}, 400, "ROLE_NEEDS_NO_GROUP_ID"),
            ({"roleName": "GROUP_KING"}, 400, "INVALID_ENUM_VALUE"),
            ({"roleName": "GROUP_READ_ONLY", "groupId": NOTHING}, 400, "INVALID_ATTRIBUTE"),
            ({"roleName": "ORG_MEMBER", "orgId": NOTHING}, 400, "INVALID_ATTRIBUTE"),
            ({"roleName": "GROUP_OWNER", "groupId": NOTHING}, 403, "ROLE_NOT_HELD"),
            ({"roleName": "ORG_OWNER", "orgId": NOTHING}, 403, "ROLE_NOT_HELD"),
            ({"roleName": "GLOBAL_READ_ONLY"}, 403, "CANNOT_ADD_GLOBAL_ROLE"),
        ],
    )
    def test_a_user_admin_cannot_grant_roles_they_lack(
        self, role: dict[str, str], status: int, code: str
    ) -> None:
        users, events = User.objects.count(), Event.objects.count()
        answer = client(Grant(Role.GLOBAL_USER_ADMIN)).post("/users", bodies.user(roles=[role]))
        assert refusal(answer) == (status, code)
        if status == 400:
            assert answer.json()["badFields"][0]["field"].startswith("roles[0].")
        assert (User.objects.count(), Event.objects.count()) == (users, events)

    @each(
        ("change", "field", "code"),
        [
            ({"username": "a\nb"}, "username", "INVALID_ATTRIBUTE"),
            ({"password": "password"}, "password", "WEAK_PASSWORD"),
            ({"emailAddress": "nobody"}, "emailAddress", "INVALID_EMAIL_ADDRESS"),
            ({"teamIds": ["a" * 24]}, "teamIds", "ATTRIBUTE_READ_ONLY"),
        ],
    )
    def test_a_wrong_field_is_named(
        self, owner: ApiClient, change: dict[str, Any], field: str, code: str
    ) -> None:
        answer = owner.post("/users", bodies.user(**change))
        assert refusal(answer) == (400, code)
        assert fields(answer) == [field]
        assert not User.objects.exists()

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"password": "short", "emailAddress": "x"}, "WEAK_PASSWORD"),
            ({"username": "ada", "password": "short"}, "INVALID_USERNAME"),
            ({"username": 5, "password": "48151623421342"}, "INVALID_ATTRIBUTE"),
            ({"password": "x7", "roles": ["KING"]}, "WEAK_PASSWORD"),
        ],
        ids=["address", "username", "type of the username", "role"],
    )
    def test_an_invalid_password_or_name_is_named_with_another_fault(
        self, owner: ApiClient, settings: Settings, changes: dict[str, Any], code: str
    ) -> None:
        settings.OPSAPI_USERNAME_VALIDATION = "strict"
        answer = owner.post("/users", bodies.user(**changes))
        assert refusal(answer) == (400, code)
        assert [name.partition("[")[0] for name in fields(answer)] == list(changes)
        assert not User.objects.exists()

    def test_a_role_without_its_scope_is_named_with_another_fault(self, owner: ApiClient) -> None:
        roles = [{"roleName": "GROUP_OWNER"}, {"roleName": "ORG_MEMBER", "orgId": NOTHING}, "ORG_MEMBER"]
        answer = owner.post("/users", bodies.user(password="x7", roles=roles))
        assert refusal(answer) == (400, "WEAK_PASSWORD")
        assert fields(answer) == ["password", "roles[0].groupId", "roles[2].orgId"]

    def test_a_used_name_is_409_in_any_case(self, owner: ApiClient) -> None:
        make_user(username="ADA@example.com")
        assert refusal(owner.post("/users", bodies.user())) == (409, "USER_ALREADY_EXISTS")
