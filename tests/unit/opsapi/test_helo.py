"""The name that the platform gives to the mail server."""

import pytest
from pytest_django import Settings

from opsapi.apps import the_mail_server_gets_a_name
from opsapi.helo import helo_form, helo_name
from tests.each import each


@each(
    ("text", "form"),
    [
        ("ops.example.com", "ops.example.com"),
        ("ops.example.com.", "ops.example.com"),
        ("ops", "ops"),
        ("192.0.2.1", "[192.0.2.1]"),
        ("[192.0.2.1]", "[192.0.2.1]"),
        ("2001:db8::1", "[IPv6:2001:db8::1]"),
        ("[IPv6:2001:db8::1]", "[IPv6:2001:db8::1]"),
        ("b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example", "xn--bcher-kva.example"),
        ("two words", None),
        ("ops.example.com\r\nMAIL FROM:<a@example.com>", None),
        ("under_score.example", None),
        ("fe80::1%eth0", None),
        ("a" * 64 + ".example", None),
        ("", None),
    ],
)
def test_a_name_or_an_address_becomes_an_argument_of_ehlo(text: str, form: str | None) -> None:
    assert helo_form(text) == form


@pytest.mark.parametrize(
    ("helo", "public_url", "sender", "name"),
    [
        ("mx.example.com", "https://ops.example.com", "Ops <ops@example.org>", "mx.example.com"),
        ("", "https://ops.example.com:8443/base", "Ops <ops@example.org>", "ops.example.com"),
        ("", "http://[2001:db8::1]:8000", "ops@example.org", "[IPv6:2001:db8::1]"),
        ("", "", "Ops <ops@example.org>", "example.org"),
        ("", "", "ops@localhost", "localhost"),
        ("", "", "nobody", "localhost"),
    ],
)
def test_the_first_name_that_is_set_counts(
    settings: Settings, helo: str, public_url: str, sender: str, name: str
) -> None:
    settings.OPSAPI_EMAIL_HELO, settings.OPSAPI_PUBLIC_URL = helo, public_url
    settings.DEFAULT_FROM_EMAIL = sender
    assert helo_name() == name


@pytest.mark.parametrize(
    ("helo", "sender", "host", "found"),
    [
        ("ops.example.com", "ops@localhost", "mail.example.com", []),
        ("not a name", "ops@example.com", "mail.example.com", ["opsapi.E004"]),
        ("", "ops@localhost", "mail.example.com", ["opsapi.W005"]),
        ("", "ops@localhost", "localhost", []),
        ("", "ops@example.com", "mail.example.com", []),
    ],
)
def test_a_name_that_servers_refuse_is_found_by_check(
    settings: Settings, helo: str, sender: str, host: str, found: list[str]
) -> None:
    settings.OPSAPI_EMAIL_HELO, settings.OPSAPI_PUBLIC_URL = helo, ""
    settings.DEFAULT_FROM_EMAIL, settings.EMAIL_HOST = sender, host
    assert [message.id for message in the_mail_server_gets_a_name()] == found
