"""Keys changed and deleted: what changes, what stays, what is refused."""

from typing import Any

import pytest

from accesslist.keys.changes import api_key_create, api_key_delete, api_key_update
from accesslist.models import AccessListEntry, ApiKey, Project, RoleGrant
from events.models import Event
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from opsapi.roles import INSTALLATION, Grant, Role
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key

PLACES = ["project", "organization", "installation"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def sister(project: Project) -> Project:
    """Another project of the organization."""
    made: Project = ProjectFactory.create(org=project.org)
    return made


@pytest.fixture
def key(project: Project, sister: Project) -> KeyPair:
    """A key with roles on every level, in two organizations."""
    return make_key(
        Grant(Role.GROUP_OWNER, group_id=project.id),
        Grant(Role.GROUP_AGENT, group_id=project.id),
        Grant(Role.GROUP_OWNER, group_id=sister.id),
        Grant(Role.ORG_MEMBER, org_id=project.org_id),
        Grant(Role.GROUP_OWNER, group_id=ProjectFactory.create().id),
        Grant(Role.GLOBAL_READ_ONLY),
    )


@pytest.fixture
def paths(project: Project, key: KeyPair) -> dict[str, str]:
    """Where the key is found."""
    return {
        "project": f"/groups/{project.id}/apiKeys/{key.id}",
        "organization": f"/orgs/{project.org_id}/apiKeys/{key.id}",
        "installation": f"/admin/apiKeys/{key.id}",
    }


def state() -> tuple[object, ...]:
    """Everything a refusal must leave as it was."""
    keys, grants = ApiKey.objects.order_by("id").values_list(), RoleGrant.objects.order_by("id").values_list()
    return list(keys), list(grants), Event.objects.count()


def refused(answer: Any, status: int, code: str) -> bool:
    """Whether this is how it was answered."""
    return (answer.status_code, answer.json()["errorCode"]) == (status, code)


def roles_of(key: KeyPair) -> list[str]:
    """The names of its roles, wherever they hold."""
    return sorted(RoleGrant.objects.filter(api_key_id=key.id).values_list("role", flat=True))


@each("place", PLACES)
def test_an_unchanged_key_can_be_written_back(owner: ApiClient, paths: dict[str, str], place: str) -> None:
    document, before = owner.get(paths[place]).json(), state()
    for body in (document, {"roles": document["roles"][::-1]}, {"desc": None, "roles": None}, {}):
        answer = owner.patch(paths[place], body)
        assert (answer.status_code, answer.json()) == (200, document)
    assert state() == before


@each(
    ("place", "wanted", "left"),
    [
        ("project", "GROUP_AGENT", ["GLOBAL_READ_ONLY", "GROUP_AGENT", *["GROUP_OWNER"] * 2, "ORG_MEMBER"]),
        ("organization", "ORG_OWNER", ["GLOBAL_READ_ONLY", "GROUP_OWNER", "ORG_OWNER"]),
        ("installation", "GLOBAL_BACKUP_ADMIN", ["GLOBAL_BACKUP_ADMIN"]),
    ],
)
def test_roles_are_replaced_in_the_scope_of_the_path_only(
    owner: ApiClient, paths: dict[str, str], place: str, wanted: str, left: list[str]
) -> None:
    answer = owner.patch(paths[place], {"roles": [wanted]})
    assert answer.status_code == 200
    assert [role["roleName"] for role in answer.json()["roles"]] == [wanted]
    assert answer.json() == owner.get(paths[place]).json()
    assert answer.json()["desc"] == "test key"
    everywhere = owner.get(paths["installation"]).json()["roles"]
    assert sorted(role["roleName"] for role in everywhere) == left


@each("place", PLACES)
def test_a_change_of_the_description_keeps_the_roles(
    owner: ApiClient, paths: dict[str, str], place: str
) -> None:
    document, grants = owner.get(paths[place]).json(), list(RoleGrant.objects.values_list())
    answer = owner.patch(paths[place], {"desc": "for the night"})
    assert answer.json() == {**document, "desc": "for the night"}
    assert list(RoleGrant.objects.values_list()) == grants


@each(
    ("body", "field", "code"),
    [
        ({"roles": []}, "roles", "MISSING_ATTRIBUTE"),
        ({"desc": "other", "roles": []}, "roles", "MISSING_ATTRIBUTE"),
        ({"desc": "other", "roles": ["GROUP_KING"]}, "roles[0].roleName", "INVALID_ENUM_VALUE"),
        ({"desc": "other", "roles": ["ORG_OWNER"]}, "roles[0].roleName", "ROLE_NEEDS_NO_GROUP_ID"),
        ({"publicKey": "abcdef"}, "publicKey", "ATTRIBUTE_READ_ONLY"),
        ({"privateKey": "******0000"}, "privateKey", "ATTRIBUTE_READ_ONLY"),
        ({"id": "a" * 24}, "id", "ATTRIBUTE_READ_ONLY"),
    ],
)
def test_a_wrong_field_changes_nothing(
    admin: ApiClient, paths: dict[str, str], body: dict[str, Any], field: str, code: str
) -> None:
    before = state()
    answer = admin.patch(paths["project"], body)
    assert refused(answer, 400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert state() == before


def test_only_roles_that_are_added_have_to_be_held(project: Project, paths: dict[str, str]) -> None:
    caller = ApiClient(make_key(Grant(Role.GROUP_USER_ADMIN, group_id=project.id)))
    before = state()
    answer = caller.patch(paths["project"], {"desc": "x", "roles": ["GROUP_OWNER", "GROUP_BACKUP_ADMIN"]})
    assert refused(answer, 403, "ROLE_NOT_HELD")
    assert answer.json()["parameters"] == ["GROUP_BACKUP_ADMIN"]
    assert state() == before
    answer = caller.patch(paths["project"], {"roles": ["GROUP_OWNER", "GROUP_USER_ADMIN"]})
    assert [role["roleName"] for role in answer.json()["roles"]] == ["GROUP_OWNER", "GROUP_USER_ADMIN"]


def test_roles_in_projects_of_other_organizations_cannot_be_granted(
    owner: ApiClient, key: KeyPair, paths: dict[str, str]
) -> None:
    held = RoleGrant.objects.filter(api_key_id=key.id, project__isnull=False).latest("id").project_id
    before = state()
    answer = owner.patch(paths["organization"], {"roles": [{"roleName": "GROUP_OWNER", "groupId": held}]})
    assert refused(answer, 400, "INVALID_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["roles[0].groupId"]
    assert state() == before


@each("place", PLACES)
def test_a_key_cannot_change_its_own_roles(key: KeyPair, paths: dict[str, str], place: str) -> None:
    RoleGrant.objects.create(api_key_id=key.id, role="GLOBAL_OWNER")
    itself = ApiClient(key)
    document, before = itself.get(paths[place]).json(), state()
    change = {"desc": "x", "roles": document["roles"][:1]}
    assert refused(itself.patch(paths[place], change), 403, "CANNOT_CHANGE_OWN_ROLES")
    assert refused(itself.delete(paths[place]), 403, "CANNOT_CHANGE_OWN_ROLES")
    assert state() == before
    answer = itself.patch(paths[place], {**document, "desc": "mine"})
    assert answer.json() == {**document, "desc": "mine"}


@each(
    ("place", "left"),
    [
        ("project", ["GLOBAL_READ_ONLY", "GROUP_OWNER", "GROUP_OWNER", "ORG_MEMBER"]),
        ("organization", ["GLOBAL_READ_ONLY", "GROUP_OWNER"]),
    ],
)
def test_deletion_revokes_the_roles_in_the_scope_only(
    owner: ApiClient, key: KeyPair, paths: dict[str, str], place: str, left: list[str]
) -> None:
    answer = owner.delete(paths[place])
    assert (answer.status_code, answer.content) == (204, b"")
    assert roles_of(key) == left
    assert ApiClient(key).get("/groups").status_code == 200
    for again in (owner.get(paths[place]), owner.patch(paths[place], {}), owner.delete(paths[place])):
        assert refused(again, 404, "API_KEY_NOT_FOUND")


@each("place", PLACES)
def test_a_key_without_any_role_left_is_gone_at_once(
    owner: ApiClient, key: KeyPair, paths: dict[str, str], place: str
) -> None:
    kept = {"project": "GROUP_AGENT", "organization": "ORG_MEMBER", "installation": "GLOBAL_READ_ONLY"}
    RoleGrant.objects.filter(api_key_id=key.id).exclude(role=kept[place]).delete()
    now = clock.now()
    AccessListEntry.objects.create(api_key_id=key.id, cidr_block="127.0.0.0/8", created=now, updated=now)
    assert ApiClient(key).get("/groups").status_code == 200
    assert owner.delete(paths[place] + "?envelope=true").status_code == 204
    assert ApiClient(key).get("/groups").status_code == 401
    assert not AccessListEntry.objects.exists()
    assert not ApiKey.objects.filter(id=key.id).exists()
    assert refused(owner.get(f"/admin/apiKeys/{key.id}"), 404, "API_KEY_NOT_FOUND")


def test_the_last_key_with_global_owner_stays(owner: ApiClient) -> None:
    assert owner.key
    before = state()
    with pytest.raises(ApiError, match="CANNOT_DEMOTE_LAST_OWNER"):
        api_key_delete(key_id=owner.key.id, here=INSTALLATION, actor=SYSTEM, now=clock.now())
    assert state() == before
    second = make_key(Role.GLOBAL_OWNER)
    answer = owner.patch(f"/admin/apiKeys/{second.id}", {"roles": ["GLOBAL_READ_ONLY"]})
    assert [role["roleName"] for role in answer.json()["roles"]] == ["GLOBAL_READ_ONLY"]


def test_a_role_in_a_deleted_project_is_refused(project: Project) -> None:
    Project.objects.filter(id=project.id).update(deleted=clock.now(), org=None)
    with pytest.raises(ApiError, match="GROUP_NOT_FOUND"):
        api_key_create(
            values={"desc": "late"},
            grants=[Grant(Role.GROUP_AGENT, group_id=project.id)],
            actor=SYSTEM,
            now=clock.now(),
        )
    assert not ApiKey.objects.exists()


def test_a_key_deleted_in_the_meantime_is_not_found(db: None) -> None:
    with pytest.raises(ApiError, match="API_KEY_NOT_FOUND"):
        api_key_update(
            key_id=new_id(), here=INSTALLATION, changes={"desc": "x"}, actor=SYSTEM, now=clock.now()
        )
