"""Redaction: how much of a secret may be shown."""

from opsapi.redaction import redact_secret, redact_token, redact_url
from tests.each import each


@each(
    ("value", "shown"),
    [
        ("", "******"),
        ("12345678", "******"),
        ("123456789", "******6789"),
        ("a" * 40 + "wxyz", "******wxyz"),
    ],
)
def test_a_token_shows_its_last_four_from_nine_characters_on(value: str, shown: str) -> None:
    assert redact_token(value) == shown


@each("value", ["", "short", "a very long passphrase indeed"])
def test_a_redacted_secret_reveals_nothing(value: str) -> None:
    assert redact_secret(value) == "******"


@each(
    ("value", "shown"),
    [
        ("https://hooks.example.com/services/T000/B000/XXXXabcd", "https://hooks.example.com/******abcd"),
        ("http://hooks.example.com:8080/a/b/c/d/", "http://hooks.example.com:8080/******/c/d"),
        ("https://ada:secret@hooks.example.com/path/token", "https://hooks.example.com/******oken"),
        ("https://hooks.example.com/path/token?key=secret#part", "https://hooks.example.com/******oken"),
        ("https://hooks.example.com", "https://hooks.example.com/******"),
        ("https://hooks.example.com/?key=secret", "https://hooks.example.com/******"),
    ],
)
def test_a_url_shows_scheme_host_and_the_end_of_its_path(value: str, shown: str) -> None:
    assert redact_url(value) == shown
