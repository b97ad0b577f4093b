"""HTTP Digest as an automation script does it: one nonce, a growing nc (RFC 7616 3.4)."""

import itertools
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from accesslist.digest import rules as digest
from tests.benchmarks.client import Address, LoadConnection, UnexpectedAnswer, request

_NONCE = re.compile(rb'nonce="([^"]+)"')
_CNONCE = "c0ffee"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An API key."""

    public_key: str
    private_key: str


class Signer:
    """Signs requests of one key with one nonce, which is fetched when it is created (valid 300 s)."""

    def __init__(self, address: Address, key: SigningKey) -> None:
        self.host = f"{address[0]}:{address[1]}"
        self._key = key
        self._ha1 = digest.ha1(key.public_key, digest.REALM, key.private_key)
        self._counts = itertools.count(1)
        self._nonce = self._fetch_nonce(address)

    def signed(self, method: str, target: str, body: bytes = b"") -> bytes:
        """A request with its Authorization header."""
        nc = f"{next(self._counts):08x}"
        answer = digest.response(self._ha1, method, target, self._nonce, nc, _CNONCE)
        credentials = (
            f'Digest username="{self._key.public_key}", realm="{digest.REALM}", nonce="{self._nonce}", '
            f'uri="{target}", algorithm=MD5, qop=auth, nc={nc}, cnonce="{_CNONCE}", response="{answer}"'
        )
        return request(method, target, self.host, body=body, headers={"Authorization": credentials})

    def repeated(self, target: str) -> Iterator[bytes]:
        """The same GET for ever, each time signed again."""
        while True:
            yield self.signed("GET", target)

    def _fetch_nonce(self, address: Address) -> str:
        with closing(LoadConnection(address)) as connection:
            answer = connection.exchange(request("GET", "/api/public/v1.0", self.host))
        found = _NONCE.search(answer.head)
        if found is None:
            raise UnexpectedAnswer(f"no nonce in an answer with status {answer.status}")
        return found[1].decode()
