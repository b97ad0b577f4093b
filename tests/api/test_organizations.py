"""Organizations: who sees them, renames them, deletes them, and what is deleted with one."""

from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.dispatch import receiver
from django.test.utils import CaptureQueriesContext

from accesslist.hooks import team_deleting
from accesslist.models import ApiKey, Organization, Project, RoleGrant, Team, User
from events.models import Event
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.bodies import ODD_NAMES
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, UserFactory, make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def org(db: None) -> Organization:
    """An organization without projects."""
    made: Organization = OrganizationFactory.create(name="finance")
    return made


def holder(role: Role, org: Organization) -> ApiClient:
    """A key with the role: in the organization, or everywhere."""
    return ApiClient(make_key(Grant(role, org_id=org.id if role.is_org else None)))


def names(answer: Any) -> list[str]:
    """The names in a list."""
    return [row["name"] for row in answer.json()["results"]]


def recorded(event_type: str) -> Event:
    """The only event of the type."""
    return Event.objects.get(event_type=event_type)


def changes(event: Event) -> list[tuple[str, str | None, str | None]]:
    """What the event says of each field: name, old, new."""
    (diff,) = event.diffs
    return [(param["param"], param.get("old"), param.get("new")) for param in diff["params"]]


def test_a_new_organization_can_be_read(owner: ApiClient) -> None:
    made = owner.post("/orgs", bodies.org())
    assert made.status_code == 201
    document = made.json()
    assert set(document) == {"id", "name", "links"}
    assert owner.get(f"/orgs/{document['id']}").json() == document
    assert [link["rel"].rpartition(":")[2] for link in document["links"]] == [
        "self",
        "groups",
        "apiKeys",
        "teams",
        "users",
        "invites",
        "events",
    ]
    event = recorded("ORG_CREATED_AUDIT")
    assert (event.org_id, event.group_id) == (document["id"], None)
    assert changes(event) == [("id", None, document["id"]), ("name", None, "finance")]
    assert event.diffs[0]["status"] == "NEW"


def test_names_need_not_be_unique(owner: ApiClient) -> None:
    made = [owner.post("/orgs", bodies.org()).json()["id"] for _ in range(2)]
    assert [row["id"] for row in owner.get("/orgs").json()["results"]] == made


@each(
    ("change", "field", "code"),
    [
        ({"name": "a\nb"}, "name", "INVALID_ATTRIBUTE"),
        ({"id": "a" * 24}, "id", "ATTRIBUTE_READ_ONLY"),
        ({"more": 1}, "more", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_field_refuses_it(
    owner: ApiClient, org: Organization, change: dict[str, Any], field: str, code: str
) -> None:
    body = bodies.org(**change)
    for answer in (owner.post("/orgs", body), owner.patch(f"/orgs/{org.id}", body)):
        assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
        assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert Organization.objects.get().name == "finance"
    assert not Event.objects.exists()


@each(
    ("role", "reads", "writes", "makes"),
    [
        (Role.GLOBAL_OWNER, True, True, True),
        (Role.GLOBAL_READ_ONLY, True, False, False),
        (Role.GLOBAL_USER_ADMIN, True, False, False),
        (Role.ORG_OWNER, True, True, False),
        (Role.ORG_GROUP_CREATOR, True, False, False),
        (Role.ORG_READ_ONLY, True, False, False),
        (Role.ORG_MEMBER, True, False, False),
    ],
)
def test_roles_that_open_each_action(
    org: Organization, role: Role, reads: bool, writes: bool, makes: bool
) -> None:
    caller = holder(role, org)
    path = f"/orgs/{org.id}"
    asked = {
        "list": len(caller.get("/orgs").json()["results"]) == 1,
        "one": caller.get(path).status_code == 200,
        "name": caller.get("/orgs/byName/finance").status_code == 200,
        "groups": caller.get(f"{path}/groups").status_code == 200,
    }
    assert asked == dict.fromkeys(asked, reads)
    assert (caller.post("/orgs", bodies.org()).status_code == 201) is makes
    assert (caller.patch(path, {"name": "treasury"}).status_code == 200) is writes
    assert (caller.delete(path).status_code == 204) is writes
    assert Organization.objects.filter(id=org.id).exists() is not writes


def test_a_key_sees_the_organizations_it_is_a_member_of(org: Organization, owner: ApiClient) -> None:
    other = OrganizationFactory.create(name="other")
    project = ProjectFactory.create(org=other)
    member = ApiClient(
        make_key(Grant(Role.ORG_MEMBER, org_id=org.id), Grant(Role.GROUP_OWNER, group_id=project.id))
    )
    assert names(member.get("/orgs")) == ["finance"]
    assert names(owner.get("/orgs")) == ["finance", "other"]
    assert names(ApiClient(make_key()).get("/orgs")) == []
    unseen = member.get(f"/orgs/{other.id}"), member.get(f"/orgs/{new_id()}")
    assert [answer.json()["errorCode"] for answer in unseen] == ["USER_UNAUTHORIZED"] * 2
    assert unseen[0].content == unseen[1].content
    assert member.get("/orgs/byName/other").json()["errorCode"] == "ORG_NAME_NOT_FOUND"


@each("name", ODD_NAMES)
@each("safe", ["", "/"])
def test_an_organization_is_found_by_any_name(owner: ApiClient, name: str, safe: str) -> None:
    made = owner.post("/orgs", bodies.org(name=name)).json()
    sent = quote(name, safe=safe)
    if safe and name.endswith("/"):
        sent += "/"  # one slash at the end of a path counts for nothing
    found = owner.get(f"/orgs/byName/{sent}")
    assert (found.status_code, found.json()) == (200, made)


def test_of_several_of_a_name_the_oldest_that_is_visible_is_found(owner: ApiClient) -> None:
    first, second = (OrganizationFactory.create(name="twin") for _ in range(2))
    member = ApiClient(make_key(Grant(Role.ORG_MEMBER, org_id=second.id)))
    assert owner.get("/orgs/byName/twin").json()["id"] == first.id
    assert member.get("/orgs/byName/twin").json()["id"] == second.id
    assert owner.get("/orgs/byName/Twin").json()["parameters"] == ["Twin"]


def test_a_rename_records_the_old_and_the_new_name(owner: ApiClient, org: Organization) -> None:
    answer = owner.patch(f"/orgs/{org.id}", {"name": "treasury"})
    assert (answer.status_code, answer.json()["name"]) == (200, "treasury")
    event = recorded("ORG_RENAMED")
    assert (event.org_id, changes(event)) == (org.id, [("name", "finance", "treasury")])
    assert event.diffs[0]["status"] == "MODIFIED"


def test_an_unchanged_document_can_be_written_back(owner: ApiClient, org: Organization) -> None:
    document = owner.get(f"/orgs/{org.id}").json()
    answer = owner.patch(f"/orgs/{org.id}", document)
    assert (answer.status_code, answer.json()) == (200, document)
    assert not Event.objects.exists()


def test_an_organization_lists_the_projects_that_the_caller_can_read(
    owner: ApiClient, org: Organization
) -> None:
    first, second = (ProjectFactory.create(org=org, name=name) for name in ("one", "two"))
    ProjectFactory.create(name="elsewhere")
    member = Grant(Role.ORG_MEMBER, org_id=org.id)
    path = f"/orgs/{org.id}/groups"
    assert names(owner.get(path)) == names(holder(Role.ORG_READ_ONLY, org).get(path)) == ["one", "two"]
    assert names(holder(Role.ORG_MEMBER, org).get(path)) == []
    reader = ApiClient(make_key(member, Grant(Role.GROUP_READ_ONLY, group_id=second.id)))
    assert names(reader.get(path)) == ["two"]
    assert owner.get(path).json()["results"][0] == owner.get("/groups").json()["results"][0]
    assert first.org == org


def test_an_organization_with_projects_stays(owner: ApiClient, org: Organization) -> None:
    for _ in range(2):
        ProjectFactory.create(org=org)
    answer = owner.delete(f"/orgs/{org.id}")
    assert (answer.status_code, answer.json()["errorCode"]) == (409, "ORG_NOT_EMPTY")
    assert answer.json()["parameters"] == [org.id, "2"]
    assert Organization.objects.filter(id=org.id).exists()
    assert not Event.objects.exists()


def test_an_organization_goes_when_its_projects_are_deleted(owner: ApiClient, org: Organization) -> None:
    project: Project = ProjectFactory.create(org=org)
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    assert owner.delete(f"/orgs/{org.id}").status_code == 204
    assert owner.get(f"/orgs/{org.id}").json()["errorCode"] == "ORG_NOT_FOUND"
    event = recorded("ORG_DELETED_AUDIT")
    assert (event.org_id, event.diffs[0]["status"]) == (org.id, "REMOVED")


def test_the_roles_in_it_go_with_it_and_keys_without_any_left(owner: ApiClient, org: Organization) -> None:
    project = ProjectFactory.create()
    ended = make_key(Grant(Role.ORG_OWNER, org_id=org.id), Grant(Role.ORG_MEMBER, org_id=org.id))
    stays = make_key(
        Grant(Role.ORG_READ_ONLY, org_id=org.id), Grant(Role.GROUP_READ_ONLY, group_id=project.id)
    )
    user: User = UserFactory.create()
    user.grants.create(role=Role.ORG_OWNER.value, org=org)
    team = Team.objects.create(org=org, name="on call", created=org.created)
    team.members.add(user)
    assert owner.delete(f"/orgs/{org.id}").status_code == 204
    assert not RoleGrant.objects.filter(org_id=org.id).exists()
    assert ApiClient(ended).get("/orgs").status_code == 401
    assert ApiClient(stays).get(f"/groups/{project.id}").status_code == 200
    assert set(ApiKey.objects.values_list("id", flat=True)) == {stays.id, owner.key and owner.key.id}
    assert User.objects.filter(id=user.id).exists()
    assert not Team.objects.exists()
    assert recorded("TEAM_DELETED").org_id == org.id
    event = recorded("API_KEY_DELETED_AUDIT")
    assert (event.org_id, event.details["targetPublicKey"]) == (org.id, ended.public_key)
    changed = recorded("API_KEY_CHANGED_AUDIT")
    assert (changed.org_id, changed.details["targetPublicKey"]) == (org.id, stays.public_key)


def test_its_teams_cost_no_statement_each_and_others_hear_of_each(owner: ApiClient) -> None:
    heard: list[str] = []

    @receiver(team_deleting)
    def hear(team: Team, **_: Any) -> None:
        heard.append(team.name)

    def statements(teams: int) -> int:
        gone: Organization = OrganizationFactory.create()
        names = [f"{number} of {teams}" for number in range(teams)]
        Team.objects.bulk_create(Team(org=gone, name=name, created=gone.created) for name in names)
        heard.clear()
        with CaptureQueriesContext(connection) as asked:
            assert owner.delete(f"/orgs/{gone.id}").status_code == 204
        assert heard == names
        assert Event.objects.filter(event_type="TEAM_DELETED", org_id=gone.id).count() == teams
        return len(asked)

    few, many = statements(2), statements(9)
    team_deleting.disconnect(hear)
    assert many == few
    assert not Team.objects.exists()
