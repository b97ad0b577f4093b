"""The connections of a web worker by caller: each caller can have a maximum, and if connections or memory run
short, the caller with most of them loses some.
"""

from collections import Counter
from collections.abc import Collection, Hashable

from opsapi.api.addresses import address_of, counted_range, is_trusted_proxy
from opsapi.supervisor.web_connection import WebConnection


class Callers:
    """The connections of each caller."""

    def __init__(self, most: int) -> None:
        """`most` is for each of them."""
        self.most = most
        self._connections: dict[Hashable, set[WebConnection]] = {}
        self._logged: set[Hashable] = set()

    def add(self, conn: WebConnection) -> None:
        """From now on its caller is known, and has it."""
        conn.caller = _caller(conn)
        self._connections.setdefault(conn.caller, set()).add(conn)

    def remove(self, conn: WebConnection) -> None:
        """Its caller has it no longer."""
        theirs = self._connections[conn.caller]
        theirs.remove(conn)
        if not theirs:
            del self._connections[conn.caller]
            self._logged.discard(conn.caller)

    def too_many(self, conn: WebConnection) -> Collection[WebConnection]:
        """All connections of its caller, where these are more than the most; else none."""
        theirs = self._connections[conn.caller]
        return theirs if len(theirs) > self.most else ()

    def is_news(self, conn: WebConnection) -> bool:
        """Whether its caller was not named before, since the first of the connections that it has now."""
        is_news = conn.caller not in self._logged
        self._logged.add(conn.caller)
        return is_news


def largest(conns: Collection[WebConnection]) -> WebConnection | None:
    """Return the largest connection of the caller with most held bytes; None without connections."""
    held = Counter[Hashable]()
    for conn in conns:
        held[conn.caller] += conn.held
    return max(conns, key=lambda conn: (held[conn.caller], conn.held), default=None)


def _caller(conn: WebConnection) -> Hashable:
    """Who counts as one: an address; a trusted proxy's connections are many people's, so each of them."""
    address = address_of(conn.client[0])
    return conn if is_trusted_proxy(address) else counted_range(address)
