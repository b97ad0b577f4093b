"""The addresses from which a key may call."""

from ipaddress import ip_network
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import AccessListEntry
from opsapi import clock
from opsapi.roles import Grant, Role
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key

ON, OFF = "192.0.2.7", "203.0.113.9"
PROXY = "198.51.100.1"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_exemption(settings: Settings) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = []
    settings.OPSAPI_TRUSTED_PROXIES = [ip_network("198.51.100.0/24")]


@pytest.fixture
def global_key(db: None) -> KeyPair:
    """A key with a global role."""
    return make_key(Role.GLOBAL_READ_ONLY)


@pytest.fixture
def project_key(db: None) -> KeyPair:
    """A key without one."""
    return make_key(Grant(Role.GROUP_OWNER, group_id=ProjectFactory.create().id))


def allow(*blocks: str, key: KeyPair | None = None) -> None:
    """Put ranges on the key's access list, or on the global one."""
    now = clock.now()
    for block in blocks:
        AccessListEntry.objects.create(
            cidr_block=block, api_key_id=key.id if key else None, created=now, updated=now
        )


def refusal(key: KeyPair, address: str, **headers: str) -> list[str]:
    """The address and the list that a refusal names; empty if the call is accepted."""
    answer: Any = ApiClient(key).get("/groups", REMOTE_ADDR=address, **headers)
    if answer.status_code == 200:
        return []
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "IP_ADDRESS_NOT_ON_ACCESS_LIST")
    named: list[str] = answer.json()["parameters"]
    assert all(name in answer.json()["detail"] for name in named)
    return named


GLOBAL, OWN = "the global access list", "the access list of the API key"


def test_an_empty_list_admits_every_address(global_key: KeyPair, project_key: KeyPair) -> None:
    assert refusal(global_key, OFF) == refusal(project_key, OFF) == []


def test_the_global_list_applies_to_keys_with_a_global_role_only(
    global_key: KeyPair, project_key: KeyPair
) -> None:
    allow("192.0.2.0/24", "2001:db8::/32")
    assert refusal(global_key, ON) == []
    assert refusal(global_key, "2001:db8::7") == []
    assert refusal(global_key, OFF) == [OFF, GLOBAL]
    assert refusal(global_key, "2001:db9::7") == ["2001:db9::7", GLOBAL]
    assert refusal(project_key, OFF) == []


def test_the_list_of_a_key_applies_to_it_only(global_key: KeyPair, project_key: KeyPair) -> None:
    allow("192.0.2.7/32", key=project_key)
    assert refusal(project_key, ON) == []
    assert refusal(project_key, OFF) == [OFF, OWN]
    assert refusal(global_key, OFF) == []


def test_both_lists_have_to_cover_the_caller(global_key: KeyPair) -> None:
    allow("0.0.0.0/0")
    allow("192.0.2.7/32", key=global_key)
    assert refusal(global_key, ON) == []
    assert refusal(global_key, OFF) == [OFF, OWN]


@each("address", [f"::ffff:{ON}", "::ffff:c000:207"])
def test_an_ipv4_mapped_address_is_ipv4(global_key: KeyPair, address: str) -> None:
    allow("192.0.2.0/24")
    assert refusal(global_key, address) == []
    assert refusal(global_key, f"::ffff:{OFF}") == [OFF, GLOBAL]


def test_no_entry_covers_a_caller_without_an_address(global_key: KeyPair) -> None:
    assert refusal(global_key, "") == []
    allow("0.0.0.0/0")
    assert refusal(global_key, "") == ["unknown", GLOBAL]


@each(
    ("peer", "forwarded", "taken_for"),
    [
        (PROXY, ON, ON),
        (PROXY, OFF, OFF),
        (PROXY, f"{ON}, {OFF}", OFF),
        (PROXY, f"{OFF}, {ON}", ON),
        (PROXY, f"{OFF}, {ON}, 198.51.100.2", ON),
        (PROXY, f"  {ON}  ", ON),
        (PROXY, f"::ffff:{ON}", ON),
        (PROXY, "fe80::1%eth0", PROXY),
        (PROXY, "", PROXY),
        (PROXY, "unknown", PROXY),
        (PROXY, f"{ON}, unknown", PROXY),
        (PROXY, "198.51.100.3, 198.51.100.2", "198.51.100.3"),
        (OFF, ON, OFF),
        (ON, OFF, ON),
    ],
)
def test_the_last_hop_that_is_no_trusted_proxy_calls(
    global_key: KeyPair, peer: str, forwarded: str, taken_for: str
) -> None:
    allow("192.0.2.0/24")
    expected = [] if taken_for == ON else [taken_for, GLOBAL]
    assert refusal(global_key, peer, HTTP_X_FORWARDED_FOR=forwarded) == expected


@pytest.mark.parametrize(
    "header",
    ["HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA"],
)
def test_an_exempt_address_passes_unless_the_request_was_forwarded(
    global_key: KeyPair, settings: Settings, header: str
) -> None:
    settings.OPSAPI_ACCESS_LIST_EXEMPT = [ip_network("203.0.113.0/24")]
    allow("192.0.2.0/24")
    allow("192.0.2.0/24", key=global_key)
    assert refusal(global_key, OFF) == []
    assert refusal(global_key, OFF, **{header: ON}) == [OFF, GLOBAL]


def test_wrong_credentials_do_not_reveal_the_list(global_key: KeyPair) -> None:
    allow("192.0.2.0/24")
    wrong = ApiClient(KeyPair(global_key.id, global_key.public_key, "wrong"))
    assert wrong.get("/groups", REMOTE_ADDR=OFF).status_code == 401


def test_the_list_comes_before_path_and_method(global_key: KeyPair) -> None:
    allow("192.0.2.0/24")
    caller = ApiClient(global_key)
    for method, path in (("GET", "/nope"), ("PUT", "/groups"), ("GET", "/groups/malformed")):
        answer = caller.request(method, path, REMOTE_ADDR=OFF)
        assert answer.json()["errorCode"] == "IP_ADDRESS_NOT_ON_ACCESS_LIST"
