"""Fairness between the callers of a web worker: their connections, their memory, and their turns for threads.

Each caller, an address range, has a limit of connections. If connections or memory run short, the caller with
most of them loses some. Behind a trusted proxy each connection is a caller of its own.

Requesters take turns for threads, and none gets all threads: a requester is the caller, or the client that a
trusted proxy names.
"""

import resource
import sys
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from opsapi.api.addresses import Address, address_of, counted_range, forwarded_address, is_trusted_proxy
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
        conn.caller = _counted(conn, address_of(conn.client[0]))
        self._connections.setdefault(conn.caller, set()).add(conn)

    def remove(self, conn: WebConnection) -> None:
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


def requester_of(conn: WebConnection) -> Hashable:
    """Return the requester of a complete request: the caller, or the client that a trusted proxy names."""
    return _counted(conn, forwarded_address(address_of(conn.client[0]), conn.arrival.forwarded_for()))


def _counted(conn: WebConnection, address: Address | None) -> Hashable:
    """Return the range of the address; a trusted proxy counts as one for each connection."""
    return conn if is_trusted_proxy(address) else counted_range(address)


Waiting = TypeVar("Waiting")


class Turns(Generic[Waiting]):
    """Requests that wait for a thread. Requesters take turns; the requests of each stay in order."""

    def __init__(self, threads: int) -> None:
        """One requester gets at most three quarters of the threads."""
        self._most = threads - threads // 4
        self._queues: dict[Hashable, deque[Waiting]] = {}
        self._served: Counter[Hashable] = Counter()
        self._free = threads

    def add(self, requester: Hashable, request: Waiting) -> None:
        """Add a request behind the other requests of its requester."""
        self._queues.setdefault(requester, deque()).append(request)

    def take(self) -> Waiting | None:
        """Return the next request for a free thread; None without a request or a free thread."""
        may = (requester for requester in self._queues if self._served[requester] < self._most)
        if not self._free or (requester := next(may, None)) is None:
            return None
        queue = self._queues.pop(requester)
        request = queue.popleft()
        if queue:
            self._queues[requester] = queue  # Behind the other requesters.
        self._served[requester] += 1
        self._free -= 1
        return request

    def waiting(self) -> Iterator[Waiting]:
        """Return all requests that wait."""
        return chain.from_iterable(self._queues.values())

    def drop(self, requester: Hashable, request: Waiting) -> None:
        """Remove a request that waits."""
        queue = self._queues[requester]
        queue.remove(request)
        if not queue:
            del self._queues[requester]

    def done(self, requester: Hashable) -> None:
        """Count the thread of a served request as free."""
        self._served -= Counter((requester,))  # Removes requesters without requests.
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
