"""The access lists of keys over HTTP."""

from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api.access_lists import (
    NOON,
    ON,
    PLACES,
    admin_path,
    blocks,
    group_path,
    org_path,
    recorded,
)
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_entry, make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(project: Project) -> KeyPair:
    """A key with a role in the project."""
    return make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))


@PLACES
def test_a_keys_entries_are_added_listed_read_and_removed(
    owner: ApiClient, project: Project, key: KeyPair, path_of: Any
) -> None:
    path = path_of(project, key)
    with time_machine.travel(NOON, tick=False):
        items = [{"ipAddress": "192.0.2.7", "description": "build"}, {"cidrBlock": "10.0.0.0/8"}]
        answer = owner.post(path, items)
    assert answer.status_code == 201
    first, second = answer.json()["results"]
    assert answer.json()["totalCount"] == 2
    assert first == {
        "cidrBlock": "192.0.2.7/32",
        "created": NOON,
        "description": "build",
        "id": first["id"],
        "ipAddress": "192.0.2.7",
        "type": "API_KEY",
        "updated": NOON,
        "expires": None,
        "lastUsed": None,
        "links": [{"href": f"http://testserver/api/public/v1.0{path}/{first['id']}", "rel": "self"}],
    }
    assert second["cidrBlock"] == "10.0.0.0/8"
    assert {"ipAddress", "description"}.isdisjoint(second)
    assert owner.get(path).json()["results"] == [first, second]
    alone = owner.get(f"{path}/{first['id']}").json()
    assert alone | {"links": first["links"]} == first
    for link in alone["links"]:
        assert (
            owner.request("GET", link["href"].removeprefix("http://testserver"), base="").status_code == 200
        )
    assert owner.delete(f"{path}/{first['id']}").status_code == 204
    assert blocks(key) == ["10.0.0.0/8"]
    assert blocks() == []


def test_a_new_entry_can_have_null_for_absent_values(
    owner: ApiClient, project: Project, key: KeyPair
) -> None:
    item: dict[str, Any] = {"ipAddress": ON, "expires": None, "lastUsed": NOON, "links": []}
    answer = owner.post(org_path(project, key), [item])
    assert (answer.status_code, answer.json()["results"][0]["lastUsed"]) == (201, None)


@each("path_of", [group_path, org_path], ids=["project", "organization"])
def test_the_first_and_the_last_entry_change_enforcement(
    owner: ApiClient, project: Project, key: KeyPair, path_of: Any
) -> None:
    entry = owner.post(path_of(project, key), [{"ipAddress": ON}]).json()["results"][0]
    owner.delete(f"{path_of(project, key)}/{entry['id']}")
    events = owner.get(path_of(project, key).partition("/apiKeys")[0] + "/events").json()["results"]
    recorded = {event["eventTypeName"]: event["diffs"][-1]["params"][0] for event in events[:2]}
    assert [(param["param"], param["old"], param["new"]) for param in recorded.values()] == [
        ("enforced", "true", "false"),
        ("enforced", "false", "true"),
    ]
    assert list(recorded) == ["ACCESS_LIST_ENTRY_REMOVED_AUDIT", "ACCESS_LIST_ENTRY_ADDED_AUDIT"]


def test_the_events_name_the_key_and_the_place(owner: ApiClient, project: Project, key: KeyPair) -> None:
    places = {org_path: ("", project.org_id), group_path: (project.id, ""), admin_path: ("", "")}
    for path_of, (group_id, org_id) in places.items():
        made = owner.post(path_of(project, key), [{"ipAddress": "192.0.2.7"}]).json()["results"]
        owner.delete(f"{path_of(project, key)}/{made[0]['id']}")
        for event in Event.objects.filter(event_type__startswith="ACCESS_LIST").order_by("-id")[:2]:
            assert (event.group_id or "", event.org_id or "") == (group_id, org_id)
            assert event.details["targetPublicKey"] == key.public_key
            assert event.details["accessListEntry"] == "192.0.2.7/32"


@each(
    ("items", "fault"),
    [
        ([], ("MISSING_ATTRIBUTE", "[0]")),
        ([{}], ("MISSING_ATTRIBUTE", "[0].ipAddress")),
        ([{"description": "x"}], ("MISSING_ATTRIBUTE", "[0].ipAddress")),
        ([{"ipAddress": ON, "cidrBlock": "10.0.0.0/8"}], ("INVALID_ATTRIBUTE", "[0].cidrBlock")),
        ([{"ipAddress": "10.0.0.0/8"}], ("INVALID_ATTRIBUTE", "[0].ipAddress")),
        ([{"ipAddress": "192.0.2.7/32"}], ("INVALID_ATTRIBUTE", "[0].ipAddress")),
        ([{"ipAddress": ON}, {"cidrBlock": "192.0.2.7/24"}], ("INVALID_ATTRIBUTE", "[1].cidrBlock")),
        ([{"ipAddress": ON}, {"ipAddress": "x"}], ("INVALID_ATTRIBUTE", "[1].ipAddress")),
        ([{"ipAddress": ON}, {"cidrBlock": f"{ON}/32"}], ("INVALID_ATTRIBUTE", "[1].cidrBlock")),
        ([{"ipAddress": ON, "description": ""}], ("INVALID_ATTRIBUTE", "[0].description")),
        ([{"ipAddress": ON, "comment": "x"}], ("INVALID_ATTRIBUTE", "[0].comment")),
        (["192.0.2.7"], ("INVALID_ATTRIBUTE", "[0]")),
        ([{"ipAddress": ON, "id": "f" * 24}], ("ATTRIBUTE_READ_ONLY", "[0].id")),
        ([{"ipAddress": ON, "type": "API_KEY"}], ("ATTRIBUTE_READ_ONLY", "[0].type")),
        ([{"ipAddress": ON, "created": NOON}], ("ATTRIBUTE_READ_ONLY", "[0].created")),
        ([{"ipAddress": ON, "updated": NOON}], ("ATTRIBUTE_READ_ONLY", "[0].updated")),
        ([{"ipAddress": ON, "expires": NOON}], ("ATTRIBUTE_READ_ONLY", "[0].expires")),
        ([{"ipAddress": ON, "lastUsed": "never"}], ("INVALID_ATTRIBUTE", "[0].lastUsed")),
        ([{"ipAddress": ON, "description": "\u200b "}], ("INVALID_ATTRIBUTE", "[0].description")),
    ],
)
def test_one_wrong_item_refuses_them_all(
    owner: ApiClient, project: Project, key: KeyPair, items: list[Any], fault: tuple[str, str]
) -> None:
    answer = owner.post(org_path(project, key), items)
    code, field = fault
    assert refusal(answer) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert (blocks(key), recorded()) == ([], [])


def test_a_range_is_on_a_keys_list_once_and_on_every_list(
    owner: ApiClient, project: Project, key: KeyPair
) -> None:
    make_entry("10.0.0.0/8")
    path = org_path(project, key)
    made = owner.post(path, [{"cidrBlock": "10.0.0.0/8"}]).json()["results"][0]
    answer = owner.post(path, [{"ipAddress": ON}, {"cidrBlock": "10.0.0.0/8"}])
    assert refusal(answer) == (409, "ADDRESS_ALREADY_IN_ACCESS_LIST")
    assert answer.json()["parameters"] == ["10.0.0.0/8", made["id"]]
    assert blocks(key) == ["10.0.0.0/8"]


def test_a_key_without_a_role_there_is_not_found(owner: ApiClient, project: Project, key: KeyPair) -> None:
    other = ProjectFactory.create()
    for path_of in (org_path, group_path):
        for method, body in (("GET", None), ("POST", [{"ipAddress": ON}])):
            answer = owner.request(method, path_of(other, key), body)
            assert refusal(answer) == (404, "API_KEY_NOT_FOUND")


def test_an_entry_of_another_key_is_not_found(owner: ApiClient, project: Project, key: KeyPair) -> None:
    other = make_key(Grant(Role.GROUP_OWNER, group_id=project.id))
    entry = make_entry("10.0.0.0/8", other.id)
    for method in ("GET", "DELETE"):
        answer = owner.request(method, f"{org_path(project, key)}/{entry.id}")
        assert refusal(answer) == (404, "ACCESS_LIST_ENTRY_NOT_FOUND")
    assert blocks(other) == ["10.0.0.0/8"]


@each("path_of", [org_path, group_path])
def test_the_list_of_a_wider_key_needs_a_wider_caller(project: Project, path_of: Any) -> None:
    other = ProjectFactory.create()
    grants = [Grant(Role.GROUP_AGENT, group_id=project.id), Grant(Role.GROUP_OWNER, group_id=other.id)]
    key = make_key(*grants)
    entry = make_entry("10.0.0.0/8", key.id)
    here = [Grant(Role.GROUP_OWNER, group_id=project.id), Grant(Role.ORG_OWNER, org_id=project.org_id)]
    path = path_of(project, key)
    caller = ApiClient(make_key(*here))
    assert caller.get(path).status_code == 200
    for method, target, body in (("POST", path, b"nonsense"), ("DELETE", f"{path}/{entry.id}", None)):
        answer = caller.request(method, target, body)
        assert refusal(answer) == (403, "USER_UNAUTHORIZED")
        assert answer.json()["parameters"] == ["GROUP_OWNER or GROUP_USER_ADMIN"]
    assert blocks(key) == ["10.0.0.0/8"]
    both = ApiClient(make_key(*here, Grant(Role.ORG_OWNER, org_id=other.org_id)))
    assert both.delete(f"{path}/{entry.id}").status_code == 204
