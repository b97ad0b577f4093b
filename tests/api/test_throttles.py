"""Throttles over HTTP: wrong credentials, and endpoint 5."""

from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.conf import settings as _settings
from django.db import OperationalError, connection
from pytest_django import Settings

from accesslist.digest import rules as digest
from accesslist.digest.authentication import nonce_key
from accesslist.models import RateWindow, User
from opsapi import clock
from opsapi.api.links import PUBLIC
from opsapi.roles import Role
from tests.api import bodies
from tests.client import ApiClient, authorization
from tests.factories.accesslist import KeyPair, make_key

PATH, FIRST_USER = f"{PUBLIC}/groups", "/unauth/users"
LIMIT = 3
HERE, THERE = "192.0.2.7", "203.0.113.9"
NOON = "2099-01-01T12:00:00Z"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def moment(settings: Settings) -> Iterator[Any]:
    """Noon, LIMIT attempts a minute."""
    settings.OPSAPI_RATE_FAILED_AUTH = settings.OPSAPI_RATE_FIRST_USER = LIMIT
    with time_machine.travel(NOON, tick=False) as travelling:
        yield travelling


@pytest.fixture
def key(db: None, moment: Any) -> KeyPair:
    """A Global owner's key."""
    return make_key(Role.GLOBAL_OWNER)


def send(credentials: str | None, address: str = HERE, path: str = PATH, **headers: str) -> Any:
    """The answer to a request with these credentials."""
    named = {} if credentials is None else {"HTTP_AUTHORIZATION": credentials}
    return ApiClient().request("GET", path, base="", REMOTE_ADDR=address, **named, **headers)


def right(key: KeyPair) -> str:
    """Credentials that get in."""
    return authorization(key, "GET", PATH)


def wrong(key: KeyPair, kind: str = "response") -> str:
    """Credentials that do not."""
    forged = digest.mint_nonce(b"another key", clock.now())
    return {
        "response": right(KeyPair(key.id, key.public_key, "wrong")),
        "key": right(KeyPair("", "nobody", "wrong")),
        "method": authorization(key, "POST", PATH),
        "realm": right(key).replace("Ops Public API", "Another API"),
        "response and nonce": authorization(
            KeyPair(key.id, key.public_key, "wrong"), "GET", PATH, nonce=forged
        ),
        "garbage": "Digest nonsense",
        "scheme": "Basic azA6cHc=",
        "empty": "",
    }[kind]


KINDS = ["response", "key", "method", "realm", "response and nonce", "garbage", "scheme", "empty"]


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_credentials_beyond_the_limit_are_429(key: KeyPair, kind: str, moment: Any) -> None:
    assert [send(wrong(key, kind)).status_code for _ in range(LIMIT)] == [401] * LIMIT
    moment.shift(20)
    answer = send(wrong(key, kind))
    assert (answer.status_code, answer.json()["errorCode"]) == (429, "RATE_LIMITED")
    assert (answer.headers["Retry-After"], answer.json()["parameters"]) == ("40", ["40"])
    assert "WWW-Authenticate" not in answer.headers


def test_all_kinds_count_together(key: KeyPair) -> None:
    statuses = [send(wrong(key, kind)).status_code for kind in KINDS]
    assert statuses == [401] * LIMIT + [429] * (len(KINDS) - LIMIT)


def test_right_credentials_always_pass(key: KeyPair) -> None:
    for _ in range(LIMIT + 1):
        send(wrong(key))
    assert send(wrong(key)).status_code == 429
    assert send(right(key)).status_code == 200


def test_a_request_without_credentials_never_counts(key: KeyPair) -> None:
    assert [send(None).status_code for _ in range(2 * LIMIT)] == [401] * 2 * LIMIT
    assert [send(wrong(key)).status_code for _ in range(LIMIT)] == [401] * LIMIT
    assert send(wrong(key)).status_code == 429
    assert send(None).status_code == 401


def test_a_nonce_too_old_used_or_not_ours_does_not_count(key: KeyPair) -> None:
    old = digest.mint_nonce(nonce_key(_secret()), clock.now() - digest.NONCE_LIFETIME)
    replayed = right(key)
    assert send(replayed).status_code == 200
    forged = digest.mint_nonce(b"another key", clock.now())
    others = [authorization(key, "GET", PATH, nonce=nonce) for nonce in (old, forged, " ", "nonsense")]
    for credentials in (replayed, *others):
        answers = [send(credentials) for _ in range(LIMIT + 1)]
        assert {answer.status_code for answer in answers} == {401}
        assert all(answer.headers["WWW-Authenticate"].endswith("stale=true") for answer in answers)
    assert not RateWindow.objects.exists()


def test_each_address_counts_for_itself(key: KeyPair) -> None:
    for _ in range(LIMIT + 1):
        send(wrong(key))
    assert send(wrong(key), THERE).status_code == 401
    assert send(wrong(key), f"::ffff:{HERE}").status_code == 429


def test_an_ipv6_network_counts_as_one(key: KeyPair) -> None:
    statuses = [send(wrong(key), f"2001:db8:0:1::{number}").status_code for number in range(LIMIT + 1)]
    assert statuses == [401] * LIMIT + [429]
    assert send(wrong(key), "2001:db8:0:2::1").status_code == 401


def test_the_window_ends(key: KeyPair, moment: Any) -> None:
    for _ in range(LIMIT + 1):
        send(wrong(key))
    moment.shift(59.5)
    assert send(wrong(key)).headers["Retry-After"] == "1"
    moment.shift(0.5)
    assert send(wrong(key)).status_code == 401


def test_nought_is_no_limit(key: KeyPair, stranger: ApiClient, settings: Settings) -> None:
    settings.OPSAPI_RATE_FAILED_AUTH = settings.OPSAPI_RATE_FIRST_USER = 0
    assert {send(wrong(key)).status_code for _ in range(2 * LIMIT)} == {401}
    assert {stranger.post(FIRST_USER, {}).status_code for _ in range(2 * LIMIT)} == {400}
    assert not RateWindow.objects.exists()


def test_the_limit_holds_for_every_path(key: KeyPair) -> None:
    paths = [PATH, f"{PUBLIC}/nope", f"{PUBLIC}/groups/malformed", f"{PUBLIC}/eventTypes"]
    statuses = [send("Digest nonsense", path=path).status_code for path in paths]
    assert statuses == [401] * LIMIT + [429]


def test_every_call_of_endpoint_5_counts_whatever_becomes_of_it(stranger: ApiClient, moment: Any) -> None:
    assert stranger.post(FIRST_USER, bodies.user()).status_code == 201
    assert stranger.post(FIRST_USER, {}).status_code == 400
    assert stranger.get(FIRST_USER).status_code == 405
    moment.shift(0.1)
    answer = stranger.post(FIRST_USER, bodies.user(username="grace"))
    assert (answer.status_code, answer.json()["errorCode"]) == (429, "RATE_LIMITED")
    assert answer.headers["Retry-After"] == "60"
    assert User.objects.count() == 1
    moment.shift(60)
    assert stranger.post(FIRST_USER, bodies.user(username="grace")).status_code == 201


def test_429_comes_before_everything_else(stranger: ApiClient, settings: Settings) -> None:
    settings.OPSAPI_INVITATION_ONLY = False
    options: dict[str, Any] = {"content_type": "text/plain", "HTTP_HOST": "evil.example.com"}
    statuses = [
        stranger.request("POST", f"{FIRST_USER}?pretty=maybe", b"x", **options).status_code
        for _ in range(LIMIT + 1)
    ]
    assert statuses == [403] * LIMIT + [429]


def test_attempts_of_both_kinds_do_not_count_for_each_other(key: KeyPair, stranger: ApiClient) -> None:
    for _ in range(LIMIT + 1):
        send(wrong(key))
    assert stranger.post(FIRST_USER, {}, REMOTE_ADDR=HERE).status_code == 400


def test_the_rows_hold_no_more_than_the_address(key: KeyPair, stranger: ApiClient) -> None:
    send(wrong(key, "key"), "2001:db8:0:1::7")
    stranger.post(FIRST_USER, bodies.user(), REMOTE_ADDR=HERE)
    assert set(RateWindow.objects.values_list("bucket", flat=True)) == {
        "auth 2001:db8:0:1::/64",
        f"first user {HERE}",
    }


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_died_is_replaced_before_the_first_attempt_is_counted(
    transactional_db: None, stranger: ApiClient
) -> None:
    _kill_the_connection()
    assert send("Digest nonsense").status_code == 401
    _kill_the_connection()
    assert stranger.post(FIRST_USER, {}).status_code == 400


def _kill_the_connection() -> None:
    with connection.cursor() as cursor, pytest.raises(OperationalError):
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def _secret() -> str:
    return str(_settings.SECRET_KEY)
