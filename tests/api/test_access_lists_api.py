"""The global access list over HTTP: endpoints 1 and 2, and single entries."""

from typing import Any

import pytest
import time_machine

from accesslist.models import AccessListEntry
from events.models import Event
from opsapi.api.links import PUBLIC
from tests.api import bodies
from tests.api.access_lists import NOON, PATH, blocks, recorded
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_entry, make_key
from tests.openapi import published

pytestmark = pytest.mark.django_db


def test_an_entry_is_shown_whole(owner: ApiClient) -> None:
    with time_machine.travel(NOON, tick=False):
        answer = owner.post(PATH, bodies.entry())
    made = answer.json()
    assert answer.status_code == 200
    assert made == {
        "cidrBlock": "198.51.100.0/24",
        "created": NOON,
        "description": "office",
        "id": made["id"],
        "type": "GLOBAL_ROLE",
        "updated": NOON,
        "expires": None,
        "lastUsed": None,
        "links": [{"href": f"http://testserver/api/public/v1.0{PATH}/{made['id']}", "rel": "self"}],
    }
    assert owner.get(f"{PATH}/{made['id']}").json() == made
    assert owner.get(PATH).json()["results"] == [made]


def test_entries_are_added_and_listed_in_order(owner: ApiClient) -> None:
    given = ["192.0.2.7", "10.0.0.0/8", "2001:DB8::/32", "0.0.0.0/0"]
    for block in given:
        assert owner.post(PATH, bodies.entry(cidrBlock=block)).status_code == 200
    shown = [entry["cidrBlock"] for entry in owner.get(PATH).json()["results"]]
    assert shown == blocks() == ["192.0.2.7/32", "10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0"]


@each("again", ["192.0.2.7", "192.0.2.7/32", "::ffff:192.0.2.7", "::ffff:c000:207/128"])
def test_a_range_is_on_the_list_once(owner: ApiClient, again: str) -> None:
    entry = make_entry("192.0.2.7/32", description="mine")
    answer = owner.post(PATH, bodies.entry(cidrBlock=again))
    assert refusal(answer) == (409, "ADDRESS_ALREADY_IN_ACCESS_LIST")
    assert answer.json()["parameters"] == ["192.0.2.7/32", entry.id]
    assert AccessListEntry.objects.get().description == "mine"
    assert recorded() == []


@each(
    ("change", "code", "field"),
    [
        ({"cidrBlock": None}, "MISSING_ATTRIBUTE", "cidrBlock"),
        ({"description": None}, "MISSING_ATTRIBUTE", "description"),
        ({"cidrBlock": ""}, "INVALID_ATTRIBUTE", "cidrBlock"),
        ({"cidrBlock": "192.0.2.7/24"}, "INVALID_ATTRIBUTE", "cidrBlock"),
        ({"cidrBlock": "fe80::1%eth0"}, "INVALID_ATTRIBUTE", "cidrBlock"),
        ({"cidrBlock": 5}, "INVALID_ATTRIBUTE", "cidrBlock"),
        ({"description": ""}, "INVALID_ATTRIBUTE", "description"),
        ({"description": "x" * 251}, "INVALID_ATTRIBUTE", "description"),
        ({"description": ["x"]}, "INVALID_ATTRIBUTE", "description"),
        ({"ipAddress": "192.0.2.7"}, "INVALID_ATTRIBUTE", "ipAddress"),
        ({"expires": NOON}, "ATTRIBUTE_READ_ONLY", "expires"),
        ({"type": "API_KEY"}, "ATTRIBUTE_READ_ONLY", "type"),
    ],
)
def test_a_wrong_field_is_named(owner: ApiClient, change: dict[str, Any], code: str, field: str) -> None:
    answer = owner.post(PATH, bodies.entry() | change)
    assert refusal(answer) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert (blocks(), recorded()) == ([], [])


@each("length", [1, 250])
def test_a_description_has_up_to_250_characters(owner: ApiClient, length: int) -> None:
    assert owner.post(PATH, bodies.entry(description="é" * length)).status_code == 200


def test_an_entry_without_a_description_leaves_it_out(owner: ApiClient) -> None:
    entry = make_entry("10.0.0.0/8")
    shown = owner.get(f"{PATH}/{entry.id}").json()
    assert "description" not in shown
    assert (shown["expires"], shown["lastUsed"]) == (None, None)
    assert owner.patch(f"{PATH}/{entry.id}", {"cidrBlock": "10.0.0.0/9"}).status_code == 200


def test_only_another_range_moves_updated(owner: ApiClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        path = f"{PATH}/{owner.post(PATH, bodies.entry()).json()['id']}"
        clock.shift(60)
        described = owner.patch(path, {"description": "branch"}).json()
        assert (described["description"], described["updated"]) == ("branch", NOON)
        moved = owner.patch(path, {"cidrBlock": "198.51.100.0/25"}).json()
    assert (moved["cidrBlock"], moved["description"]) == ("198.51.100.0/25", "branch")
    assert (moved["created"], moved["updated"]) == (NOON, "2099-01-01T12:01:00Z")


def test_an_unchanged_entry_can_be_written_back(owner: ApiClient) -> None:
    entry = make_entry("127.0.0.0/8", description="here")
    shown = owner.get(f"{PATH}/{entry.id}").json()
    AccessListEntry.objects.update(last_used=None)
    for body in ({}, shown, {"cidrBlock": "127.0.0.0/8"}, {"description": None, "lastUsed": NOON}):
        answer = owner.patch(f"{PATH}/{entry.id}", body)
        assert answer.status_code == 200
        assert answer.json() | {"lastUsed": None} == shown | {"lastUsed": None}
    assert recorded() == []


@each("value", ["yesterday", "", 5, True, {}, [], "2026-13-01T00:00:00Z"], ids=repr)
def test_a_last_use_that_is_no_time_is_refused(owner: ApiClient, value: Any) -> None:
    entry = make_entry("127.0.0.0/8", description="here")
    new = {"cidrBlock": "192.0.2.0/24", "description": "x", "lastUsed": value}
    for answer in (owner.post(PATH, new), owner.patch(f"{PATH}/{entry.id}", {"lastUsed": value})):
        assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
        assert [bad["field"] for bad in answer.json()["badFields"]] == ["lastUsed"]
    assert (blocks(), recorded()) == (["127.0.0.0/8"], [])


@each("value", [None, NOON, "2026-11-21T07:26:14.5+01:00"])
def test_any_last_used_is_accepted_and_ignored(owner: ApiClient, value: str | None) -> None:
    answer = owner.post(PATH, {"cidrBlock": "127.0.0.0/8", "description": "x", "lastUsed": value})
    assert (answer.status_code, answer.json()["lastUsed"]) == (200, None)


def test_an_entry_cannot_become_another_one(owner: ApiClient) -> None:
    there, entry = make_entry("10.0.0.0/8"), make_entry("172.16.0.0/12")
    answer = owner.patch(f"{PATH}/{entry.id}", {"cidrBlock": "10.0.0.0/8", "description": "x"})
    assert refusal(answer) == (409, "ADDRESS_ALREADY_IN_ACCESS_LIST")
    assert answer.json()["parameters"] == ["10.0.0.0/8", there.id]
    assert (blocks(), recorded()) == (["10.0.0.0/8", "172.16.0.0/12"], [])


def test_an_entry_is_removed(owner: ApiClient) -> None:
    entry, _ = make_entry("10.0.0.0/8"), make_entry("172.16.0.0/12")
    answer = owner.delete(f"{PATH}/{entry.id}?envelope=true")
    assert (answer.status_code, answer.content) == (204, b"")
    assert blocks() == ["172.16.0.0/12"]
    assert refusal(owner.delete(f"{PATH}/{entry.id}")) == (404, "ACCESS_LIST_ENTRY_NOT_FOUND")


def test_every_write_is_an_event_with_the_changes(owner: ApiClient) -> None:
    path = f"{PATH}/{owner.post(PATH, bodies.entry()).json()['id']}"
    owner.patch(path, {"cidrBlock": "198.51.100.0/25"})
    owner.delete(path)
    assert recorded() == [
        ("ACCESS_LIST_ENTRY_ADDED_AUDIT", "198.51.100.0/24", None),
        ("ACCESS_LIST_ENTRY_CHANGED_AUDIT", "198.51.100.0/25", None),
        ("ACCESS_LIST_ENTRY_REMOVED_AUDIT", "198.51.100.0/25", None),
    ]
    diffs = Event.objects.filter(event_type__startswith="ACCESS_LIST").order_by("id")
    shown = [[(diff["status"], diff["params"]) for diff in event.diffs] for event in diffs]

    def param(name: str, **sides: str) -> dict[str, str]:
        return {"param": name, "display": name, **sides}

    assert shown == [
        [
            ("NEW", [param("cidrBlock", new="198.51.100.0/24"), param("description", new="office")]),
            ("MODIFIED", [param("enforced", old="false", new="true")]),
        ],
        [("MODIFIED", [param("cidrBlock", old="198.51.100.0/24", new="198.51.100.0/25")])],
        [
            ("REMOVED", [param("cidrBlock", old="198.51.100.0/25"), param("description", old="office")]),
            ("MODIFIED", [param("enforced", old="true", new="false")]),
        ],
    ]
    assert {diff["type"] for event in diffs for diff in event.diffs} == {"ACCESS_LIST"}


def test_the_older_path_is_the_same_list(owner: ApiClient) -> None:
    made = owner.post("/admin/whitelist", bodies.entry()).json()
    older, path = f"/admin/whitelist/{made['id']}", f"{PATH}/{made['id']}"
    assert made["links"][0]["href"].endswith(path)
    assert owner.get(older).json() == owner.get(path).json() == made
    assert owner.get("/admin/whitelist").json()["results"] == [made]
    assert owner.patch(older, {"description": "branch"}).json()["description"] == "branch"
    assert owner.delete(older).status_code == 204
    assert blocks() == []


def test_entries_of_keys_are_not_on_the_global_list(owner: ApiClient) -> None:
    entry = make_entry("10.0.0.0/8", make_key().id)
    assert owner.get(PATH).json()["results"] == []
    for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
        answer = owner.request(method, f"{PATH}/{entry.id}", body)
        assert refusal(answer) == (404, "ACCESS_LIST_ENTRY_NOT_FOUND")


def test_the_older_path_is_marked_deprecated_and_the_other_is_not() -> None:
    for path, operations in published()["paths"].items():
        for operation in operations.values():
            assert operation.get("deprecated", False) is path.startswith(f"{PUBLIC}/admin/whitelist"), path
