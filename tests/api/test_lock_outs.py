"""Nobody can lock themselves out, and two callers together lock nobody out."""

from collections import Counter
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.access_lists import OFF, ON, PATH, PLACES, blocks, org_path, recorded
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.factories.accesslist import make_entry, make_key
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def held(owner: ApiClient, settings: Settings) -> ApiClient:
    """A Global owner that access lists apply to; calls from ON."""
    settings.OPSAPI_ACCESS_LIST_EXEMPT = []
    return owner


def send(client: ApiClient, method: str, path: str, body: Any = None, address: str = ON) -> Any:
    """A request from this address."""
    return client.request(method, path, body, REMOTE_ADDR=address)


def is_locked_out(answer: Any) -> bool:
    """Whether it was refused for that, with nothing changed."""
    assert refusal(answer) == (400, "CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST")
    assert answer.json()["parameters"] == [ON]
    assert ON in answer.json()["detail"]
    return recorded() == []


def test_the_first_entry_has_to_cover_the_caller(held: ApiClient) -> None:
    assert is_locked_out(send(held, "POST", PATH, bodies.entry()))
    assert blocks() == []
    assert send(held, "POST", PATH, bodies.entry(cidrBlock=ON)).status_code == 200
    assert send(held, "POST", PATH, bodies.entry()).status_code == 200


def test_the_entry_that_covers_the_caller_stays_until_another_does(held: ApiClient) -> None:
    entry, _ = make_entry("192.0.2.0/24"), make_entry("10.0.0.0/8")
    path = f"{PATH}/{entry.id}"
    assert is_locked_out(send(held, "DELETE", path))
    assert is_locked_out(send(held, "PATCH", path, {"cidrBlock": "192.0.2.8/29"}))
    assert blocks() == ["192.0.2.0/24", "10.0.0.0/8"]
    assert send(held, "PATCH", path, {"cidrBlock": "192.0.2.0/29"}).status_code == 200
    make_entry("0.0.0.0/0")
    assert send(held, "DELETE", path).status_code == 204


def test_the_last_entry_may_go(held: ApiClient) -> None:
    entry = make_entry("192.0.2.0/24")
    assert is_locked_out(send(held, "PATCH", f"{PATH}/{entry.id}", {"cidrBlock": "10.0.0.0/8"}))
    assert send(held, "DELETE", f"{PATH}/{entry.id}").status_code == 204
    assert send(held, "GET", PATH, address=OFF).status_code == 200


def test_an_exempt_caller_can_lock_out_everybody_else(owner: ApiClient) -> None:
    assert owner.post(PATH, bodies.entry()).status_code == 200
    assert owner.get(PATH).status_code == 200
    forwarded = owner.get(PATH, HTTP_X_FORWARDED_FOR=OFF)
    assert refusal(forwarded) == (403, "IP_ADDRESS_NOT_ON_ACCESS_LIST")


@PLACES
def test_a_key_cannot_lock_itself_out(
    held: ApiClient, project: Project, settings: Settings, path_of: Any
) -> None:
    grants = [Grant(Role.GROUP_OWNER, group_id=project.id), Grant(Role.GLOBAL_OWNER)]
    key = make_key(*grants)
    itself, path = ApiClient(key), path_of(project, key)
    assert is_locked_out(send(itself, "POST", path, [{"ipAddress": OFF}, {"cidrBlock": "10.0.0.0/8"}]))
    assert blocks(key) == []
    made = send(itself, "POST", path, [{"cidrBlock": "192.0.2.0/24"}, {"ipAddress": OFF}]).json()["results"]
    Event.objects.all().delete()
    assert is_locked_out(send(itself, "DELETE", f"{path}/{made[0]['id']}"))
    assert send(held, "DELETE", f"{path}/{made[0]['id']}").status_code == 204
    assert send(itself, "GET", path).status_code == 403


def test_another_key_may_be_locked_out(held: ApiClient, project: Project) -> None:
    key = make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))
    assert send(held, "POST", org_path(project, key), [{"ipAddress": OFF}]).status_code == 201
    assert send(ApiClient(key), "GET", "/groups").status_code == 403


def test_a_caller_without_an_address_cannot_lock_itself_out(held: ApiClient) -> None:
    answer = send(held, "POST", PATH, bodies.entry(cidrBlock="0.0.0.0/0"), address="")
    assert refusal(answer) == (400, "CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST")
    assert answer.json()["parameters"] == ["unknown"]


# --- races ----------------------------------------------------------------------------------------


@pytest.fixture
def crowd(settings: Settings) -> list[ApiClient]:
    """Global owners that access lists apply to."""
    settings.OPSAPI_ACCESS_LIST_EXEMPT = []
    return [ApiClient(make_key(Role.GLOBAL_OWNER)) for _ in range(THREADS)]


@pytest.mark.django_db(transaction=True)
def test_one_of_concurrent_deletions_is_refused(transactional_db: None, crowd: list[ApiClient]) -> None:
    entries = [make_entry(f"192.0.2.0/{24 + number}") for number in range(4)]
    make_entry("10.0.0.0/8")
    paths = [f"{PATH}/{entries[number % 4].id}" for number in range(THREADS)]
    answers = at_once(lambda number: send(crowd[number], "DELETE", paths[number]))
    found = Counter(answer.status_code for answer in answers)
    assert (found[204], found[400] + found[404]) == (3, THREADS - 3)
    assert len(blocks()) == 2
    assert send(crowd[0], "GET", PATH).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_many_first_entries_at_once_none_locks_another_out(
    transactional_db: None, crowd: list[ApiClient]
) -> None:
    def add(number: int) -> Any:
        entry = bodies.entry(cidrBlock=f"192.0.2.{number}")
        return send(crowd[number], "POST", PATH, entry, address=f"192.0.2.{number}")

    found = Counter(answer.status_code for answer in at_once(add))
    assert set(found) <= {200, 403}
    assert found[200] == len(blocks()) >= 1


@pytest.mark.django_db(transaction=True)
def test_of_many_writes_to_a_keys_list_each_counts_once(
    transactional_db: None, crowd: list[ApiClient], project: Project
) -> None:
    key = make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id))
    items = [{"cidrBlock": "10.0.0.0/8"}]
    answers = at_once(lambda number: send(crowd[number], "POST", org_path(project, key), items))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: THREADS - 1}
    assert blocks(key) == ["10.0.0.0/8"]
    assert len(recorded()) == 1
