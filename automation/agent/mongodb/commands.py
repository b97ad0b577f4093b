"""The commands by which a server is asked, in a round as by `--check`. Pure."""

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
    """A command to a database; `section` is the name under which its answer is kept."""

    section: str
    command: Document
    database: str = "admin"


DIAGNOSTICS = Command("getDiagnosticData", {"getDiagnosticData": 1})
"""The sections of a server without a set or of a member, and `systemMetrics`, all in one."""

OPLOG = Command(
    "oplog",
    {
        "serverStatus": 1,
        "oplog": 1,
        **dict.fromkeys(("locks", "metrics", "opLatencies", "tcmalloc", "transactions", "wiredTiger"), 0),
    },
)
"""The part of `serverStatus` that diagnostic data lack before 6.0, without the largest of the others."""

DATABASES = Command("listDatabases", {"listDatabases": 1, "nameOnly": True})
SHARDS = Command("listShards", {"listShards": 1})


def sizes_of(database: str) -> Command:
    """The sizes of a database."""
    return Command("dbStats", {"dbStats": 1}, database)


def sections_of(hello: Document) -> Iterator[Command]:
    """What is asked for itself where the diagnostic data do not hold it."""
    yield Command("serverStatus", {"serverStatus": 1, "oplog": 1})
    if hello.get("setName"):
        yield Command("replSetGetStatus", {"replSetGetStatus": 1})
        yield Command("local.oplog.rs.stats", {"collStats": "oplog.rs"}, "local")


def all_of(hello: Document) -> Iterator[Command]:
    """Everything that a server is asked for which a user needs a role."""
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
    """What a server says of itself; before 4.4.2 by a command of another name. Raises what `ask` raises."""
    try:
        return ask({"hello": 1})
    except OperationFailure as error:
        if error.code != NOT_FOUND:
            raise
    return ask({"isMaster": 1})
