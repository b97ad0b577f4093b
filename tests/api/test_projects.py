"""Projects found by name, changed, and deleted for everybody at once."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import ApiKey, Organization, Project, RoleGrant, User
from accesslist.projects.changes import project_create
from alerting.models import Alert, AlertConfig
from events.models import Event
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.bodies import ODD_NAMES
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, UserFactory, make_key

pytestmark = pytest.mark.django_db


def recorded(event_type: str) -> Event:
    """The only event of the type."""
    return Event.objects.get(event_type=event_type)


@pytest.mark.slow
@each("name", ODD_NAMES)
@each("safe", ["", "/"])
def test_whatever_its_name_holds_it_is_found_by_it(owner: ApiClient, name: str, safe: str) -> None:
    made = owner.post("/groups", bodies.group(name=name)).json()
    sent = quote(name, safe=safe)
    if safe and name.endswith("/"):
        sent += "/"  # one slash at the end of a path counts for nothing
    found = owner.get(f"/groups/byName/{sent}")
    assert (found.status_code, found.json()) == (200, made)


def test_the_slash_a_name_ends_with_is_distinguished_from_the_one_of_the_path(owner: ApiClient) -> None:
    made = {name: owner.post("/groups", bodies.group(name=name)).json()["id"] for name in ("a", "a/")}
    sent = {"a": "a", "a/": "a", "a%2F": "a/", "a//": "a/", "a%2F/": "a/"}
    shown = {path: owner.get(f"/groups/byName/{path}").json()["id"] for path in sent}
    assert shown == {path: made[name] for path, name in sent.items()}


@each(
    ("role", "seen"),
    [
        (Role.GROUP_READ_ONLY, True),
        (Role.GROUP_AGENT, False),
        (Role.ORG_READ_ONLY, True),
        (Role.ORG_MEMBER, False),
        (Role.GLOBAL_BACKUP_ADMIN, True),
    ],
)
def test_a_name_that_is_not_visible_reads_like_one_that_is_not_there(
    project: Project, role: Role, seen: bool
) -> None:
    grant = Grant(
        role,
        org_id=project.org_id if role.is_org else None,
        group_id=project.id if role.is_group else None,
    )
    caller = ApiClient(make_key(grant))
    answer = caller.get(f"/groups/byName/{quote(project.name)}")
    if seen:
        assert answer.json()["id"] == project.id
    else:
        nowhere = caller.get("/groups/byName/nowhere")
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "GROUP_NAME_NOT_FOUND")
        assert answer.content.decode().replace(project.name, "nowhere") == nowhere.content.decode()


@each(
    ("change", "shown"),
    [
        ({"name": "billing"}, {"name": "billing", "tags": ["prod"]}),
        ({"tags": ["eu", "prod"]}, {"name": "payments", "tags": ["eu", "prod"]}),
        ({"tags": []}, {"name": "payments", "tags": []}),
        ({"name": "billing", "tags": ["eu"]}, {"name": "billing", "tags": ["eu"]}),
    ],
)
def test_what_is_named_changes_and_the_rest_stays(
    db: None, owner: ApiClient, change: dict[str, Any], shown: dict[str, Any]
) -> None:
    before = owner.post("/groups", bodies.group(tags=["prod"])).json()
    answer = owner.patch(f"/groups/{before['id']}", change)
    assert (answer.status_code, answer.json()) == (200, {**before, **shown})
    assert owner.get(f"/groups/{before['id']}").json() == answer.json()
    event = recorded("GROUP_CHANGED_AUDIT")
    # Members of the organization cannot read what happens inside its projects.
    assert (event.group_id, event.org_id) == (before["id"], None)
    (diff,) = event.diffs
    assert (diff["type"], diff["status"], diff["id"]) == ("GROUP", "MODIFIED", before["id"])
    assert {param["param"] for param in diff["params"]} == set(change)


@each("change", [{}, {"name": None}, {"tags": None}, {"name": "payments"}, {"tags": ["a"]}])
def test_what_changes_nothing_records_nothing(owner: ApiClient, change: dict[str, Any]) -> None:
    made = owner.post("/groups", bodies.group(tags=["a"])).json()
    events = Event.objects.count()
    for body in (change, {**made, **change}):
        answer = owner.patch(f"/groups/{made['id']}", body)
        assert (answer.status_code, answer.json()) == (200, made)
    assert Event.objects.count() == events


@each(
    ("change", "field", "code"),
    [
        ({"tags": ["a", "a"]}, "tags[1]", "INVALID_ATTRIBUTE"),
        ({"orgId": "a" * 24}, "orgId", "ATTRIBUTE_READ_ONLY"),
        ({"id": "a" * 24}, "id", "ATTRIBUTE_READ_ONLY"),
        ({"hostCount": 1}, "hostCount", "ATTRIBUTE_READ_ONLY"),
        ({"created": "2026-11-21T07:26:14Z"}, "created", "ATTRIBUTE_READ_ONLY"),
        ({"more": 1}, "more", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_field_refuses_the_change(
    owner: ApiClient, project: Project, change: dict[str, Any], field: str, code: str
) -> None:
    answer = owner.patch(f"/groups/{project.id}", {"name": "other", **change})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    project.refresh_from_db()
    assert project.name != "other"
    assert not Event.objects.exists()


def test_a_name_that_is_taken_refuses_the_change(owner: ApiClient, project: Project) -> None:
    ProjectFactory.create(name="taken")
    answer = owner.patch(f"/groups/{project.id}", {"name": "taken", "tags": ["new"]})
    assert (answer.status_code, answer.json()["errorCode"]) == (409, "GROUP_ALREADY_EXISTS")
    assert answer.json()["parameters"] == ["taken"]
    project.refresh_from_db()
    assert (project.name == "taken", project.tags) == (False, [])
    assert not Event.objects.exists()


@each(
    ("role", "may"),
    [
        (Role.GROUP_OWNER, True),
        (Role.GROUP_USER_ADMIN, False),
        (Role.GROUP_MONITORING_ADMIN, False),
        (Role.GROUP_READ_ONLY, False),
        (Role.GROUP_AGENT, False),
        (Role.ORG_OWNER, True),
        (Role.ORG_GROUP_CREATOR, False),
        (Role.ORG_READ_ONLY, False),
        (Role.GLOBAL_OWNER, True),
        (Role.GLOBAL_MONITORING_ADMIN, False),
    ],
)
def test_who_may_change_and_delete_a_project(project: Project, role: Role, may: bool) -> None:
    caller = ApiClient(
        make_key(
            Grant(
                role,
                org_id=project.org_id if role.is_org else None,
                group_id=project.id if role.is_group else None,
            )
        )
    )
    path = f"/groups/{project.id}"
    assert (caller.patch(path, {"tags": ["new"]}).status_code == 200) is may
    assert (caller.delete(path).status_code == 204) is may
    assert Project.objects.exists() is not may


def test_a_deleted_project_is_in_no_list(owner: ApiClient, project: Project) -> None:
    org_id = project.org_id
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    for path in ("/groups", f"/orgs/{org_id}/groups"):
        assert owner.get(path).json()["totalCount"] == 0
    assert owner.get(f"/groups/byName/{quote(project.name)}").status_code == 404
    again = owner.delete(f"/groups/{project.id}")
    assert (again.status_code, again.json()["errorCode"]) == (404, "GROUP_NOT_FOUND")


def test_the_name_is_free_at_once(owner: ApiClient) -> None:
    first = owner.post("/groups", bodies.group()).json()
    assert owner.delete(f"/groups/{first['id']}").status_code == 204
    second = owner.post("/groups", bodies.group(orgId=first["orgId"]))
    assert second.status_code == 201
    assert owner.get("/groups/byName/payments").json()["id"] == second.json()["id"]
    assert owner.delete(f"/groups/{second.json()['id']}").status_code == 204


def test_the_deletion_is_recorded_and_earlier_events_stay(owner: ApiClient) -> None:
    made = owner.post("/groups", bodies.group(tags=["prod"])).json()
    assert owner.delete(f"/groups/{made['id']}").status_code == 204
    event = recorded("GROUP_DELETED_AUDIT")
    assert (event.group_id, event.org_id) == (made["id"], made["orgId"])
    (diff,) = event.diffs
    assert (diff["type"], diff["status"], diff["id"]) == ("GROUP", "REMOVED", made["id"])
    assert {param["param"]: param.get("old") for param in diff["params"]}["name"] == "payments"
    shown = {row["eventTypeName"] for row in owner.get("/globalEvents").json()["results"]}
    assert shown == {"ORG_CREATED_AUDIT", "GROUP_CREATED", "ALERT_CONFIG_ADDED_AUDIT", "GROUP_DELETED_AUDIT"}
    assert owner.get(f"/globalEvents/{event.id}").status_code == 200


def test_the_roles_in_it_go_and_keys_without_any_left(owner: ApiClient, project: Project) -> None:
    ended = make_key(
        Grant(Role.GROUP_OWNER, group_id=project.id), Grant(Role.GROUP_AGENT, group_id=project.id)
    )
    stays = make_key(
        Grant(Role.GROUP_READ_ONLY, group_id=project.id), Grant(Role.ORG_MEMBER, org_id=project.org_id)
    )
    user: User = UserFactory.create()
    user.grants.create(role=Role.GROUP_OWNER.value, project=project)
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    assert not RoleGrant.objects.filter(project_id=project.id).exists()
    assert ApiClient(ended).get("/groups").status_code == 401
    assert ApiClient(stays).get(f"/orgs/{project.org_id}").status_code == 200
    assert set(ApiKey.objects.values_list("id", flat=True)) == {stays.id, owner.key and owner.key.id}
    assert User.objects.filter(id=user.id).exists()
    event = recorded("API_KEY_DELETED_AUDIT")
    assert (event.group_id, event.details["targetPublicKey"]) == (project.id, ended.public_key)
    assert event.details["publicKey"] == (owner.key and owner.key.public_key)
    changed = recorded("API_KEY_CHANGED_AUDIT")
    assert (changed.group_id, changed.details["targetPublicKey"]) == (project.id, stays.public_key)


def test_a_key_may_delete_the_only_project_it_has(project: Project) -> None:
    caller = ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=project.id)))
    assert caller.delete(f"/groups/{project.id}").status_code == 204
    assert caller.get("/groups").status_code == 401


def test_its_configurations_and_alerts_end_with_it(
    owner: ApiClient, known_anew: Mapping[str, str], project: Project
) -> None:
    assert owner.delete(f"/groups/{project.id}").status_code == 204
    assert not AlertConfig.objects.filter(group=project, deleted=None).exists()
    alert = Alert.objects.get(group=project)
    assert (alert.status, alert.resolved is None) == ("CANCELLED", False)
    event = recorded("ALERT_CANCELLED_AUDIT")
    assert (event.alert_id, event.details["publicKey"]) == (alert.id, owner.key and owner.key.public_key)


def test_another_project_is_left_alone(owner: ApiClient, known_anew: Mapping[str, str]) -> None:
    org: Organization = OrganizationFactory.create()
    other: Project = ProjectFactory.create(org=org)
    key = make_key(Grant(Role.GROUP_OWNER, group_id=other.id))
    assert owner.delete(f"/groups/{other.id}").status_code == 204
    assert ApiClient(key).get("/groups").status_code == 401
    assert owner.get(f"/groups/{known_anew['group_id']}").status_code == 200
    assert Alert.objects.get(group=known_anew["group_id"]).status == "OPEN"
    assert AlertConfig.objects.get(group=known_anew["group_id"]).deleted is None


def test_whoever_makes_a_project_is_locked_before_its_organization(db: None) -> None:
    org = OrganizationFactory.create()
    maker = ApiClient(make_key(Grant(Role.ORG_GROUP_CREATOR, org_id=org.id)))
    with CaptureQueriesContext(connection) as queries:
        assert maker.post("/groups", bodies.group(orgId=org.id)).status_code == 201
    locks = [query["sql"] for query in queries if " FOR " in query["sql"]]
    assert ["accesslist_apikey" in sql for sql in locks][:2] == [True, False]
    assert "accesslist_organization" in locks[1]


def test_a_maker_deleted_meanwhile_makes_nothing(db: None) -> None:
    org = OrganizationFactory.create()
    gone = Actor(ActorKind.KEY, new_id(), "abcdef")
    values = {"name": "payments", "org_id": org.id}
    with pytest.raises(ApiError) as refused:
        project_create(values=values, owned_by_creator=True, actor=gone, now=clock.now())
    assert refused.value.code is ErrorCode.API_KEY_NOT_FOUND
    assert not Project.objects.exists()
