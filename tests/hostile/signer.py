"""Callers of a running server: their keys, and the requests they sign."""

import base64
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from accesslist.digest import rules as digest
from tests.hostile.digest_headers import good, written

CNONCE = "c0ffee"


@dataclass
class HostileCaller:
    """Somebody with a key, with the credentials of a scraper, or with nothing."""

    name: str
    username: str = ""
    password: str = ""
    is_scraper: bool = False
    nonce: str = ""
    _counts: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def signs(self) -> bool:
        """Whether the caller needs a nonce."""
        return bool(self.username) and not self.is_scraper

    @property
    def secrets(self) -> frozenset[str]:
        """Text that only the caller may know."""
        if not self.password:
            return frozenset()
        return frozenset({self.password, digest.ha1(self.username, digest.REALM, self.password)})

    def take(self, nonce: str) -> None:
        """Sign with this nonce from now on."""
        self.nonce, self._counts = nonce, itertools.count(1)

    def parameters(self, method: str, target: str) -> Mapping[str, str]:
        """The values of a good Authorization header."""
        nc = f"{next(self._counts):08x}"
        uri = target.encode().decode("latin-1")
        ha1 = digest.ha1(self.username, digest.REALM, self.password)
        verb = method.encode().decode("latin-1")
        return {
            "username": self.username,
            "realm": digest.REALM,
            "nonce": self.nonce,
            "uri": uri,
            "algorithm": "MD5",
            "qop": "auth",
            "nc": nc,
            "cnonce": CNONCE,
            "response": digest.response(ha1, verb, uri, self.nonce, nc, CNONCE),
        }

    def authorization(self, method: str, target: str) -> str | None:
        """A good Authorization header, if the caller has credentials."""
        if self.is_scraper:
            pair = f"{self.username}:{self.password}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return written(good(self.parameters(method, target))) if self.username else None
