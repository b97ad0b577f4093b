"""Installations for the tests of this directory, and the people who call them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import pytest
import requests
from requests.auth import HTTPDigestAuth

from opsapi.api.links import AGENTS, PUBLIC
from tests.processes.platform import RunningPlatform, installation, prepared_installation


@pytest.fixture
def platform() -> Iterator[RunningPlatform]:
    """An installation of its own, not started."""
    with installation() as made:
        yield made


@pytest.fixture
def prepared() -> Iterator[RunningPlatform]:
    """The same, which was started before: for tests that are not about the first start."""
    with prepared_installation() as made:
        yield made


@pytest.fixture(scope="module")
def running() -> Iterator[RunningPlatform]:
    """A started one, for the tests of a module that leave it as it is.

    A start is expensive.
    """
    with prepared_installation() as made:
        made.start()
        yield made
        made.stop()


class JsonCaller(ABC):
    """Calls the API with one key, and reads JSON."""

    def get(self, path: str) -> Any:
        """GET, answered 200."""
        return self._request("GET", PUBLIC + path, None, 200)

    def post(self, path: str, body: Any) -> Any:
        """POST, answered 201."""
        return self._request("POST", PUBLIC + path, body, 201)

    def act(self, path: str) -> Any:
        """POST without a body, answered 200."""
        return self._request("POST", PUBLIC + path, None, 200)

    def patch(self, path: str, body: Any) -> Any:
        """What PATCH answers with 200."""
        return self._request("PATCH", PUBLIC + path, body, 200)

    def put(self, path: str, body: Any) -> Any:
        """PUT, answered 200."""
        return self._request("PUT", PUBLIC + path, body, 200)

    def delete(self, path: str) -> None:
        """DELETE, answered 204."""
        self._request("DELETE", PUBLIC + path, None, 204)

    def report(self, group_id: str, body: Any) -> Any:
        """An agent's report, answered 202."""
        return self._request("POST", f"{AGENTS}/groups/{group_id}/reports", body, 202)

    @abstractmethod
    def with_key(self, key: dict[str, Any]) -> Self:
        """Somebody else at the same platform; `key` is the answer that created the key."""

    @abstractmethod
    def _request(self, method: str, path: str, body: Any, status: int) -> Any:
        """The document of the answer, which has this status."""


class ProcessCaller(JsonCaller):
    """Calls a platform over HTTP Digest, each time on a new connection."""

    def __init__(self, platform: RunningPlatform, key: dict[str, Any]) -> None:
        """`key` is the answer that created the key, with the whole private key."""
        self.platform = platform
        self.public_key: str = key["publicKey"]
        self.private_key: str = key["privateKey"]
        self.auth = HTTPDigestAuth(self.public_key, self.private_key)

    def with_key(self, key: dict[str, Any]) -> Self:
        return type(self)(self.platform, key)

    def _request(self, method: str, path: str, body: Any, status: int) -> Any:
        answer = requests.request(
            method, self.platform.base_url + path, json=body, auth=self.auth, timeout=60
        )
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


FIRST_USER = {"username": "ada@example.com", "password": "a long enough passphrase"}


def log_in_console(platform: RunningPlatform) -> dict[str, str]:
    """The cookies of a console session of the first user."""
    login = f"{platform.base_url}/admin/login/"
    with requests.Session() as session:
        session.get(login, timeout=60)
        form = {**FIRST_USER, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
        done = session.post(login, data=form, headers={"Referer": login}, timeout=60)
        assert done.url.endswith("/admin/"), done.text
        return session.cookies.get_dict()


def make_first_user(platform: RunningPlatform) -> ProcessCaller:
    """The first user of a running platform, a Global owner, by endpoint 5."""
    user = {
        **FIRST_USER,
        "firstName": "Ada",
        "lastName": "Lovelace",
    }
    answer = requests.post(f"{platform.base_url}{PUBLIC}/unauth/users", json=user, timeout=60)
    assert answer.status_code == 201, f"{answer.text}\n{platform.log}"
    return ProcessCaller(platform, answer.json()["programmaticApiKey"])
