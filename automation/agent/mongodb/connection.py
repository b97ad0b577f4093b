"""Connection strings, and direct connections to single servers with their credentials and TLS options."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient, ReadPreference, uri_parser
from pymongo.errors import ConfigurationError, InvalidURI
from pymongo.pool_options import PoolOptions
from pymongo.synchronous.pool import Pool

from automation.agent.addresses import Address, address_of
from automation.agent.mongodb.commands import Document
from automation.agent.mongodb.topology import DEFAULT_PORT
from automation.agent.steps import CONNECT_SECONDS

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
"""Options that hold for each server of a deployment; the others are about choosing among them."""

_AS_READ: CodecOptions[Document] = CodecOptions(document_class=RawBSONDocument)
"""Decodes a part of an answer when it is looked at: most of the diagnostic data never are."""

_EXTERNAL = frozenset({"MONGODB-X509", "GSSAPI", "MONGODB-AWS", "MONGODB-OIDC"})


@dataclass(frozen=True)
class Access:
    """How to reach the servers of a deployment: options as pymongo takes them, with secrets."""

    seeds: Sequence[Address]
    options: Mapping[str, Any] = field(repr=False)
    replica_set: str | None = None
    _made: dict[tuple[object, ...], PoolOptions] = field(default_factory=dict, repr=False, compare=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def session(self, address: Address, *, with_credentials: bool) -> Session:
        """A session with this server alone; it connects when it is first used.

        Raises:
            PyMongoError, OSError, ValueError: when a file of the TLS options cannot be used.
        """
        # Certificates are read once for all servers, and again when a file was replaced.
        files = [Path(str(value)) for name, value in self.options.items() if name.endswith("File")]
        marks = (with_credentials, *(file.stat().st_mtime_ns for file in files))
        with self._guard:
            if marks not in self._made:
                self._made.clear()
                for with_them in (True, False):
                    self._made[(with_them, *marks[1:])] = self._pool_options(with_credentials=with_them)
            return Session(address, self._made[marks])

    def _pool_options(self, *, with_credentials: bool) -> PoolOptions:
        options = {
            name: value
            for name, value in self.options.items()
            if with_credentials or not (name.startswith("auth") or name in {"username", "password"})
        }
        # The client reads the options, and is never opened.
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


class Session:
    """Commands to a server, over one connection that is made when it is needed. One thread uses it.

    It is the pool of a `MongoClient` alone. The client would watch the server with a connection and two
    threads of its own; these wake twice a second, which costs more than what is asked in a round.
    """

    def __init__(self, address: Address, options: PoolOptions) -> None:
        """Nothing is connected yet."""
        self._pool = Pool(address, options)
        self._pool.ready()

    def command(self, command: Document, seconds: float | None = None, database: str = "admin") -> Document:
        """The answer, within so many seconds; without them, CONNECT_SECONDS or ANSWER_SECONDS for each step.

        Raises:
            PyMongoError: when the server does not answer, or refuses the credentials or the command.
        """
        with pymongo.timeout(seconds), self._pool.checkout() as connection:
            # A secondary refuses some commands to clients that want a primary.
            return connection.command(
                database, dict(command), ReadPreference.PRIMARY_PREFERRED, codec_options=_AS_READ
            )

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


def check(text: str) -> None:
    """Raise ValueError, without secrets, when this is no `mongodb+srv://` string. No name is looked up."""
    if not re.fullmatch(r"mongodb\+srv://(?:[^@/]*@)?[A-Za-z0-9_.-]+(?:/[^?]*)?(?:\?.*)?", text):
        raise ValueError("is not a connection string: mongodb+srv://[USER:PASSWORD@]NAME/[?OPTIONS]")


def read(text: str) -> Access:
    """Read a connection string. For `mongodb+srv://` it asks the DNS, for up to ANSWER_SECONDS.

    Raises:
        ValueError: the text is no connection string, or the platform does not accept the name of a server in
            it, or it would send the password in the clear. The message holds no secrets.
    """
    try:
        parsed = uri_parser.parse_uri(text, DEFAULT_PORT, warn=False, connect_timeout=ANSWER_SECONDS)
    except OSError as error:
        raise ValueError(f"names a file that cannot be read: {error.strerror}") from None
    except (InvalidURI, ConfigurationError, ValueError) as error:
        what = "cannot be looked up" if text.startswith("mongodb+srv://") else "is not a connection string"
        raise ValueError(f"{what}: {without_secrets(str(error), text)}") from None
    seeds = []
    for hostname, port in parsed["nodelist"]:
        seed = address_of(hostname, port) if port else None
        if seed is None:
            raise ValueError("names a server by something else than a host name (RFC 1123) or an IP address")
        seeds.append(seed)
    said: Mapping[str, Any] = parsed["options"]
    if str(said.get("authMechanism", "")) == "PLAIN" and not said.get("tls"):
        raise ValueError("sends the password in the clear: authMechanism=PLAIN needs tls=true")
    options = {name: said[name] for name in said if name.lower() in _KEPT}
    if parsed["username"] is not None:
        options.update(username=parsed["username"], password=parsed["password"])
        mechanism = str(said.get("authMechanism", ""))
        if (
            parsed["database"]
            and "authsource" not in {name.lower() for name in said}
            and mechanism not in _EXTERNAL
        ):
            options["authSource"] = parsed["database"]
    return Access(seeds, options, said.get("replicaSet"))


def without_secrets(message: str, connection_string: str) -> str:
    """A message for the log, without the credentials and option values of a connection string."""
    _, _, rest = connection_string.partition("://")
    # The authority ends before a path or a query, which may hold an `@` as well; a password that is not
    # percent-encoded may hold all of them.
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    credentials, at, _ = (authority if "@" in authority else rest).rpartition("@")
    _, _, query = rest.partition("?")
    secrets = {one for one in credentials.split(":", 1) if at} | {credentials}
    # Such a password is taken apart, and a part of it for a port, a database or an option.
    secrets |= set(re.split(r"[:/?@&=]", credentials)) if at else set()
    secrets |= {value for pair in query.split("&") for value in [pair.partition("=")[2]]}
    for secret in sorted(secrets | {unquote_plus(one) for one in secrets}, key=len, reverse=True):
        # Words such as `true` tell nothing, and a user of one letter would make the message unreadable.
        if len(secret) > 1 and secret not in {"true", "false"}:
            message = message.replace(secret, "***")
    return " ".join(message.split())[:500]


def probe(address: Address) -> None:
    """Raise OSError when nothing listens there; when nothing answers at all, after CONNECT_SECONDS."""
    socket.create_connection(address, timeout=CONNECT_SECONDS).close()
