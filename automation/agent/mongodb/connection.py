"""Connection strings, and direct connections to single servers with their credentials and TLS options."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

from pymongo import MongoClient, uri_parser
from pymongo.errors import ConfigurationError, InvalidURI

from automation.agent.addresses import Address, address_of
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

_EXTERNAL = frozenset({"MONGODB-X509", "GSSAPI", "MONGODB-AWS", "MONGODB-OIDC"})


@dataclass(frozen=True)
class Access:
    """How to reach the servers of a deployment: options as pymongo takes them, with secrets."""

    seeds: Sequence[Address]
    options: Mapping[str, Any] = field(repr=False)
    replica_set: str | None = None

    def client(self, address: Address, *, with_credentials: bool) -> MongoClient[Mapping[str, Any]]:
        """A client of this server alone; it connects when it is first used.

        Raises:
            PyMongoError: when a file of the TLS options cannot be used.
        """
        options = {
            name: value
            for name, value in self.options.items()
            if with_credentials or not (name.startswith("auth") or name in {"username", "password"})
        }
        return MongoClient(
            address.hostname,
            address.port,
            directConnection=True,
            connectTimeoutMS=int(CONNECT_SECONDS * 1000),
            # `Host` asks again until it is sure; connecting goes on meanwhile.
            serverSelectionTimeoutMS=500,
            socketTimeoutMS=int(ANSWER_SECONDS * 1000),
            # A thread asks one thing at a time, and needs nobody to watch the server between rounds.
            maxPoolSize=1,
            serverMonitoringMode="poll",
            heartbeatFrequencyMS=120_000,
            retryReads=False,
            appName="opsapi-agent",
            **options,
        )


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
    secrets |= {value for pair in query.split("&") for value in [pair.partition("=")[2]]}
    for secret in sorted(secrets | {unquote_plus(one) for one in secrets}, key=len, reverse=True):
        # Words such as `true` tell nothing, and a user of one letter would make the message unreadable.
        if len(secret) > 1 and secret not in {"true", "false"}:
            message = message.replace(secret, "***")
    return " ".join(message.split())[:500]


def probe(address: Address) -> None:
    """Raise OSError when nothing listens there; when nothing answers at all, after CONNECT_SECONDS."""
    socket.create_connection(address, timeout=CONNECT_SECONDS).close()
