"""A client of the API inside the test process: digest, JSON in and out; answers have to fit the schema."""

import itertools
from typing import Any

from django.conf import settings
from django.test import Client
from django.test.client import ClientHandler

from accesslist.digest import rules as digest
from accesslist.digest.authentication import nonce_key
from opsapi import clock
from opsapi.api.bodies import render
from opsapi.api.links import AGENTS, PUBLIC
from tests.factories.accesslist import KeyPair
from tests.openapi import check_answer

_counts = itertools.count(1)
# One for all: loading the middlewares again for each client costs more than most requests.
_HANDLER = ClientHandler(enforce_csrf_checks=False)


class ApiClient:
    """A client with a key; without a key it sends no Authorization. Paths are below the public base."""

    def __init__(self, key: KeyPair | None = None) -> None:
        self.key = key
        self.http = Client(raise_request_exception=False)
        self.http.handler = _HANDLER

    def get(self, path: str, **options: Any) -> Any:
        """GET."""
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Any:
        """POST a JSON body."""
        return self.request("POST", path, body, **options)

    def put(self, path: str, body: Any, **options: Any) -> Any:
        """PUT a JSON body."""
        return self.request("PUT", path, body, **options)

    def patch(self, path: str, body: Any, **options: Any) -> Any:
        """PATCH with a JSON body."""
        return self.request("PATCH", path, body, **options)

    def delete(self, path: str, **options: Any) -> Any:
        """DELETE."""
        return self.request("DELETE", path, **options)

    def report(self, group_id: str, body: Any, **options: Any) -> Any:
        """POST an agent's report."""
        return self.request("POST", f"/groups/{group_id}/reports", body, base=AGENTS, **options)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        base: str = PUBLIC,
        content_type: str = "application/json",
        **headers: Any,
    ) -> Any:
        """Any request; headers as WSGI names them (`HTTP_…`, `REMOTE_ADDR`).

        Raises AssertionError when the answer is none the OpenAPI document promises.
        """
        target = base + path
        if self.key and "HTTP_AUTHORIZATION" not in headers:
            headers["HTTP_AUTHORIZATION"] = authorization(self.key, method, target)
        headers.setdefault("HTTP_HOST", "testserver")
        data = body if body is None or isinstance(body, (bytes, str)) else render(body)
        content: dict[str, Any] = {} if data is None else {"data": data, "content_type": content_type}
        response = self.http.generic(method, target, RAW_URI=target, **content, **headers)
        check_answer(method, target, response)
        return response


def authorization(
    key: KeyPair, method: str, uri: str, *, nonce: str | None = None, nc: str | None = None
) -> str:
    """The Authorization header a well-behaved client sends."""
    nonce = nonce or digest.mint_nonce(nonce_key(settings.SECRET_KEY), clock.now())
    nc = nc or f"{next(_counts):08x}"
    secret = digest.ha1(key.public_key, digest.REALM, key.private_key)
    answer = digest.response(secret, method, uri, nonce, nc, "c0ffee")
    return (
        f'Digest username="{key.public_key}", realm="{digest.REALM}", nonce="{nonce}", uri="{uri}", '
        f'algorithm=MD5, qop=auth, nc={nc}, cnonce="c0ffee", response="{answer}"'
    )
