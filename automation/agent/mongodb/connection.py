"""Connection strings, connections to single servers, and the commands that polls and `--check` send."""

from __future__ import annotations

import importlib.util
import re
import socket
import ssl
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
from pymongo.errors import ConfigurationError, InvalidURI, NetworkTimeout, OperationFailure, PyMongoError
from pymongo.pool_options import PoolOptions
from pymongo.synchronous.pool import Pool

from automation.agent.certificates import ClientCertificate, presented_certificate
from automation.agent.engine import CONNECT_SECONDS, ServerAddress, address_of
from automation.agent.faults import shown
from automation.agent.mongodb.raw import RawDocument
from automation.agent.mongodb.topology import DEFAULT_PORT, NAMES_ALLOWED

Document = Mapping[str, Any]

REFUSALS = frozenset({13, 18})
"""Error codes Unauthorized and AuthenticationFailed."""

NOT_FOUND = 59
"""Error code CommandNotFound."""


class SettingsFault(ValueError):  # noqa: N818 - what it is for people
    """The settings of the agent prevent every conversation with a server, which can be healthy."""


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

STATUS = Command("replSetGetStatus", {"replSetGetStatus": 1})
DATABASES = Command("listDatabases", {"listDatabases": 1})
OPERATIONS = Command("currentOp", {"currentOp": 1, "$ownOps": True})
"""Whether writes are locked out, without the operations of others."""

SHARDS = Command("listShards", {"listShards": 1})


def sizes_of(database: str) -> Command:
    return Command("dbStats", {"dbStats": 1}, database)


def sections_of(hello: Document) -> Iterator[Command]:
    """Commands for data that is not in the diagnostic data."""
    yield Command("serverStatus", {"serverStatus": 1, "oplog": 1})
    if hello.get("setName"):
        yield STATUS
        yield Command("local.oplog.rs.stats", {"collStats": "oplog.rs"}, "local")
    if not is_router(hello):
        yield OPERATIONS


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

_AS_SENT: CodecOptions[Document] = CodecOptions(document_class=RawBSONDocument)
"""Leaves the answer as it came: most of the diagnostic data is never read."""

_CREDENTIALS = frozenset({"username", "password"})

_EXTERNAL = frozenset({"MONGODB-X509", "GSSAPI", "MONGODB-AWS", "MONGODB-OIDC"})


_HARMLESS = _EXTERNAL | {"SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN", "$external", "admin", "true", "false"}
"""Values of options that reveal nothing."""


@dataclass(frozen=True)
class MongoAccess:
    """Access to the servers of a deployment: pymongo options, including secrets.

    `is_optional`: a server that refuses the credentials is asked without them. Members in transition are
    measured so until their primary has created the user.
    """

    seeds: Sequence[ServerAddress]
    options: Mapping[str, Any] = field(repr=False)
    replica_set: str | None = None
    is_optional: bool = False
    _options: dict[tuple[object, ...], PoolOptions] = field(default_factory=dict, repr=False, compare=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def uses_tls(self) -> bool:
        """Whether the connections are encrypted."""
        return bool(self.options.get("tls"))

    def session(self, address: ServerAddress, *, with_credentials: bool) -> MongoSession:
        """A session with a single server, which connects on first use.

        Raises: SettingsFault: an option, or a file of the TLS options, cannot be used.
        """
        # Certificates are read once for all servers, and again after a file was replaced.
        files = tuple(map(_changed, (item for item in self.options.items() if item[0].endswith("File"))))
        marks = (with_credentials, *files)
        with self._guard:
            if marks not in self._options:
                for known in [known for known in self._options if known[1:] != files]:
                    del self._options[known]
                self._options[marks] = self._pool_options(
                    {
                        name: value
                        for name, value in self.options.items()
                        if with_credentials or not (name.startswith("auth") or name in _CREDENTIALS)
                    }
                )
            return MongoSession(address, self._options[marks])

    def tls_fault(self, address: ServerAddress, error: Exception) -> str:
        """Why the settings for TLS do not fit a server that accepts connections; empty if they may fit.

        `error` is the reason why there was no conversation.
        """
        if isinstance(error, NetworkTimeout):
            return ""
        if not self.uses_tls:
            return "the server accepts only TLS: add tls=true" if _speaks_tls(address) else ""
        cause = error if isinstance(error, ssl.SSLError) else error.__cause__
        if isinstance(cause, ssl.SSLCertVerificationError) or _is_alert(cause):
            return f"no TLS with the server: {cause}"
        plain = MongoSession(address, self._pool_options({}))
        try:
            ask_hello(plain.command)
        except PyMongoError:
            return ""
        finally:
            plain.close()
        return "the server accepts no TLS: remove tls=true, or configure TLS on the server"

    def certificate(self, address: ServerAddress) -> bytes | None:
        """The certificate that a server presents now, in DER, from a connection of its own; None without TLS.

        Raises: OSError, ValueError: no answer, or no certificate.
        """
        if not self.uses_tls:
            return None
        with socket.create_connection(address, timeout=CONNECT_SECONDS) as connection:
            return presented_certificate(connection, address.hostname, self._own_certificate())

    def _own_certificate(self) -> ClientCertificate | None:
        given = {name.lower(): value for name, value in self.options.items()}
        file = given.get("tlscertificatekeyfile")
        password = given.get("tlscertificatekeyfilepassword")
        return ClientCertificate(str(file), password=str(password or "")) if file else None

    def _pool_options(self, options: Mapping[str, Any]) -> PoolOptions:
        # The client only parses the options and is never opened.
        try:
            client = MongoClient[Document](
                connect=False,
                directConnection=True,
                connectTimeoutMS=int(CONNECT_SECONDS * 1000),
                socketTimeoutMS=int(ANSWER_SECONDS * 1000),
                maxPoolSize=1,
                appName="opsapi-agent",
                **options,
            )
        except (PyMongoError, OSError, ValueError) as error:
            raise SettingsFault(str(error)) from error
        return client.options.pool_options


def _changed(option: tuple[str, Any]) -> int:
    """When the file of an option was last changed, in nanoseconds. Raises SettingsFault without the file."""
    name, file = option
    try:
        return Path(str(file)).stat().st_mtime_ns
    except OSError as error:
        raise SettingsFault(f"the file of {name} cannot be read: {error.strerror}") from error


def _speaks_tls(address: ServerAddress) -> bool:
    """Whether a TLS handshake gets an answer; nothing is verified and nothing is sent."""
    # Without certificates to trust, which take long to load.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(address, timeout=CONNECT_SECONDS) as plain:
            context.wrap_socket(plain, server_hostname=address.hostname).close()
    except OSError as error:
        return _is_alert(error)
    return True


def _is_alert(error: BaseException | None) -> bool:
    """Whether the peer ended a TLS handshake with a reason."""
    return isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or "")


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
            answer: Any = connection.command(
                database, dict(command), ReadPreference.PRIMARY_PREFERRED, codec_options=_AS_SENT
            )
        return RawDocument(answer.raw)

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
            name = without_secrets(shown(hostname), text)
            raise ValueError(f"has the server {name}: {NAMES_ALLOWED}")
        seeds.append(seed)
    given: Mapping[str, Any] = parsed["options"]
    if str(given.get("authMechanism", "")) == "PLAIN" and not given.get("tls"):
        raise ValueError("would send the password unencrypted: authMechanism=PLAIN needs tls=true")
    options = {name: given[name] for name in given if name.lower() in _KEPT}
    if parsed["username"] is not None:
        mechanism = str(given.get("authMechanism", ""))
        options["username"] = parsed["username"]
        # The parser makes an empty password of none, and x.509 allows a user without a password.
        if parsed["password"] or mechanism not in _EXTERNAL:
            options["password"] = parsed["password"]
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
        # Such words reveal nothing, and a username of one letter would make the message unreadable.
        if len(secret) > 1 and secret not in _HARMLESS:
            message = message.replace(secret, "***")
    return " ".join(message.split())[:500]


def reason_of(error: Exception, connection_string: str) -> str:
    """The reason in an error, without secrets, and without the additions of pymongo.

    They are the answer as a document, time-outs, and the servers of the deployment.
    """
    text = without_secrets(str(error), connection_string) or type(error).__name__
    for rest in (", full error: ", ", Timeout: ", " (configured timeouts"):
        text = text.partition(rest)[0]
    return text


def probe(address: ServerAddress) -> None:
    """Raise OSError if nothing listens; after CONNECT_SECONDS if nothing answers."""
    socket.create_connection(address, timeout=CONNECT_SECONDS).close()
