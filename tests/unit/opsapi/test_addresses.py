"""The address of the caller, from what proxies write."""

from ipaddress import ip_address, ip_network

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from opsapi.api.addresses import client_address, counted_range
from tests.each import each

PROXY = "198.51.100.1"


def caller(forwarded: str, peer: str = PROXY) -> str:
    """Who calls through the peer."""
    request = RequestFactory().get("/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    return str(client_address(request))


@pytest.fixture(autouse=True)
def _trusted(settings: Settings) -> None:
    settings.OPSAPI_TRUSTED_PROXIES = [ip_network("198.51.100.0/24"), ip_network("2001:db8:1::/48")]


@each(
    ("forwarded", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:1234", "203.0.113.7"),
        ("203.0.113.7:0", "203.0.113.7"),
        ("203.0.113.7:65535", "203.0.113.7"),
        (" 203.0.113.7:1234 ", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:db8::1:1234", "2001:db8::1:1234"),
        ("[2001:db8::1]:1234", "2001:db8::1"),
        ("[2001:DB8::1]:1", "2001:db8::1"),
        ("[::ffff:203.0.113.7]:1234", "203.0.113.7"),
        ("192.0.2.9:5, 203.0.113.7:1234, 198.51.100.2:443", "203.0.113.7"),
        ("203.0.113.7:1234, [2001:db8:1::2]:443", "203.0.113.7"),
    ],
)
def test_the_port_that_a_gateway_writes_is_no_part_of_the_address(forwarded: str, address: str) -> None:
    assert caller(forwarded) == address


@each(
    "forwarded",
    [
        "203.0.113.7:",
        "203.0.113.7:65536",
        "203.0.113.7:123456",
        "203.0.113.7:x",
        "203.0.113.7:-1",
        "203.0.113.7:1:2",
        "203.0.113.7 :1",
        "203.0.113:80",
        "203.0.113.07:80",
        "[203.0.113.7]:80",
        "[2001:db8::1]",
        "[2001:db8::1]:",
        "[2001:db8::1]1234",
        "2001:db8::1]:1234",
        "[fe80::1%eth0]:1234",
        "[]:1234",
        "example.com:80",
        ":80",
        "203.0.113.7:\u0661",
        "192.0.2.9, [nonsense]:80",
    ],
    ids=ascii,
)
def test_an_invalid_address_is_none(forwarded: str) -> None:
    assert caller(forwarded) == PROXY


def test_headers_of_untrusted_peers_are_ignored() -> None:
    assert caller("203.0.113.7:1234", peer="192.0.2.1") == "192.0.2.1"


@each(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
    ],
)
def test_an_ipv6_network_is_counted_once(address: str, counted: str) -> None:
    assert counted_range(ip_address(address)) == counted


def test_callers_without_an_address_are_counted_together() -> None:
    assert counted_range(None) == "unknown"
