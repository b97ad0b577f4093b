"""Projects and their keys: who may make what, and what is refused (decisions 2, 3)."""

import re
from typing import Any

import pytest

from accesslist.models import ApiKey, Organization, Project, RoleGrant
from events.models import Event
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import Key, OrganizationFactory, ProjectFactory, make_key

OTHER = "a" * 24
pytestmark = pytest.mark.django_db


def as_client(made: dict[str, Any]) -> ApiClient:
    """The client of a key as the answer that made it shows it."""
    return ApiClient(Key(made["id"], made["publicKey"], made["privateKey"]))


@pytest.fixture
def keys(project: Project) -> str:
    """Where the project's keys are."""
    return f"/groups/{project.id}/apiKeys"


def test_a_key_is_shown_in_full_once(admin: ApiClient, keys: str, project: Project) -> None:
    made = admin.post(keys, bodies.api_key())
    assert made.status_code == 201
    document = made.json()
    assert re.fullmatch("[a-z0-9]{6}", document["publicKey"])
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", document["privateKey"])
    assert document["roles"] == [{"roleName": "GROUP_READ_ONLY", "groupId": project.id}]
    redacted = {**document, "privateKey": "******" + document["privateKey"][-4:]}
    assert admin.get(f"{keys}/{document['id']}").json() == redacted
    assert as_client(document).get(f"/groups/{project.id}").status_code == 200


@pytest.mark.parametrize(
    "roles",
    [
        ["GROUP_READ_ONLY", "GROUP_AGENT"],
        [{"roleName": "GROUP_READ_ONLY"}, {"roleName": "GROUP_AGENT"}],
        ["GROUP_AGENT", {"roleName": "GROUP_READ_ONLY"}, "GROUP_AGENT"],
    ],
)
def test_a_role_is_a_string_or_an_object(admin: ApiClient, keys: str, roles: list[Any]) -> None:
    made = admin.post(keys, bodies.api_key(roles=roles)).json()
    assert sorted(role["roleName"] for role in made["roles"]) == ["GROUP_AGENT", "GROUP_READ_ONLY"]


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"desc": None}, "desc", "MISSING_ATTRIBUTE"),
        ({"desc": ""}, "desc", "INVALID_ATTRIBUTE"),
        ({"desc": "x" * 251}, "desc", "INVALID_ATTRIBUTE"),
        ({"roles": None}, "roles", "MISSING_ATTRIBUTE"),
        ({"roles": []}, "roles", "MISSING_ATTRIBUTE"),
        ({"roles": "GROUP_OWNER"}, "roles", "INVALID_ATTRIBUTE"),
        ({"roles": [5]}, "roles[0]", "INVALID_ATTRIBUTE"),
        ({"roles": ["GROUP_KING"]}, "roles[0].roleName", "INVALID_ENUM_VALUE"),
        ({"roles": [{}]}, "roles[0].roleName", "MISSING_ATTRIBUTE"),
        ({"roles": [{"roleName": "GROUP_OWNER", "more": 1}]}, "roles[0].more", "INVALID_ATTRIBUTE"),
        ({"roles": ["GROUP_READ_ONLY", "ORG_MEMBER"]}, "roles[1].roleName", "ROLE_NEEDS_NO_GROUP_ID"),
        ({"roles": ["GLOBAL_READ_ONLY"]}, "roles[0].roleName", "ROLE_NEEDS_NO_GROUP_ID"),
        ({"roles": [{"roleName": "GROUP_OWNER", "groupId": OTHER}]}, "roles[0].groupId", "INVALID_ATTRIBUTE"),
        ({"roles": [{"roleName": "GROUP_OWNER", "orgId": OTHER}]}, "roles[0].orgId", "INVALID_ATTRIBUTE"),
        ({"roles": [{"roleName": "GROUP_OWNER", "groupId": "x"}]}, "roles[0].groupId", "INVALID_ATTRIBUTE"),
        ({"publicKey": "abcdef"}, "publicKey", "ATTRIBUTE_READ_ONLY"),
        ({"privateKey": "x"}, "privateKey", "ATTRIBUTE_READ_ONLY"),
    ],
)
def test_a_wrong_field_refuses_the_key(
    admin: ApiClient, keys: str, change: dict[str, Any], field: str, code: str
) -> None:
    before = ApiKey.objects.count()
    answer = admin.post(keys, bodies.api_key(**change))
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert ApiKey.objects.count() == before


@pytest.mark.parametrize(
    ("held", "wanted", "given"),
    [
        (Role.GROUP_USER_ADMIN, Role.GROUP_USER_ADMIN, True),
        (Role.GROUP_USER_ADMIN, Role.GROUP_READ_ONLY, True),
        (Role.GROUP_USER_ADMIN, Role.GROUP_OWNER, False),
        (Role.GROUP_USER_ADMIN, Role.GROUP_MONITORING_ADMIN, False),
        (Role.GROUP_USER_ADMIN, Role.GROUP_AGENT, False),
        (Role.GROUP_OWNER, Role.GROUP_OWNER, True),
        (Role.GROUP_OWNER, Role.GROUP_AGENT, True),
        (Role.ORG_OWNER, Role.GROUP_OWNER, True),
        (Role.GLOBAL_USER_ADMIN, Role.GROUP_OWNER, False),
        (Role.GLOBAL_OWNER, Role.GROUP_OWNER, True),
    ],
)
def test_nobody_gives_a_role_they_do_not_hold(
    project: Project, keys: str, held: Role, wanted: Role, given: bool
) -> None:
    grant = Grant(
        held,
        org_id=project.org_id if held.is_org else None,
        group_id=project.id if held.is_group else None,
    )
    caller = ApiClient(make_key(grant))
    answer = caller.post(keys, bodies.api_key(roles=[wanted.value, "GROUP_READ_ONLY"]))
    if given:
        assert answer.status_code == 201
    else:
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "ROLE_NOT_HELD")
        assert answer.json()["parameters"] == [wanted.value]
        assert ApiKey.objects.count() == 1


def test_a_project_shows_the_keys_that_hold_a_role_in_it(
    owner: ApiClient, admin: ApiClient, keys: str, project: Project
) -> None:
    elsewhere = make_key(Grant(Role.GROUP_OWNER, group_id=ProjectFactory.create().id))
    in_the_org = make_key(Grant(Role.ORG_OWNER, org_id=project.org_id))
    assert admin.key
    assert owner.key
    assert [one["id"] for one in admin.get(keys).json()["results"]] == [admin.key.id]
    for other in (elsewhere, in_the_org, owner.key):
        assert admin.get(f"{keys}/{other.id}").json()["errorCode"] == "API_KEY_NOT_FOUND"
    every = [one["id"] for one in owner.get("/admin/apiKeys").json()["results"]]
    assert {elsewhere.id, in_the_org.id, owner.key.id, admin.key.id} == set(every)


def test_a_project_without_an_organization_gets_one_of_its_name(owner: ApiClient) -> None:
    made = owner.post("/groups", bodies.group(tags=["prod", "eu"]))
    assert made.status_code == 201
    document = made.json()
    assert Organization.objects.get(id=document["orgId"]).name == "payments"
    assert (document["tags"], document["hostCount"]) == (["prod", "eu"], 0)
    assert owner.get(f"/groups/{document['id']}").json() == document
    assert not RoleGrant.objects.filter(role="GROUP_OWNER").exists()


def test_a_project_in_an_organization_belongs_to_its_maker(db: None) -> None:
    org = OrganizationFactory.create()
    caller = ApiClient(make_key(Grant(Role.ORG_GROUP_CREATOR, org_id=org.id)))
    made = caller.post("/groups", bodies.group(orgId=org.id)).json()
    assert made["orgId"] == org.id
    assert caller.post(f"/groups/{made['id']}/apiKeys", bodies.api_key()).status_code == 201
    assert [one["id"] for one in caller.get("/groups").json()["results"]] == [made["id"]]


@pytest.mark.parametrize(
    ("role", "with_org", "status"),
    [
        (Role.GLOBAL_OWNER, False, 201),
        (Role.GLOBAL_OWNER, True, 201),
        (Role.GLOBAL_READ_ONLY, False, 403),
        (Role.GLOBAL_USER_ADMIN, True, 403),
        (Role.ORG_OWNER, False, 403),
        (Role.ORG_OWNER, True, 201),
        (Role.ORG_GROUP_CREATOR, True, 201),
        (Role.ORG_READ_ONLY, True, 403),
        (Role.ORG_MEMBER, True, 403),
    ],
)
def test_where_a_project_may_be_made_depends_on_the_role(
    db: None, role: Role, with_org: bool, status: int
) -> None:
    org = OrganizationFactory.create()
    caller = ApiClient(make_key(Grant(role, org_id=org.id if role.is_org else None)))
    answer = caller.post("/groups", bodies.group(orgId=org.id if with_org else None))
    assert answer.status_code == status
    assert status == 201 or answer.json()["errorCode"] == "USER_UNAUTHORIZED"
    assert Project.objects.exists() is (status == 201)


def test_who_makes_projects_nowhere_is_refused_before_the_body(reader: ApiClient) -> None:
    answer = reader.request("POST", "/groups?pretty=x", b"nonsense", content_type="text/plain")
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "USER_UNAUTHORIZED")


def test_an_owner_of_another_organization_makes_none_here(db: None) -> None:
    here, there = OrganizationFactory.create(), OrganizationFactory.create()
    caller = ApiClient(make_key(Grant(Role.ORG_OWNER, org_id=there.id)))
    answers = [caller.post("/groups", bodies.group(orgId=org_id)) for org_id in (here.id, new_id())]
    assert [answer.json()["errorCode"] for answer in answers] == ["USER_UNAUTHORIZED"] * 2
    assert answers[0].content == answers[1].content


def test_an_unknown_organization_is_not_found(owner: ApiClient) -> None:
    answer = owner.post("/groups", bodies.group(orgId=OTHER))
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "ORG_NOT_FOUND")


def test_a_project_name_is_taken_once_and_leaves_nothing_behind(owner: ApiClient) -> None:
    owner.post("/groups", bodies.group())
    events = Event.objects.count()
    answer = owner.post("/groups", bodies.group())
    assert (answer.status_code, answer.json()["errorCode"]) == (409, "GROUP_ALREADY_EXISTS")
    assert answer.json()["parameters"] == ["payments"]
    assert (Organization.objects.count(), Project.objects.count(), Event.objects.count()) == (1, 1, events)


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"name": None}, "name", "MISSING_ATTRIBUTE"),
        ({"name": ""}, "name", "INVALID_ATTRIBUTE"),
        ({"name": "x" * 201}, "name", "INVALID_ATTRIBUTE"),
        ({"orgId": "x"}, "orgId", "INVALID_ATTRIBUTE"),
        ({"tags": ["a", "a"]}, "tags", "INVALID_ATTRIBUTE"),
        ({"tags": ["a", ""]}, "tags[1]", "INVALID_ATTRIBUTE"),
        ({"hostCount": 0}, "hostCount", "ATTRIBUTE_READ_ONLY"),
    ],
)
def test_a_wrong_field_refuses_the_project(
    owner: ApiClient, change: dict[str, Any], field: str, code: str
) -> None:
    answer = owner.post("/groups", bodies.group(**change))
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert not Organization.objects.exists()


@pytest.mark.parametrize(
    ("role", "scope", "seen"),
    [
        (Role.GROUP_READ_ONLY, "group", {"one"}),
        (Role.GROUP_AGENT, "group", set()),
        (Role.ORG_READ_ONLY, "org", {"one", "two"}),
        (Role.ORG_MEMBER, "org", set()),
        (Role.GLOBAL_BACKUP_ADMIN, "", {"one", "two", "elsewhere"}),
    ],
)
def test_the_list_shows_the_projects_a_caller_can_read(
    db: None, role: Role, scope: str, seen: set[str]
) -> None:
    org = OrganizationFactory.create()
    one = ProjectFactory.create(name="one", org=org)
    ProjectFactory.create(name="two", org=org)
    ProjectFactory.create(name="elsewhere")
    grant = Grant(
        role, org_id=org.id if scope == "org" else None, group_id=one.id if scope == "group" else None
    )
    document = ApiClient(make_key(grant)).get("/groups").json()
    assert {found["name"] for found in document["results"]} == seen
    assert document["totalCount"] == len(seen)
