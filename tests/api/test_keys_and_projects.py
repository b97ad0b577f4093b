"""Projects: who may create them, and what is refused."""

from typing import Any

import pytest

from accesslist.models import Organization, Project, RoleGrant
from events.models import Event
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, make_key

OTHER = "a" * 24
pytestmark = pytest.mark.django_db


def test_a_project_without_an_organization_gets_an_organization_of_its_name(owner: ApiClient) -> None:
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
    assert [row["id"] for row in caller.get("/groups").json()["results"]] == [made["id"]]


@each(
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
def test_the_role_decides_where_a_project_can_be_created(
    db: None, role: Role, with_org: bool, status: int
) -> None:
    org = OrganizationFactory.create()
    caller = ApiClient(make_key(Grant(role, org_id=org.id if role.is_org else None)))
    answer = caller.post("/groups", bodies.group(orgId=org.id if with_org else None))
    assert answer.status_code == status
    assert status == 201 or answer.json()["errorCode"] == "USER_UNAUTHORIZED"
    assert Project.objects.exists() is (status == 201)


def test_callers_who_cannot_create_projects_are_refused_before_the_body(reader: ApiClient) -> None:
    answer = reader.request("POST", "/groups?pretty=x", b"nonsense", content_type="text/plain")
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "USER_UNAUTHORIZED")


def test_an_owner_of_another_organization_cannot_create_a_project(db: None) -> None:
    here, there = OrganizationFactory.create(), OrganizationFactory.create()
    caller = ApiClient(make_key(Grant(Role.ORG_OWNER, org_id=there.id)))
    answers = [caller.post("/groups", bodies.group(orgId=org_id)) for org_id in (here.id, new_id())]
    assert [answer.json()["errorCode"] for answer in answers] == ["USER_UNAUTHORIZED"] * 2
    assert answers[0].content == answers[1].content


def test_an_unknown_organization_is_not_found(owner: ApiClient) -> None:
    answer = owner.post("/groups", bodies.group(orgId=OTHER))
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "ORG_NOT_FOUND")


def test_a_used_project_name_is_refused_and_creates_nothing(owner: ApiClient) -> None:
    owner.post("/groups", bodies.group())
    events = Event.objects.count()
    answer = owner.post("/groups", bodies.group())
    assert (answer.status_code, answer.json()["errorCode"]) == (409, "GROUP_ALREADY_EXISTS")
    assert answer.json()["parameters"] == ["payments"]
    assert (Organization.objects.count(), Project.objects.count(), Event.objects.count()) == (1, 1, events)


@each(
    ("change", "field", "code"),
    [
        ({"orgId": "x"}, "orgId", "INVALID_ATTRIBUTE"),
        ({"tags": ["a", "a"]}, "tags[1]", "INVALID_ATTRIBUTE"),
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


@each(
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
    first = ProjectFactory.create(name="one", org=org)
    ProjectFactory.create(name="two", org=org)
    ProjectFactory.create(name="elsewhere")
    grant = Grant(
        role, org_id=org.id if scope == "org" else None, group_id=first.id if scope == "group" else None
    )
    document = ApiClient(make_key(grant)).get("/groups").json()
    assert {found["name"] for found in document["results"]} == seen
    assert document["totalCount"] == len(seen)
