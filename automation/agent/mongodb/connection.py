"""Connection strings, connections to single servers, and the commands that polls and `--check` send."""

from __future__ import annotations

import importlib.util
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient, ReadPreference, uri_parser
from pymongo.errors import ConfigurationError, InvalidURI, OperationFailure
from pymongo.pool_options import PoolOptions
from pymongo.synchronous.pool import Pool

from automation.agent.engine import CONNECT_SECONDS, ServerAddress, address_of
from automation.agent.mongodb.topology import DEFAULT_PORT

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


ANSWER_SECONDS = 5.0

_KEPT = frozenset(
    name.lower()
    for name in (
        "authMechanism",
        "authMechanismProperties",
        "authSource",
        "compressors",
        "tls",
        "tlsAllowInvalidCertificates",
        "tlsAllowInvalidHostnames",
        "tlsCAFile",
        "tlsCRLFile",
        "tlsCertificateKeyFile",
        "tlsCertificateKeyFilePassword",
        "tlsDisableOCSPEndpointCheck",
        "tlsInsecure",
    )
)
"""Options that apply to each server of a deployment. The others select among servers."""

_AS_READ: CodecOptions[Document] = CodecOptions(document_class=RawBSONDocument)
"""Decodes parts of an answer on access: most of the diagnostic data is never read."""

_EXTERNAL = frozenset({"MONGODB-X509", "GSSAPI", "MONGODB-AWS", "MONGODB-OIDC"})


@dataclass(frozen=True)
class MongoAccess:
    """Access to the servers of a deployment: pymongo options, including secrets."""

    seeds: Sequence[ServerAddress]
    options: Mapping[str, Any] = field(repr=False)
    replica_set: str | None = None
    _options: dict[tuple[object, ...], PoolOptions] = field(default_factory=dict, repr=False, compare=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def session(self, address: ServerAddress, *, with_credentials: bool) -> MongoSession:
        """A session with a single server, which connects on first use.

        Raises: PyMongoError, OSError, ValueError: a file of the TLS options cannot be used.
        """
        # Certificates are read once for all servers, and again after a file was replaced.
        files = [Path(str(value)) for name, value in self.options.items() if name.endswith("File")]
        marks = (with_credentials, *(file.stat().st_mtime_ns for file in files))
        with self._guard:
            if marks not in self._options:
                self._options.clear()
                for with_them in (True, False):
                    self._options[(with_them, *marks[1:])] = self._pool_options(with_credentials=with_them)
            return MongoSession(address, self._options[marks])

    def _pool_options(self, *, with_credentials: bool) -> PoolOptions:
        options = {
            name: value
            for name, value in self.options.items()
            if with_credentials or not (name.startswith("auth") or name in {"username", "password"})
        }
        # The client only parses the options and is never opened.
        client = MongoClient[Document](
            connect=False,
            directConnection=True,
            connectTimeoutMS=int(CONNECT_SECONDS * 1000),
            socketTimeoutMS=int(ANSWER_SECONDS * 1000),
            maxPoolSize=1,
            appName="opsapi-agent",
            **options,
        )
        return client.options.pool_options


class MongoSession:
    """Sends commands to a server over a single connection, opened on demand. Not thread-safe.

    This is the pool of a `MongoClient` without the client. The client would monitor the server with another
    connection and two threads that wake up twice a second, which costs more than a poll.
    """

    def __init__(self, address: ServerAddress, options: PoolOptions) -> None:
        self._pool = Pool(address, options)
        self._pool.ready()

    def command(self, command: Document, seconds: float | None = None, database: str = "admin") -> Document:
        """The answer within `seconds`, or within CONNECT_SECONDS or ANSWER_SECONDS for each step.

        Raises: PyMongoError: the server does not answer, or rejects the credentials or the command.
        """
        with pymongo.timeout(seconds), self._pool.checkout() as connection:
            # A secondary rejects some commands of clients that want a primary.
            return connection.command(
                database, dict(command), ReadPreference.PRIMARY_PREFERRED, codec_options=_AS_READ
            )

    def close(self) -> None:
        self._pool.close()


def check(text: str) -> None:
    """Raise ValueError, without secrets, if this is not a `mongodb+srv://` string. Resolves no names."""
    if not re.fullmatch(r"mongodb\+srv://(?:[^@/]*@)?[A-Za-z0-9_.-]+(?:/[^?]*)?(?:\?.*)?", text):
        raise ValueError("is not a connection string: mongodb+srv://[USER:PASSWORD@]NAME/[?OPTIONS]")
    _require_resolver()


def _require_resolver() -> None:
    if importlib.util.find_spec("dns") is None:
        raise ValueError(
            "uses mongodb+srv://, which needs Python 3.11 or newer, or the package python3-dnspython or"
            " python3-dns of your system. With mongodb:// and the name of a server, the agent needs neither"
        )


def read(text: str) -> MongoAccess:
    """Parse a connection string. For `mongodb+srv://` this queries DNS, for up to ANSWER_SECONDS.

    Raises: ValueError: the text is not a connection string, or has a server name that the platform does not
    accept, or would send the password unencrypted, or needs a library that is missing. The message contains
    no secrets.
    """
    if text.startswith("mongodb+srv://"):
        _require_resolver()
    try:
        parsed = uri_parser.parse_uri(text, DEFAULT_PORT, warn=False, connect_timeout=ANSWER_SECONDS)
    except OSError as error:
        raise ValueError(f"has a file option with an unreadable file: {error.strerror}") from None
    except (InvalidURI, ConfigurationError, ValueError) as error:
        what = (
            "has a host name that does not resolve"
            if text.startswith("mongodb+srv://")
            else "is not a connection string"
        )
        raise ValueError(f"{what}: {without_secrets(str(error), text)}") from None
    seeds = []
    for hostname, port in parsed["nodelist"]:
        seed = address_of(hostname, port) if port else None
        if seed is None:
            raise ValueError("has a server that is not a host name (RFC 1123) or an IP address")
        seeds.append(seed)
    given: Mapping[str, Any] = parsed["options"]
    if str(given.get("authMechanism", "")) == "PLAIN" and not given.get("tls"):
        raise ValueError("would send the password unencrypted: authMechanism=PLAIN needs tls=true")
    options = {name: given[name] for name in given if name.lower() in _KEPT}
    if parsed["username"] is not None:
        options.update(username=parsed["username"], password=parsed["password"])
        mechanism = str(given.get("authMechanism", ""))
        if (
            parsed["database"]
            and "authsource" not in {name.lower() for name in given}
            and mechanism not in _EXTERNAL
        ):
            options["authSource"] = parsed["database"]
    return MongoAccess(seeds, options, given.get("replicaSet"))


def without_secrets(message: str, connection_string: str) -> str:
    """A log message without the credentials and option values of a connection string."""
    _, _, rest = connection_string.partition("://")
    # The authority ends before a path or a query, which can also contain an `@`. A password that is not
    # percent-encoded can contain all of them.
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    credentials, at, _ = (authority if "@" in authority else rest).rpartition("@")
    _, _, query = rest.partition("?")
    secrets = {part for part in credentials.split(":", 1) if at} | {credentials}
    # The parser splits such a password and takes parts of it for a port, a database or an option.
    secrets |= set(re.split(r"[:/?@&=]", credentials)) if at else set()
    secrets |= {value for pair in query.split("&") for value in [pair.partition("=")[2]]}
    for secret in sorted(secrets | {unquote_plus(quoted) for quoted in secrets}, key=len, reverse=True):
        # Words such as `true` reveal nothing, and a username of one letter would make the message unreadable.
        if len(secret) > 1 and secret not in {"true", "false"}:
            message = message.replace(secret, "***")
    return " ".join(message.split())[:500]


def probe(address: ServerAddress) -> None:
    """Raise OSError if nothing listens; after CONNECT_SECONDS if nothing answers."""
    socket.create_connection(address, timeout=CONNECT_SECONDS).close()
