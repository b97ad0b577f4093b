"""A key with an access list of its own cannot widen that list."""

import pytest

from accesslist.models import AccessListEntry, ApiKey, Project
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, make_entry, make_key

pytestmark = pytest.mark.django_db
INSIDE = {"REMOTE_ADDR": "192.0.2.7"}
EVERYWHERE = [{"cidrBlock": "0.0.0.0/0"}]


@pytest.fixture
def key(project: Project) -> KeyPair:
    """An owner of the project."""
    return make_key(Grant(Role.GROUP_OWNER, group_id=project.id))


@pytest.fixture
def confined(key: KeyPair) -> ApiClient:
    """The same, which may call from 192.0.2.0/24 and 203.0.113.0/24 only."""
    for block in ("192.0.2.0/24", "203.0.113.0/24"):
        make_entry(block, key.id, description="office")
    return ApiClient(key)


@pytest.fixture
def own_list(key: KeyPair, project: Project) -> str:
    """The path of the key's list."""
    return f"/groups/{project.id}/apiKeys/{key.id}/accessList"


def blocks(key_id: str) -> list[str]:
    """The ranges of the key's list."""
    rows = AccessListEntry.objects.filter(api_key_id=key_id)
    return list(rows.order_by("cidr_block").values_list("cidr_block", flat=True))


@each("address", ["192.0.2.7", "127.0.0.1"])
@each("block", ["0.0.0.0/0", "192.0.2.0/25", "192.0.2.0/24"])
def test_it_cannot_add_to_its_own_list(
    confined: ApiClient, own_list: str, key: KeyPair, block: str, address: str
) -> None:
    answer = confined.post(own_list, [{"cidrBlock": block}], REMOTE_ADDR=address)
    assert refusal(answer) == (403, "CANNOT_WIDEN_OWN_ACCESS_LIST")
    assert len(blocks(key.id)) == 2


def test_it_can_remove_entries_of_its_own_list_but_the_last(
    confined: ApiClient, own_list: str, key: KeyPair
) -> None:
    ids = {entry.cidr_block: entry.id for entry in AccessListEntry.objects.filter(api_key_id=key.id)}
    removed = confined.delete(f"{own_list}/{ids['203.0.113.0/24']}", **INSIDE)
    assert removed.status_code == 204
    last = confined.delete(f"{own_list}/{ids['192.0.2.0/24']}", **INSIDE)
    assert refusal(last) == (403, "CANNOT_WIDEN_OWN_ACCESS_LIST")
    assert blocks(key.id) == ["192.0.2.0/24"]


def test_a_key_without_a_list_can_begin_one(key: KeyPair, own_list: str) -> None:
    answer = ApiClient(key).post(own_list, [{"cidrBlock": "192.0.2.0/24"}], **INSIDE)
    assert answer.status_code == 201


def test_another_key_can_widen_and_empty_its_list(
    owner: ApiClient, confined: ApiClient, own_list: str, key: KeyPair
) -> None:
    assert confined.key == key
    assert owner.post(own_list, EVERYWHERE).status_code == 201
    for entry in AccessListEntry.objects.filter(api_key_id=key.id):
        assert owner.delete(f"{own_list}/{entry.id}").status_code == 204


def test_a_key_created_by_a_listed_key_gets_its_list(
    confined: ApiClient, project: Project, key: KeyPair
) -> None:
    made = confined.post(f"/groups/{project.id}/apiKeys", bodies.api_key(), **INSIDE)
    assert made.status_code == 201
    assert blocks(made.json()["id"]) == blocks(key.id)
    shown = confined.get(f"/groups/{project.id}/apiKeys/{made.json()['id']}/accessList", **INSIDE).json()
    assert {entry["description"] for entry in shown["results"]} == {"office"}


def test_a_key_created_by_a_key_without_a_list_gets_no_list(key: KeyPair, project: Project) -> None:
    make_entry("192.0.2.0/24")
    made = ApiClient(key).post(f"/groups/{project.id}/apiKeys", bodies.api_key())
    assert not AccessListEntry.objects.filter(api_key_id=made.json()["id"]).exists()
    assert ApiKey.objects.filter(id=made.json()["id"]).exists()
