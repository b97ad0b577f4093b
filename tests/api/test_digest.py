"""HTTP Digest over HTTP (RFC 7616): replays, expiry, forgeries, and what the response must cover."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.test import Client, override_settings

from accesslist.digest import rules as digest
from accesslist.digest.authentication import nonce_key
from accesslist.models import DigestEpoch
from opsapi import clock
from opsapi.api.links import PUBLIC
from opsapi.roles import Role
from tests.client import ApiClient, authorization
from tests.each import each
from tests.factories.accesslist import KeyPair, make_key
from tests.steps import STEPS

PATH = f"{PUBLIC}/groups"
WRONG = "00000000-0000-0000-000000000000"
pytestmark = pytest.mark.django_db


@pytest.fixture
def key(db: None) -> KeyPair:
    """A Global owner's key."""
    return make_key(Role.GLOBAL_OWNER)


def mint(at: datetime | None = None) -> str:
    """A nonce of ours."""
    return digest.mint_nonce(nonce_key(settings.SECRET_KEY), at or clock.now())


def header(
    key: KeyPair,
    method: str = "GET",
    uri: str = PATH,
    *,
    realm: str = digest.REALM,
    changes: Mapping[str, str | None] | None = None,
) -> str:
    """Credentials with some parameters changed, or left out where None; the response fits the rest."""
    nonce = mint()
    secret = digest.ha1(key.public_key, realm, key.private_key)
    right = digest.response(secret, method, uri, nonce, "00000001", "c0ffee")
    parameters: dict[str, str | None] = {
        "username": f'"{key.public_key}"',
        "realm": f'"{realm}"',
        "nonce": f'"{nonce}"',
        "uri": f'"{uri}"',
        "algorithm": "MD5",
        "qop": "auth",
        "nc": "00000001",
        "cnonce": '"c0ffee"',
        "response": f'"{right}"',
    }
    parameters |= changes or {}
    return "Digest " + ", ".join(f"{name}={value}" for name, value in parameters.items() if value is not None)


def send(credentials: str, method: str = "GET", uri: str = PATH, **options: Any) -> Any:
    """The answer to a request with these credentials."""
    return ApiClient().request(method, uri, base="", HTTP_AUTHORIZATION=credentials, **options)


def stale(answer: Any) -> bool:
    """Whether the refusal says that only the nonce was too old."""
    assert answer.status_code == 401
    found = re.search(r"stale=(true|false)$", answer.headers["WWW-Authenticate"])
    assert found
    return found[1] == "true"


def test_right_credentials_pass(key: KeyPair) -> None:
    assert send(header(key)).status_code == 200


def test_a_replayed_request_is_stale(key: KeyPair) -> None:
    credentials = header(key)
    assert send(credentials).status_code == 200
    assert stale(send(credentials))
    assert stale(send(credentials))


def test_a_nonce_is_good_for_many_counts_in_any_order(key: KeyPair) -> None:
    nonce = mint()
    for count in ("00000003", "00000001", "0000000A", "ffffffff"):
        assert send(authorization(key, "GET", PATH, nonce=nonce, nc=count)).status_code == 200
    assert stale(send(authorization(key, "GET", PATH, nonce=nonce, nc="0000000A")))
    assert stale(send(authorization(key, "GET", PATH, nonce=nonce, nc="0000000a")))


def test_a_refused_request_does_not_use_its_count_up(key: KeyPair) -> None:
    nonce = mint()
    wrong = KeyPair(key.id, key.public_key, WRONG)
    assert not stale(send(authorization(wrong, "GET", PATH, nonce=nonce, nc="00000001")))
    assert send(authorization(key, "GET", PATH, nonce=nonce, nc="00000001")).status_code == 200


def test_two_keys_may_share_a_nonce(key: KeyPair) -> None:
    nonce = mint()
    other = make_key(Role.GLOBAL_OWNER)
    assert send(authorization(key, "GET", PATH, nonce=nonce, nc="00000001")).status_code == 200
    assert send(authorization(other, "GET", PATH, nonce=nonce, nc="00000002")).status_code == 200


def test_the_response_is_for_one_uri(key: KeyPair) -> None:
    for uri in (f"{PATH}?pageNum=2", f"{PATH}/", f"/monitoring{PATH}"):
        answer = send(header(key, uri=uri))
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_AUTHORIZATION_URI")
        assert answer.json()["parameters"] == [uri, PATH]
        assert "proxy" in answer.json()["detail"]
        assert "WWW-Authenticate" not in answer
    assert send(header(key, uri=f"{PATH}?pageNum=2"), uri=f"{PATH}?pageNum=2").status_code == 200


def test_a_response_for_another_uri_uses_no_nonce(key: KeyPair) -> None:
    nonce = mint()
    other = authorization(key, "GET", f"{PATH}/", nonce=nonce, nc="00000001")
    assert send(other).status_code == 400
    assert send(authorization(key, "GET", PATH, nonce=nonce, nc="00000001")).status_code == 200


def test_a_wrong_response_for_another_uri_is_a_wrong_key(key: KeyPair) -> None:
    wrong = KeyPair(key.id, key.public_key, WRONG)
    unknown = KeyPair(key.id, "UNKNOWN", key.private_key)
    for guessed in (wrong, unknown):
        assert not stale(send(header(guessed, uri=f"{PATH}/")))


@override_settings(OPSAPI_RATE_FAILED_AUTH=1)
def test_right_responses_for_another_uri_do_not_count_as_attempts(key: KeyPair) -> None:
    for _ in range(3):
        assert send(header(key, uri=f"{PATH}/")).status_code == 400
    assert send(header(key)).status_code == 200


def test_the_response_is_for_one_method(key: KeyPair) -> None:
    assert not stale(send(header(key), method="HEAD"))
    assert send(header(key, method="HEAD"), method="HEAD").status_code == 200


def test_the_uri_is_compared_as_it_was_sent(key: KeyPair) -> None:
    uri = f"{PUBLIC}/users/a%2Fb%20c"
    assert send(header(key, uri=uri), uri=uri).status_code == 404
    decoded = f"{PUBLIC}/users/a/b%20c"
    assert send(header(key, uri=decoded), uri=uri).status_code == 400


@each(
    "change",
    [
        {"qop": None},
        {"qop": "auth-int"},
        {"nc": None},
        {"cnonce": None},
        {"uri": None},
        {"realm": '"Another Realm"'},
        {"realm": None},
        {"nonce": None},
        {"response": None},
        {"algorithm": "SHA-256"},
        {"algorithm": "MD5-sess"},
        {"nc": "1"},
        {"username": '"nobody"'},
        {"username": '"\\\\\\"; --"'},
        {"response": '"' + "0" * 32 + '"'},
        {"qop": "auth", "extra": '"unclosed'},
    ],
    ids=repr,
)
def test_incomplete_or_wrong_credentials_get_the_same_401(
    key: KeyPair, change: dict[str, str | None]
) -> None:
    assert not stale(send(header(key, changes=change)))


@each(
    "credentials",
    ["", "Digest", "Digest ", "Basic azA6cHc=", "Bearer x", "Digest \u00e9=1", "x" * 10_000, "Digest ,,,"],
)
def test_other_credentials_get_the_same_401(db: None, credentials: str) -> None:
    assert not stale(send(credentials))


def test_a_right_response_in_the_wrong_realm_is_refused(key: KeyPair) -> None:
    assert not stale(send(header(key, realm="Another Realm")))


@each("right", [True, False])
def test_an_expired_nonce_is_stale_only_with_the_right_response(key: KeyPair, right: bool) -> None:
    old = mint(clock.now() - digest.NONCE_LIFETIME)
    caller = key if right else KeyPair(key.id, key.public_key, WRONG)
    assert stale(send(authorization(caller, "GET", PATH, nonce=old))) is right


def not_ours() -> Mapping[str, str]:
    """Nonces that are not valid, whatever their age."""
    foreign = digest.mint_nonce(nonce_key("another secret"), clock.now())
    ahead = mint(clock.now() + timedelta(minutes=1))
    return {
        "blank": " ",
        "one letter": "A" * 32,
        "short": "short",
        "foreign": foreign,
        "from the future": ahead,
    }


@each("kind", ["blank", "one letter", "short", "foreign", "from the future"])
def test_a_nonce_not_ours_is_stale_only_with_the_right_response(key: KeyPair, kind: str) -> None:
    nonce = not_ours()[kind]
    assert stale(send(authorization(key, "GET", PATH, nonce=nonce)))
    for wrong in (KeyPair(key.id, key.public_key, WRONG), KeyPair("", "nobody", WRONG)):
        assert not stale(send(authorization(wrong, "GET", PATH, nonce=nonce)))
    assert send(authorization(key, "GET", f"{PATH}?x=1", nonce=nonce)).status_code == 400
    assert not stale(send(authorization(key, "POST", PATH, nonce=nonce)))


def test_a_nonce_from_before_the_memory_of_used_nonces_is_stale(key: KeyPair) -> None:
    started = DigestEpoch.objects.get().started
    with time_machine.travel(started + timedelta(seconds=10), tick=False):
        before, after = mint(started - timedelta(seconds=1)), mint(started + timedelta(seconds=1))
        assert stale(send(authorization(key, "GET", PATH, nonce=before)))
        assert send(authorization(key, "GET", PATH, nonce=after)).status_code == 200


def test_after_a_crash_emptied_the_tables_earlier_nonces_are_stale(key: KeyPair) -> None:
    # Nonces know the millisecond they are of, and the request may come within the same one.
    nonce = mint(clock.now() - timedelta(seconds=1))
    DigestEpoch.objects.all().delete()
    assert stale(send(authorization(key, "GET", PATH, nonce=nonce)))
    assert DigestEpoch.objects.count() == 1


def test_after_a_crash_the_nonce_of_the_refusal_is_good_though_another_began_to_remember_later(
    key: KeyPair,
) -> None:
    now = clock.now()
    DigestEpoch.objects.update(started=now + timedelta(seconds=1))
    with time_machine.travel(now, tick=False):
        refused = send(authorization(key, "GET", PATH))
        assert stale(refused)
        found = re.search(r'nonce="([^"]+)"', refused.headers["WWW-Authenticate"])
        assert found
        assert send(authorization(key, "GET", PATH, nonce=found[1])).status_code == 200


@each("step", STEPS, ids=str)
def test_after_the_clock_stepped_a_new_nonce_is_good_and_a_used_nonce_stays_used(
    key: KeyPair, step: timedelta
) -> None:
    began = DigestEpoch.objects.get().started
    now = began + step
    with time_machine.travel(now, tick=False):
        request = authorization(key, "GET", PATH, nonce=mint(now))
        assert send(request).status_code == 200
        started = DigestEpoch.objects.get().started
        assert started == min(began, now)
        assert stale(send(request))
        before = mint(started - timedelta(seconds=1))
        assert stale(send(authorization(key, "GET", PATH, nonce=before)))


def test_when_it_is_ready_used_nonces_are_remembered(db: None) -> None:
    DigestEpoch.objects.all().delete()
    Client().get("/health/ready")
    assert DigestEpoch.objects.count() == 1


def test_an_unknown_key_and_a_wrong_key_get_the_same_answer(key: KeyPair) -> None:
    answers = [
        send(authorization(caller, "GET", PATH))
        for caller in (KeyPair("", "nobody", WRONG), KeyPair(key.id, key.public_key, WRONG))
    ] + [ApiClient().request("GET", PATH, base="")]
    shown = [
        (
            answer.status_code,
            answer.content,
            sorted(answer.headers),
            re.sub('nonce="[^"]*"', "", answer.headers["WWW-Authenticate"]),
        )
        for answer in answers
    ]
    assert shown[0] == shown[1] == shown[2]


def test_each_challenge_has_a_nonce_of_its_own(db: None) -> None:
    challenges = {ApiClient().get("/groups").headers["WWW-Authenticate"] for _ in range(5)}
    assert len(challenges) == 5


def test_a_client_that_answers_the_challenge_is_authenticated(key: KeyPair) -> None:
    found = re.search('nonce="([^"]*)"', ApiClient().get("/groups").headers["WWW-Authenticate"])
    assert found
    assert send(authorization(key, "GET", PATH, nonce=found[1])).status_code == 200
