"""The machine of a MongoDB server, if it is the agent's machine: what `getDiagnosticData` does not have."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address

from bson import ObjectId
from pymongo.errors import OperationFailure, PyMongoError

from automation.agent.engine import Sample, ServerAddress, read_address
from automation.agent.machine.metrics import SERVERS
from automation.agent.machine.proc import Peer
from automation.agent.machine.reader import LocalMachine
from automation.agent.machine.server import NotHere, ServerClaim, ServerMachine
from automation.agent.mongodb.connection import Document, is_router
from automation.agent.rates import Why

IN_PROC = "the machine in /proc"
"""Also without it, the server can describe its machine."""


class MongoMachine:
    """The samples of the machine of a server. One thread at a time measures."""

    def __init__(
        self, machine: LocalMachine, address: ServerAddress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` returns monotonic seconds."""
        self._server = ServerMachine(machine, address, rows=SERVERS, what=IN_PROC, clock=clock)

    @property
    def missing(self) -> Mapping[str, Why]:
        """By metric, whether it was measured last time, or why not."""
        return self._server.missing

    @property
    def note(self) -> str:
        """Whether the machine is measured, or why not, after `IN_PROC`."""
        return self._server.note

    def samples(self, session: object, claim: Callable[[], ServerClaim]) -> Sequence[Sample]:
        """The samples of the machine; none of another machine. Raises PyMongoError: the session is lost."""
        return self._server.measure(session, claim, PyMongoError)


def claim_of(
    ask: Callable[[Document], Document],
    hello: Document,
    process: tuple[int | None, float | None],
    data: str | None,
) -> ServerClaim:
    """What a server says of its process. `ask` sends a command to it, which needs no role.

    `process` has the number and the age in seconds, as far as they are known; `data` is the data directory.
    Raises: NotHere: the server does not describe its process. PyMongoError: the session is lost.
    """
    pid, age = process
    if age is None:
        age = _age(hello)
    try:
        seen = ask({"whatsmyuri": 1}).get("you")
    except OperationFailure as error:
        raise NotHere(f"the server does not say where the agent connects from (code {error.code})") from None
    place = read_address(str(seen), 0)
    if place is None or age is None:
        raise NotHere("the server does not describe its process")
    try:
        address = ip_address(place.hostname)
    except ValueError:
        raise NotHere("the server does not say where the agent connects from") from None
    mapped = address.ipv4_mapped if address.version == 6 else None
    return ServerClaim(
        program="mongos" if is_router(hello) else "mongod",
        pid=pid,
        client="",
        age=age,
        parent=None,
        # Only the server knows the directory that a relative path starts from.
        data=data if data and data.startswith("/") else None,
        log=None,
        peer=Peer(mapped or address, place.port),
    )


def _age(hello: Document) -> float | None:
    """Seconds since the start of a server that shows its status to users only, such as an arbiter."""
    process, now = hello.get("topologyVersion", {}).get("processId"), hello.get("localTime")
    if not isinstance(process, ObjectId) or not isinstance(now, datetime):
        return None
    return (now - process.generation_time.replace(tzinfo=None)).total_seconds()
