"""The URL of the outgoing proxy, and which receivers are reached without it."""

import traceback
from ipaddress import ip_address

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsapi import environment
from opsapi.outgoing_proxy import OutgoingProxy, Unproxied
from tests.each import each

PASSWORD = "hunter2secret"
NAME = "OPSAPI_TRIAL"


@pytest.mark.parametrize(
    "url",
    [
        f"ada:{PASSWORD}@proxy.example:3128",
        f"socks5://ada:{PASSWORD}@proxy.example:1080",
        f"http://ada:{PASSWORD}/x@proxy.example:3128",
        f"http://ada:{PASSWORD}@x@proxy.example:3128",
        f"http://ada:{PASSWORD}@proxy.example:3128/path",
        f"http://ada:{PASSWORD}@proxy.example:3128/?x={PASSWORD}",
        f"http://ada:{PASSWORD}@proxy.example:3128#{PASSWORD}",
        f"http://ada:{PASSWORD}@proxy.example:0",
        f"http://ada:{PASSWORD}@proxy.example:65536",
        f"http://ada:{PASSWORD}@proxy.example:port",
        f"http://ada:{PASSWORD}@pro xy.example",
        f"http://ada:{PASSWORD}@[::1",
        f"http://a%3Ada:{PASSWORD}@proxy.example",
        f"http://:{PASSWORD}@proxy.example",
        f"http://ada:{PASSWORD}%0D%0AX@proxy.example",
        f"http://ada:{PASSWORD}@",
    ],
)
def test_a_malformed_url_is_refused_at_the_start_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(environment, "READ", {})
    monkeypatch.setenv(NAME, url)
    with pytest.raises(ImproperlyConfigured) as refusal:
        environment.outgoing_proxy(NAME)
    assert str(refusal.value).startswith(f"{NAME}: ")
    assert PASSWORD not in "".join(traceback.format_exception(refusal.value))


def test_its_text_has_no_log_in() -> None:
    proxy = OutgoingProxy.of_url(f"https://ada:{PASSWORD}@Proxy.example:8443")
    assert str(proxy) == "https://proxy.example:8443"
    for secret in [PASSWORD, *proxy.secrets]:
        assert secret not in f"{proxy} {proxy!r}"


UNPROXIED = Unproxied.of_words(["intern.example", ".lan.example", "10.0.0.0/8", "192.0.2.7", "fd00::/8"])


@each(
    ("host", "addresses", "is_covered"),
    [
        ("intern.example", ["203.0.113.1"], True),
        ("Hook.Intern.Example.", ["203.0.113.1"], True),
        ("lan.example", ["203.0.113.1"], True),
        ("notintern.example", ["203.0.113.1"], False),
        ("intern.example.org", ["203.0.113.1"], False),
        ("hook.example", ["10.1.2.3"], True),
        ("10.1.2.3", ["10.1.2.3"], True),
        ("hook.example", ["10.1.2.3", "fd00::1"], True),
        ("hook.example", ["10.1.2.3", "203.0.113.1"], False),
        ("192.0.2.7", ["192.0.2.7"], True),
        ("192.0.2.8", ["192.0.2.8"], False),
        ("hook.example", [], False),
    ],
)
def test_domains_cover_their_subdomains_and_networks_cover_addresses(
    host: str, addresses: list[str], is_covered: bool
) -> None:
    assert UNPROXIED.covers(host, [ip_address(address) for address in addresses]) is is_covered
