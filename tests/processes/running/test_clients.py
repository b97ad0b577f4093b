"""HTTP Digest of real clients, and of attackers without the key."""

import asyncio
import hashlib
import http.client
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest
import requests
from django.conf import settings
from requests.auth import HTTPDigestAuth

from accesslist.digest import rules as digest
from accesslist.digest.authentication import nonce_key
from opsapi import clock
from opsapi.api.links import PUBLIC
from tests.client import authorization
from tests.factories.accesslist import KeyPair
from tests.processes.clients import CLIENTS, CLIENTS_WITH_MEMORY, Client, ClientCall, parameter
from tests.processes.conftest import ProcessCaller

pytestmark = pytest.mark.processes

LIST = f"{PUBLIC}/groups"
ESCAPED_QUERY = f"{LIST}?pretty=true&note=%C3%A9%20a%2Fb%26c%3Dd+e&empty="
ESCAPED_SLASH = f"{LIST}/payments%2Fstaging"
CONNECTIONS = 10
BUSY = "127.0.0.9"
"""An address whose wrong requests count for no other test."""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("call", "status"),
    [
        (ClientCall("GET", LIST), 200),
        (ClientCall("GET", f"{LIST}/"), 200),
        (ClientCall("GET", ESCAPED_QUERY), 200),
        (ClientCall("GET", ESCAPED_SLASH), 404),
        (ClientCall("GET", f"{PUBLIC}/nothing/here"), 404),
    ],
    ids=lambda value: value.target if isinstance(value, ClientCall) else str(value),
)
def test_it_knows_the_key_in_whatever_form_the_target_comes(
    owner: ProcessCaller, client: Client, call: ClientCall, status: int
) -> None:
    (answer,) = client(owner, [call])
    assert answer.status == status
    assert parameter(answer.authorization, "uri") == call.target


@pytest.mark.parametrize("client", CLIENTS)
def test_it_takes_a_body_with_the_credentials(owner: ProcessCaller, client: Client) -> None:
    name = f"made {client.__name__}"
    (answer,) = client(owner, [ClientCall("POST", LIST, {"name": name})])
    assert answer.status == 201
    assert name in [group["name"] for group in owner.get("/groups")["results"]]


@pytest.mark.parametrize("client", CLIENTS_WITH_MEMORY)
def test_a_nonce_serves_again_with_a_growing_count(owner: ProcessCaller, client: Client) -> None:
    answers = client(owner, [ClientCall("GET", LIST)] * 4)
    assert [answer.status for answer in answers] == [200] * 4
    assert len({answer.nonce for answer in answers}) == 1
    assert [answer.count for answer in answers] == [1, 2, 3, 4]


def test_threads_that_share_a_session_are_all_served(owner: ProcessCaller) -> None:
    with requests.Session() as session, ThreadPoolExecutor(20) as threads:
        session.auth = HTTPDigestAuth(owner.public_key, owner.private_key)
        session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=20))
        url = owner.platform.base_url + LIST
        statuses = list(threads.map(lambda _: session.get(url, timeout=60).status_code, range(100)))
    assert statuses == [200] * 100


def test_calls_at_once_on_one_nonce_are_all_served(owner: ProcessCaller) -> None:
    async def call_at_once() -> list[int]:
        auth = httpx.DigestAuth(owner.public_key, owner.private_key)
        async with httpx.AsyncClient(auth=auth, base_url=owner.platform.base_url, timeout=60) as client:
            await client.get(LIST)
            answers = await asyncio.gather(*(client.get(LIST) for _ in range(40)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(call_at_once()) == [200] * 40


# --- attackers ------------------------------------------------------------------------------------


@pytest.fixture
def forger(owner: ProcessCaller) -> "Forger":
    """Somebody with a socket of their own."""
    return Forger(owner)


class Forger:
    """Makes requests by hand, each on a new connection; knows even the secret nonces are signed with."""

    def __init__(self, owner: ProcessCaller) -> None:
        self.key = KeyPair("", owner.public_key, owner.private_key)
        self._platform = owner.platform
        self._nonce_key = nonce_key((owner.platform.data_dir / "secret_key").read_text().strip())

    def nonce(self, *, age: timedelta = timedelta()) -> str:
        """One that the platform signed so long ago."""
        return digest.mint_nonce(self._nonce_key, clock.now() - age)

    def header(self, uri: str = LIST, *, nonce: str | None = None) -> str:
        """The right Authorization for GET of this target."""
        return authorization(self.key, "GET", uri, nonce=nonce or self.nonce(), nc="00000001")

    def send(self, header: str, target: str = LIST, address: str = "127.0.0.1") -> tuple[int, str]:
        """GET from an address; status and challenge of the answer."""
        return self.ask(f"GET {target}", [f"Authorization: {header}"], address)

    def ask(self, what: str, headers: Sequence[str], address: str) -> tuple[int, str]:
        """Any request without a body."""
        lines = [f"{what} HTTP/1.1", f"Host: 127.0.0.1:{self._platform.port}", *headers]
        whole = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
        place = ("127.0.0.1", self._platform.port)
        with socket.create_connection(place, timeout=60, source_address=(address, 0)) as connection:
            connection.sendall(whole)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            answer.read()
        return answer.status, answer.getheader("WWW-Authenticate", "")


def _is_refused(answer: tuple[int, str], *, stale: bool) -> bool:
    status, challenge = answer
    return status == 401 and challenge.endswith(f"stale={str(stale).lower()}")


def test_the_requests_created_by_hand_are_right_ones(forger: Forger) -> None:
    assert forger.send(forger.header()) == (200, "")


def test_a_request_replayed_is_refused_in_every_web_process(forger: Forger) -> None:
    header = forger.header()
    assert forger.send(header) == (200, "")
    answers = [forger.send(header) for _ in range(CONNECTIONS)]
    assert all(_is_refused(answer, stale=True) for answer in answers), answers


def test_of_the_same_request_at_once_one_gets_through(forger: Forger) -> None:
    header = forger.header()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = list(threads.map(lambda _: forger.send(header), range(CONNECTIONS)))
    assert [status for status, _ in sorted(answers)] == [200] + [401] * (CONNECTIONS - 1)


@pytest.mark.parametrize("target", [f"{LIST}?pretty=true", f"{LIST}/", f"{PUBLIC}/admin/apiKeys"])
def test_a_response_created_for_another_target_is_refused(forger: Forger, target: str) -> None:
    status, _ = forger.send(forger.header(LIST), target)
    assert status == 400


def test_an_expired_nonce_with_a_right_response_is_stale(forger: Forger) -> None:
    old = forger.nonce(age=digest.NONCE_LIFETIME + timedelta(seconds=1))
    assert _is_refused(forger.send(forger.header(nonce=old)), stale=True)


def test_an_expired_nonce_with_a_wrong_response_is_not(forger: Forger) -> None:
    old = forger.nonce(age=digest.NONCE_LIFETIME + timedelta(seconds=1))
    assert _is_refused(forger.send(_with_wrong_response(forger.header(nonce=old))), stale=False)


@pytest.mark.parametrize(
    "forge",
    [
        lambda _: "0123456789abcdef0123456789abcdef",
        lambda good: good[:-1] + ("A" if good[-1] != "A" else "B"),
        lambda good: ("A" if good[0] != "A" else "B") + good[1:],
        lambda _: digest.mint_nonce(b"another key", clock.now()),
    ],
    ids=["invented", "other signature", "other time", "other secret"],
)
def test_a_nonce_that_is_not_ours_is_refused(forger: Forger, forge: Callable[[str], str]) -> None:
    """Whoever proved the key may try again with the new one (RFC 7616 3.3); whoever did not may not."""
    header = forger.header(nonce=forge(forger.nonce()))
    assert _is_refused(forger.send(header), stale=True)
    assert _is_refused(forger.send(_with_wrong_response(header)), stale=False)


def test_a_wrong_response_is_refused(forger: Forger) -> None:
    assert _is_refused(forger.send(_with_wrong_response(forger.header())), stale=False)


def test_the_form_without_qop_is_refused(forger: Forger) -> None:
    nonce = forger.nonce()
    secret = digest.ha1(forger.key.public_key, digest.REALM, forger.key.private_key)
    header = (
        f'Digest username="{forger.key.public_key}", realm="{digest.REALM}", nonce="{nonce}", uri="{LIST}", '
        f'response="{_rfc_2069_response(secret, nonce, LIST)}"'
    )
    assert _is_refused(forger.send(header), stale=False)
    assert _is_refused(forger.send(forger.header().replace("qop=auth, ", "")), stale=False)


def test_what_is_wrong_counts_in_all_web_processes_together(forger: Forger) -> None:
    wrong = _with_wrong_response(forger.header())
    first_user = (f"POST {PUBLIC}/unauth/users", ["Content-Type: application/json", "Content-Length: 0"])
    failed, calls = settings.OPSAPI_RATE_FAILED_AUTH, settings.OPSAPI_RATE_FIRST_USER
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = list(threads.map(lambda _: forger.send(wrong, address=BUSY), range(failed + 20)))
        created = list(threads.map(lambda _: forger.ask(*first_user, BUSY), range(calls + 10)))
    assert Counter(status for status, _ in answers) == {401: failed, 429: 20}
    assert Counter(status for status, _ in created) == {400: calls, 429: 10}
    assert forger.send(forger.header(), address=BUSY)[0] == 200


def _with_wrong_response(header: str) -> str:
    right = parameter(header, "response")
    return header.replace(right, right[::-1])


def _rfc_2069_response(secret: str, nonce: str, uri: str) -> str:
    """What a client sends that was offered no qop (RFC 2069 2.1.2)."""
    return _md5(f"{secret}:{nonce}:{_md5(f'GET:{uri}')}")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
