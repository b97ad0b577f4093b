"""Real clients that speak HTTP Digest, behind one signature: a session, some calls, the last answers."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import requests
from requests.auth import HTTPDigestAuth

from tests.processes.conftest import ProcessCaller


@dataclass(frozen=True)
class ClientCall:
    """One request a client is to make."""

    method: str
    target: str
    body: Any = None


@dataclass(frozen=True)
class ClientAnswer:
    """The last answer to a call, and the Authorization it was given for."""

    status: int
    authorization: str

    @property
    def nonce(self) -> str:
        """The nonce the client used."""
        return parameter(self.authorization, "nonce")

    @property
    def count(self) -> int:
        """How often it had used it."""
        return int(parameter(self.authorization, "nc"), 16)


def parameter(header: str, name: str) -> str:
    """One parameter of an Authorization header."""
    found = re.search(rf'\b{name}="?([^",]+)', header)
    assert found, header
    return found[1]


def with_curl(owner: ProcessCaller, calls: Sequence[ClientCall]) -> list[ClientAnswer]:
    """The command curl, once for each call."""
    credentials = ["--digest", "--user", f"{owner.public_key}:{owner.private_key}"]
    command = ["curl", "--silent", "--verbose", *credentials, "--header", "Content-Type: application/json"]
    answers = []
    for call in calls:
        body = [] if call.body is None else ["--data", json.dumps(call.body)]
        url = owner.platform.base_url + call.target
        done = subprocess.run(
            [*command, "--request", call.method, *body, url], capture_output=True, text=True, check=True
        )
        sent = re.findall(r"^> Authorization: (.*?)\r?$", done.stderr, re.MULTILINE)
        statuses = re.findall(r"^< HTTP/1.1 (\d+)", done.stderr, re.MULTILINE)
        answers.append(ClientAnswer(int(statuses[-1]), sent[-1]))
    return answers


def with_requests(owner: ProcessCaller, calls: Sequence[ClientCall]) -> list[ClientAnswer]:
    """A session of requests."""
    with requests.Session() as session:
        session.auth = HTTPDigestAuth(owner.public_key, owner.private_key)
        made = [
            session.request(call.method, owner.platform.base_url + call.target, json=call.body)
            for call in calls
        ]
    return [
        ClientAnswer(response.status_code, str(response.request.headers["Authorization"]))
        for response in made
    ]


def with_httpx(owner: ProcessCaller, calls: Sequence[ClientCall]) -> list[ClientAnswer]:
    """A session of httpx."""
    auth = httpx.DigestAuth(owner.public_key, owner.private_key)
    with httpx.Client(auth=auth, base_url=owner.platform.base_url) as client:
        made = [client.request(call.method, call.target, json=call.body) for call in calls]
    return [
        ClientAnswer(response.status_code, response.request.headers["Authorization"]) for response in made
    ]


def with_aiohttp(owner: ProcessCaller, calls: Sequence[ClientCall]) -> list[ClientAnswer]:
    """A session of aiohttp."""
    import aiohttp  # noqa: PLC0415 - half a second in each process that collects the tests
    from yarl import URL  # noqa: PLC0415 - as above

    async def make() -> list[ClientAnswer]:
        auth = aiohttp.DigestAuthMiddleware(owner.public_key, owner.private_key)
        answers = []
        async with aiohttp.ClientSession(middlewares=(auth,)) as session:
            for call in calls:
                url = URL(owner.platform.base_url + call.target, encoded=True)
                async with session.request(call.method, url, json=call.body) as answer:
                    answers.append(ClientAnswer(answer.status, answer.request_info.headers["Authorization"]))
        return answers

    return asyncio.run(make())


Client = Callable[[ProcessCaller, Sequence[ClientCall]], list[ClientAnswer]]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
CLIENTS = [pytest.param(with_curl, marks=needs_curl), with_requests, with_httpx, with_aiohttp]
# The command line of curl forgets the challenge after each URL.
CLIENTS_WITH_MEMORY = [with_requests, with_httpx, with_aiohttp]
