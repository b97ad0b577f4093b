"""Reads DATABASE_URL: servers, and the options of PostgreSQL's connection strings.

Options of the URL win over the defaults here. An option that cannot be honoured is refused, never replaced.
https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

_SCHEMES = frozenset({"postgresql", "postgres", "psql", "pgsql"})
_STANDARD_PORT = "5432"
# Where Django expects these parts of the URL; they can be options, too.
_PARTS = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER", "password": "PASSWORD"}
_NUMBERS = frozenset(
    {
        "connect_timeout",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "tcp_user_timeout",
    }
)
OPTIONS = _NUMBERS | frozenset(
    {
        "application_name",
        "channel_binding",
        "fallback_application_name",
        "gssdelegation",
        "gssencmode",
        "gsslib",
        "hostaddr",
        "krbsrvname",
        "load_balance_hosts",
        "max_protocol_version",
        "min_protocol_version",
        "oauth_client_id",
        "oauth_client_secret",
        "oauth_issuer",
        "oauth_scope",
        "options",
        "passfile",
        "require_auth",
        "requirepeer",
        "scram_client_key",
        "scram_server_key",
        "service",
        "ssl_max_protocol_version",
        "ssl_min_protocol_version",
        "sslcert",
        "sslcertmode",
        "sslcompression",
        "sslcrl",
        "sslcrldir",
        "sslkey",
        "sslkeylogfile",
        "sslmode",
        "sslnegotiation",
        "sslpassword",
        "sslrootcert",
        "sslsni",
        "target_session_attrs",
    }
)
"""The options of libpq that the platform passes on."""
_REFUSED = {
    "client_encoding": "the platform always uses UTF8",
    "replication": "the platform does not replicate",
}
_NEVER_WRITES = frozenset({"read-only", "standby", "prefer-standby"})

_EVERY = {
    "application_name": "opsapi",
    "connect_timeout": "5",
    # A server that is gone without a word, such as a machine that lost its network, is noticed within ten
    # seconds: by its idle connections and by statements that wait for their answer.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "8000",
}
# A server that is gone delays each new connection by `connect_timeout` before the next server is tried.
_SEVERAL = {"connect_timeout": "2", "target_session_attrs": "read-write"}


def database_of(url: str) -> dict[str, Any]:
    """Return Django's settings of the database at the URL, without ENGINE.

    Raises: ImproperlyConfigured: one line, which shows neither host nor password.
    """
    if url.partition("://")[0].lower() not in _SCHEMES:
        raise ImproperlyConfigured("DATABASE_URL: only postgresql:// is supported")
    try:
        read = dict(environ.Env.db_url_config(url))
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True) if "OPTIONS" in read or parts.path else []
    except (ValueError, ImproperlyConfigured):
        raise ImproperlyConfigured("DATABASE_URL: not a database URL") from None
    servers = unquote(given_servers := parts.netloc.rpartition("@")[2])
    # Django's setting has the directory of a socket as it is.
    if "," in servers or given_servers[:3].upper() == "%2F":
        read["HOST"], read["PORT"] = _servers(servers)
    settings = {name: str(read[name]) for name in _PARTS.values()}
    options = _options(given, settings)
    return {**settings, "OPTIONS": with_defaults(options, hosts=settings["HOST"])}


def with_defaults(options: Mapping[str, str], *, hosts: str) -> dict[str, str]:
    """Add the defaults of the platform; `hosts` may be several, separated by commas."""
    several = _SEVERAL if "," in hosts else {}
    return {**_EVERY, **several, **options}


def _servers(text: str) -> tuple[str, str]:
    """The hosts and the ports of a list of servers, each separated by commas, one port for each host."""
    servers = [_server(server) for server in text.split(",")]
    hosts, ports = zip(*servers, strict=True)
    return ",".join(hosts), ",".join(port or _STANDARD_PORT for port in ports) if any(ports) else ""


def _server(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isascii() and port.isdigit())):
        raise ImproperlyConfigured("DATABASE_URL: a server in the list is not <host> or <host>:<port>")
    return host, port


def _options(given: list[tuple[str, str]], settings: dict[str, str]) -> dict[str, str]:
    """Check the options. Options that are parts of the URL go to `settings`."""
    options: dict[str, str] = {}
    for name, value in given:
        part = _PARTS.get(name)
        if name in options or (part and settings[part]):
            raise ImproperlyConfigured(f"DATABASE_URL: {name} is given twice")
        if fault := _fault(name, value):
            raise ImproperlyConfigured(f"DATABASE_URL: {name}: {fault}")
        if part:
            settings[part] = value
        else:
            options[name] = value
    return options


def _fault(name: str, value: str) -> str | None:
    """Why the option cannot be honoured, as a clause that does not show its value."""
    if name in _REFUSED:
        return _REFUSED[name]
    if name not in OPTIONS and name not in _PARTS:
        return "is not an option of PostgreSQL's connection strings"
    if not value:
        return "has no value"
    if name in _NUMBERS and not (value.isascii() and value.isdigit()):
        return "is not a whole number of 0 or more"
    if name == "target_session_attrs" and value in _NEVER_WRITES:
        return "the platform writes: use read-write or primary"
    return None
