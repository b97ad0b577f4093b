"""Keys of a project, an organization and the installation: created and read."""

import re
from typing import Any

import pytest

from accesslist.models import ApiKey, Project, RoleGrant
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, OrganizationFactory, ProjectFactory, make_key

OTHER = "a" * 24
pytestmark = pytest.mark.django_db


def as_client(made: dict[str, Any]) -> ApiClient:
    """A client with the key in the answer that created it."""
    return ApiClient(KeyPair(made["id"], made["publicKey"], made["privateKey"]))


def places_of(project: Project) -> dict[str, str]:
    """Where keys are created, by what the path is about."""
    return {
        "project": f"/groups/{project.id}/apiKeys",
        "organization": f"/orgs/{project.org_id}/apiKeys",
        "installation": "/admin/apiKeys",
    }


def filled(roles: list[Any], project: Project) -> list[Any]:
    """The roles with GROUP and ORG replaced by the ids of the project and its organization."""
    ids = {"GROUP": project.id, "ORG": project.org_id}
    return [
        {name: ids.get(value, value) for name, value in role.items()} if isinstance(role, dict) else role
        for role in roles
    ]


@pytest.fixture
def org_owner(project: Project) -> ApiClient:
    """Organization Owner in the project's organization."""
    return ApiClient(make_key(Grant(Role.ORG_OWNER, org_id=project.org_id)))


@each(
    ("place", "roles", "shown"),
    [
        ("project", ["GROUP_READ_ONLY"], [{"roleName": "GROUP_READ_ONLY", "groupId": "GROUP"}]),
        (
            "project",
            ["GROUP_AGENT", {"roleName": "GROUP_READ_ONLY", "groupId": "GROUP"}, {"roleName": "GROUP_AGENT"}],
            [
                {"roleName": "GROUP_AGENT", "groupId": "GROUP"},
                {"roleName": "GROUP_READ_ONLY", "groupId": "GROUP"},
            ],
        ),
        (
            "organization",
            ["ORG_READ_ONLY", {"roleName": "GROUP_AGENT", "groupId": "GROUP"}],
            [{"roleName": "ORG_READ_ONLY", "orgId": "ORG"}, {"roleName": "GROUP_AGENT", "groupId": "GROUP"}],
        ),
        (
            "organization",
            [{"roleName": "ORG_OWNER", "orgId": "ORG"}, "ORG_OWNER"],
            [{"roleName": "ORG_OWNER", "orgId": "ORG"}],
        ),
        (
            "installation",
            [
                "GLOBAL_READ_ONLY",
                {"roleName": "ORG_MEMBER", "orgId": "ORG"},
                {"roleName": "GROUP_OWNER", "groupId": "GROUP"},
            ],
            [
                {"roleName": "GLOBAL_READ_ONLY"},
                {"roleName": "ORG_MEMBER", "orgId": "ORG"},
                {"roleName": "GROUP_OWNER", "groupId": "GROUP"},
            ],
        ),
    ],
)
def test_a_new_key_has_its_roles_and_is_shown_completely_once(
    owner: ApiClient, project: Project, place: str, roles: list[Any], shown: list[Any]
) -> None:
    keys = places_of(project)[place]
    made = owner.post(keys, bodies.api_key(roles=filled(roles, project)))
    assert made.status_code == 201
    document = made.json()
    assert re.fullmatch("[a-z0-9]{6}", document["publicKey"])
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", document["privateKey"])
    assert document["roles"] == filled(shown, project)
    path = f"http://testserver/api/public/v1.0{keys}/{document['id']}"
    itself = {"href": path, "rel": "self"}
    assert document["links"] == [itself, {"href": f"{path}/accessList", "rel": "urn:opsapi:rel:accessList"}]
    redacted = {**document, "privateKey": "******" + document["privateKey"][-4:]}
    assert owner.get(f"{keys}/{document['id']}").json() == redacted
    assert {**redacted, "links": [itself]} in owner.get(keys).json()["results"]
    assert as_client(document).get("/groups").status_code == 200


@each(
    ("place", "change", "fault"),
    [
        ("project", {"desc": None}, ("desc", "MISSING_ATTRIBUTE")),
        ("project", {"desc": ""}, ("desc", "INVALID_ATTRIBUTE")),
        ("project", {"desc": "x" * 251}, ("desc", "INVALID_ATTRIBUTE")),
        ("project", {"desc": "a\nb"}, ("desc", "INVALID_ATTRIBUTE")),
        ("project", {"roles": None}, ("roles", "MISSING_ATTRIBUTE")),
        ("project", {"roles": []}, ("roles", "MISSING_ATTRIBUTE")),
        ("project", {"roles": "GROUP_OWNER"}, ("roles", "INVALID_ATTRIBUTE")),
        ("project", {"roles": ["GROUP_AGENT"] * 1001}, ("roles", "INVALID_ATTRIBUTE")),
        ("project", {"roles": [5]}, ("roles[0]", "INVALID_ATTRIBUTE")),
        ("project", {"roles": ["GROUP_KING"]}, ("roles[0].roleName", "INVALID_ENUM_VALUE")),
        ("project", {"roles": [{}]}, ("roles[0].roleName", "MISSING_ATTRIBUTE")),
        (
            "project",
            {"roles": [{"roleName": "GROUP_OWNER", "more": 1}]},
            ("roles[0].more", "INVALID_ATTRIBUTE"),
        ),
        (
            "project",
            {"roles": ["GROUP_AGENT", "ORG_MEMBER"]},
            ("roles[1].roleName", "ROLE_NEEDS_NO_GROUP_ID"),
        ),
        ("project", {"roles": ["GLOBAL_READ_ONLY"]}, ("roles[0].roleName", "ROLE_NEEDS_NO_GROUP_ID")),
        (
            "project",
            {"roles": [{"roleName": "GROUP_OWNER", "groupId": OTHER}]},
            ("roles[0].groupId", "INVALID_ATTRIBUTE"),
        ),
        (
            "project",
            {"roles": [{"roleName": "GROUP_OWNER", "orgId": OTHER}]},
            ("roles[0].orgId", "INVALID_ATTRIBUTE"),
        ),
        (
            "project",
            {"roles": [{"roleName": "GROUP_OWNER", "groupId": "x"}]},
            ("roles[0].groupId", "INVALID_ATTRIBUTE"),
        ),
        ("project", {"publicKey": "abcdef"}, ("publicKey", "ATTRIBUTE_READ_ONLY")),
        ("project", {"privateKey": "x"}, ("privateKey", "ATTRIBUTE_READ_ONLY")),
        ("organization", {"roles": ["GROUP_AGENT"]}, ("roles[0].groupId", "ROLE_NEEDS_GROUP_ID")),
        ("organization", {"roles": ["GLOBAL_OWNER"]}, ("roles[0].roleName", "INVALID_ATTRIBUTE")),
        (
            "organization",
            {"roles": [{"roleName": "ORG_OWNER", "orgId": OTHER}]},
            ("roles[0].orgId", "INVALID_ATTRIBUTE"),
        ),
        (
            "organization",
            {"roles": [{"roleName": "ORG_OWNER", "groupId": "GROUP"}]},
            ("roles[0].groupId", "ROLE_NEEDS_NO_GROUP_ID"),
        ),
        (
            "organization",
            {"roles": ["ORG_MEMBER", {"roleName": "GROUP_OWNER", "groupId": OTHER}]},
            ("roles[1].groupId", "INVALID_ATTRIBUTE"),
        ),
        ("installation", {"roles": ["ORG_MEMBER"]}, ("roles[0].orgId", "ROLE_NEEDS_ORG_ID")),
        ("installation", {"roles": ["GROUP_AGENT"]}, ("roles[0].groupId", "ROLE_NEEDS_GROUP_ID")),
        (
            "installation",
            {"roles": [{"roleName": "ORG_MEMBER", "orgId": OTHER}]},
            ("roles[0].orgId", "INVALID_ATTRIBUTE"),
        ),
        (
            "installation",
            {"roles": [{"roleName": "GROUP_AGENT", "groupId": OTHER}]},
            ("roles[0].groupId", "INVALID_ATTRIBUTE"),
        ),
        (
            "installation",
            {"roles": [{"roleName": "GLOBAL_OWNER", "orgId": "ORG"}]},
            ("roles[0].orgId", "INVALID_ATTRIBUTE"),
        ),
    ],
)
def test_a_wrong_field_refuses_the_key(
    owner: ApiClient, project: Project, place: str, change: dict[str, Any], fault: tuple[str, str]
) -> None:
    field, code = fault
    if isinstance(change.get("roles"), list):
        change = {"roles": filled(change["roles"], project)}
    answer = owner.post(places_of(project)[place], bodies.api_key(**change))
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert (ApiKey.objects.count(), Event.objects.count()) == (1, 0)


@each(
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
def test_a_caller_cannot_grant_a_role_they_lack(
    project: Project, held: Role, wanted: Role, given: bool
) -> None:
    org_id, group_id = project.org_id if held.is_org else None, project.id if held.is_group else None
    caller = ApiClient(make_key(Grant(held, org_id=org_id, group_id=group_id)))
    keys = places_of(project)["project"]
    answer = caller.post(keys, bodies.api_key(roles=[wanted.value, "GROUP_READ_ONLY"]))
    if given:
        assert answer.status_code == 201
    else:
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "ROLE_NOT_HELD")
        assert answer.json()["parameters"] == [wanted.value]
        assert (ApiKey.objects.count(), Event.objects.count()) == (1, 0)


@each("role", [role for role in Role if not role.is_global])
def test_an_organization_owner_grants_all_roles_in_it_and_its_projects(
    org_owner: ApiClient, project: Project, role: Role
) -> None:
    wanted = {"roleName": role.value, **({"groupId": project.id} if role.is_group else {})}
    made = org_owner.post(places_of(project)["organization"], bodies.api_key(roles=[wanted]))
    assert made.status_code == 201
    assert RoleGrant.objects.filter(api_key_id=made.json()["id"], role=role.value).count() == 1


def test_an_organization_owner_learns_nothing_about_projects_of_other_organizations(
    org_owner: ApiClient, project: Project
) -> None:
    answers = []
    for group_id in (ProjectFactory.create().id, OTHER):
        body = bodies.api_key(roles=[{"roleName": "GROUP_READ_ONLY", "groupId": group_id}])
        answers.append(org_owner.post(places_of(project)["organization"], body))
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].json()["errorCode"] == "ROLE_NOT_HELD"
    assert answers[0].content == answers[1].content


@each("globally", [True, False])
def test_an_owner_of_both_learns_that_the_project_is_in_another_organization(
    project: Project, globally: bool
) -> None:
    elsewhere = ProjectFactory.create()
    here = Grant(Role.ORG_OWNER, org_id=project.org_id)
    there = Grant(Role.GLOBAL_OWNER) if globally else Grant(Role.GROUP_OWNER, group_id=elsewhere.id)
    body = bodies.api_key(roles=[{"roleName": "GROUP_READ_ONLY", "groupId": elsewhere.id}])
    answer = ApiClient(make_key(here, there)).post(places_of(project)["organization"], body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["roles[0].groupId"]


def test_each_scope_shows_its_keys_with_their_roles_in_it(
    owner: ApiClient, admin: ApiClient, org_owner: ApiClient, project: Project
) -> None:
    sister, elsewhere = ProjectFactory.create(org=project.org), ProjectFactory.create()
    here, there = (Grant(Role.GROUP_OWNER, group_id=project.id) for project in (sister, elsewhere))
    of_both = make_key(here, there, Grant(Role.ORG_MEMBER, org_id=OrganizationFactory.create().id))
    outside = make_key(there)
    known = {"owner": owner, "admin": admin, "org owner": org_owner}
    names = {client.key.id: name for name, client in known.items() if client.key}
    names |= {of_both.id: "of both", outside.id: "outside"}
    lists = {place: owner.get(keys).json()["results"] for place, keys in places_of(project).items()}
    assert {place: [names[key["id"]] for key in found] for place, found in lists.items()} == {
        "project": ["admin"],
        "organization": ["admin", "org owner", "of both"],
        "installation": ["owner", "admin", "org owner", "of both", "outside"],
    }
    assert lists["organization"][2]["roles"] == [{"roleName": "GROUP_OWNER", "groupId": sister.id}]
    assert len(lists["installation"][3]["roles"]) == 3
    for place, key in (("project", of_both), ("organization", outside)):
        answer = owner.get(f"{places_of(project)[place]}/{key.id}")
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "API_KEY_NOT_FOUND")
