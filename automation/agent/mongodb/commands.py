"""The commands sent to a server by a poll and by `--check`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pymongo.errors import OperationFailure

Document = Mapping[str, Any]

REFUSALS = frozenset({13, 18})
"""Error codes Unauthorized and AuthenticationFailed."""

NOT_FOUND = 59
"""Error code CommandNotFound."""


class Command(NamedTuple):
    """A command to a database; `section` is the name of its answer."""

    section: str
    command: Document
    database: str = "admin"


DIAGNOSTICS = Command("getDiagnosticData", {"getDiagnosticData": 1})
"""The sections of a standalone server or member and `systemMetrics`, in a single command."""

OPLOG = Command(
    "oplog",
    {
        "serverStatus": 1,
        "oplog": 1,
        **dict.fromkeys(("locks", "metrics", "opLatencies", "tcmalloc", "transactions", "wiredTiger"), 0),
    },
)
"""The part of `serverStatus` missing in diagnostic data before 6.0, without the largest sections."""

DATABASES = Command("listDatabases", {"listDatabases": 1, "nameOnly": True})
SHARDS = Command("listShards", {"listShards": 1})


def sizes_of(database: str) -> Command:
    """The sizes of a database."""
    return Command("dbStats", {"dbStats": 1}, database)


def sections_of(hello: Document) -> Iterator[Command]:
    """Commands for data that is not in the diagnostic data."""
    yield Command("serverStatus", {"serverStatus": 1, "oplog": 1})
    if hello.get("setName"):
        yield Command("replSetGetStatus", {"replSetGetStatus": 1})
        yield Command("local.oplog.rs.stats", {"collStats": "oplog.rs"}, "local")


def all_of(hello: Document) -> Iterator[Command]:
    """All commands to a server that need a role."""
    yield DIAGNOSTICS
    yield from sections_of(hello)
    if is_router(hello):
        yield SHARDS
    else:
        yield DATABASES
        yield sizes_of("admin")


def is_router(hello: Document) -> bool:
    """Whether it is a router of a sharded cluster (mongos)."""
    return hello.get("msg") == "isdbgrid"


def ask_hello(ask: Callable[[Document], Document]) -> Document:
    """The server's description of itself. Before 4.4.2 the command has another name."""
    try:
        return ask({"hello": 1})
    except OperationFailure as error:
        if error.code != NOT_FOUND:
            raise
    return ask({"isMaster": 1})
