"""Fairness between the callers of a web worker: their connections, their memory, and their turns for threads.

Each caller has a limit of connections. If connections or memory run short, the caller with most of them loses
some. Callers take turns for threads, and no caller gets all threads.
"""

import resource
import sys
from collections import Counter, deque
from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

from opsapi.api.addresses import address_of, counted_range, forwarded_address, is_trusted_proxy
from opsapi.supervisor.web_connection import WebConnection


class Callers:
    """The connections of each caller."""

    def __init__(self, most: int) -> None:
        """`most`: the limit for each caller."""
        self.most = most
        self._connections: dict[Hashable, set[WebConnection]] = {}
        self._logged: set[Hashable] = set()

    def add(self, conn: WebConnection) -> None:
        """Add a connection, and set its `caller`."""
        conn.caller = _caller(conn)
        self._connections.setdefault(conn.caller, set()).add(conn)

    def remove(self, conn: WebConnection) -> None:
        """Remove a closed connection."""
        theirs = self._connections[conn.caller]
        theirs.remove(conn)
        if not theirs:
            del self._connections[conn.caller]
            self._logged.discard(conn.caller)

    def too_many(self, conn: WebConnection) -> Collection[WebConnection]:
        """Return all connections of its caller if they exceed the limit, otherwise none."""
        theirs = self._connections[conn.caller]
        return theirs if len(theirs) > self.most else ()

    def is_news(self, conn: WebConnection) -> bool:
        """Whether this is the first call for the caller. Callers without connections are forgotten."""
        is_news = conn.caller not in self._logged
        self._logged.add(conn.caller)
        return is_news


def largest(conns: Collection[WebConnection]) -> WebConnection | None:
    """Return the largest connection of the caller with most held bytes; None without connections."""
    held = Counter[Hashable]()
    for conn in conns:
        held[conn.caller] += conn.held
    return max(conns, key=lambda conn: (held[conn.caller], conn.held), default=None)


def turn_of(conn: WebConnection) -> Hashable:
    """Return who takes turns with a complete request: its caller, or the client of a trusted proxy."""
    if conn.caller is not conn:
        return conn.caller
    address = forwarded_address(address_of(conn.client[0]), conn.arrival.forwarded_for())
    return conn if is_trusted_proxy(address) else counted_range(address)


def _caller(conn: WebConnection) -> Hashable:
    """The caller of a connection: its address range. Behind a trusted proxy, each connection counts alone."""
    address = address_of(conn.client[0])
    return conn if is_trusted_proxy(address) else counted_range(address)


Waiting = TypeVar("Waiting")


class CallerTurns(Generic[Waiting]):
    """Requests that wait for a thread. Callers take turns; each caller's requests stay in order."""

    def __init__(self, threads: int) -> None:
        """One caller gets at most three quarters of the threads."""
        self._most = threads - threads // 4
        self._queues: dict[Hashable, deque[Waiting]] = {}
        self._served: Counter[Hashable] = Counter()
        self._free = threads

    def add(self, caller: Hashable, request: Waiting) -> None:
        """Add a request behind the other requests of its caller."""
        self._queues.setdefault(caller, deque()).append(request)

    def take(self) -> Waiting | None:
        """Return the next request for a free thread; None without a request or a free thread."""
        may = (caller for caller in self._queues if self._served[caller] < self._most)
        if not self._free or (caller := next(may, None)) is None:
            return None
        queue = self._queues.pop(caller)
        request = queue.popleft()
        if queue:
            self._queues[caller] = queue  # Behind the other callers.
        self._served[caller] += 1
        self._free -= 1
        return request

    def done(self, caller: Hashable) -> None:
        """Count the thread of a served request as free."""
        self._served -= Counter((caller,))  # Removes callers without requests.
        self._free += 1


# Files for other uses: the log, connections to the database, sent files, tests of configurations.
KEPT, KEPT_PER_THREAD = 64, 2


def most_connections(wanted: int, threads: int) -> int:
    """Return the number of connections that this process can hold: `wanted`, or fewer if files run short.

    Raises the soft limit of open files as far as needed and possible.
    """
    kept = KEPT + KEPT_PER_THREAD * threads
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = min(wanted + kept, _number(hard))
    if _number(soft) < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(wanted, max(limit - kept, limit // 4))


def _number(limit: int) -> int:
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
