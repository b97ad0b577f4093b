"""The text of a receiver is short, printable and without secrets."""

import json

from integrations.channels.peer_text import (
    LONGEST_REASON,
    LONGEST_TEXT,
    answer_text,
    peer_text,
    with_peer_text,
)
from tests.each import each


@each(
    ("text", "shown"),
    [
        ("User unknown", "User unknown"),
        ("two\r\nlines\x00\x1b[31m\u202e", "two lines [31m"),
        ("invalid key R0UT1NGK3Y here", "invalid key ****** here"),
        ("INVALID KEY r0ut1ngk3y", "INVALID KEY ******"),
        ("Authorization: Bearer abcdef012345 refused", "Authorization: Bearer ****** refused"),
        ('password="hunter2!" is wrong', "password=****** is wrong"),
        ("invalid token", "invalid token"),
        ("<oncall@example.com>: no such user", "<******>: no such user"),
        ("connection from 10.1.2.3 refused", "connection from ****** refused"),
        ("[192.168.0.7]:25 and 127.0.0.1", "[******]:25 and ******"),
        ("from fd00::12:3 refused", "from ****** refused"),
        ("from ::1 refused", "from ****** refused"),
        ("client 8.8.8.8 is listed", "client 8.8.8.8 is listed"),
        ("version 5.1.1 at 12:30:45", "version 5.1.1 at 12:30:45"),
        ("see mx1.prod.internal or localhost", "see ****** or ******"),
        ("see https://ada:pw@example.com/x?key=1", "see https://******@example.com/x?******"),
    ],
)
def test_secrets_and_internal_addresses_are_not_shown(text: str, shown: str) -> None:
    assert peer_text(text, secrets=["R0UT1NGK3Y", ""]) == shown


def test_a_text_is_cut() -> None:
    assert len(peer_text("word " * 10_000)) <= LONGEST_TEXT
    assert len(with_peer_text("r" * 290, "t" * 200)) == LONGEST_REASON
    assert with_peer_text("reason", "") == "reason"


@each(
    ("body", "content_type", "text"),
    [
        ({"ok": False, "error": "channel_not_found"}, "application/json", "channel_not_found"),
        (
            {"status": "invalid event", "message": "Event object is invalid", "errors": ["Length too long"]},
            "application/json",
            "Length too long; Event object is invalid",
        ),
        (
            {"code": 20003, "message": "Authenticate", "more_info": "https://…", "status": 401},
            "application/json",
            "20003; Authenticate",
        ),
        ({"message": "Could not authenticate", "took": 0.1, "requestId": "1"}, "", "Could not authenticate"),
        ({"error": {"code": "X", "message": "The workflow is off"}}, "text/json", "X; The workflow is off"),
        ({"errors": [{"title": "Forbidden", "detail": "No"}]}, "application/json", "Forbidden; No"),
        ({"errors": {"a": {"b": {"c": {"message": "too deep"}}}}}, "application/json", ""),
    ],
)
def test_the_known_fields_of_json_are_shown(body: object, content_type: str, text: str) -> None:
    assert answer_text(json.dumps(body).encode(), content_type) == text


@each(
    ("body", "content_type", "text"),
    [
        (b"invalid_payload", "text/plain; charset=utf-8", "invalid_payload"),
        (b"no_service", "", "no_service"),
        (b"no_service", "application/json", "no_service"),
        (b"no_service", "application/problem+json; charset=utf-8", "no_service"),
        (b'{"error": "no_serv', "Application/JSON", '{"error": "no_serv'),
        (b"no\0service", "text/plain", "no\0service"),
        (b"<html><h1>Bad gateway</h1></html>", "application/json", ""),
        (b"no_service", "application/octet-stream", ""),
        (b"<html><h1>Bad gateway</h1></html>", "text/html", ""),
        (b"<!DOCTYPE html><p>x", "", ""),
        (b"\x1f\x8b\x00", "", ""),
        (b"gzip", None, ""),
        (b"", "text/plain", ""),
    ],
)
def test_plain_text_is_shown_and_markup_is_not(body: bytes, content_type: str | None, text: str) -> None:
    assert answer_text(body, content_type) == text


def test_a_secret_that_the_end_of_a_text_cuts_off_is_masked() -> None:
    secret = "R0UT1NGK3Y-and-more"
    before = f"{secret} " * 150  # more than is read, and short when it is masked
    for length in range(8, len(secret)):
        for text in (f"refused {secret[:length]}", before[length:]):
            assert "R0UT1NGK" not in peer_text(text, secrets=[secret])


@each("secret", ['R0UT"1NGK3Y', "R0UT\\1NGK3Y", "R0UTÄ1NGK3Y"])
def test_a_secret_that_an_incomplete_json_text_escapes_is_masked(secret: str) -> None:
    for is_ascii in (True, False):
        text = json.dumps({"error": f"no key {secret} here", "more": 1}, ensure_ascii=is_ascii)[:-5]
        assert "no key ****** here" in peer_text(answer_text(text.encode(), "text/json"), secrets=[secret])
