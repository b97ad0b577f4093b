"""Connection URIs, and sessions with single servers that cannot hang longer than a deadline."""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Union

import psycopg
from psycopg import errors, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from automation.agent.certificates import ClientCertificate, presented_certificate
from automation.agent.engine import CONNECT_SECONDS, ServerAddress, address_of

STATEMENT_SECONDS = 2
ANSWER_SECONDS = 5.0

MAINTENANCE_DATABASE = "postgres"

_SCHEMES = ("postgresql://", "postgres://")
_FORM = "postgresql://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]...][/DATABASE][?OPTIONS]"
_DEFAULT_PORT = "5432"
_LISTS = frozenset({"host", "hostaddr", "port"})
_DROPPED = _LISTS | {"target_session_attrs", "load_balance_hosts", "replication", "fallback_application_name"}
"""Parameters that select among servers or concern another protocol; a session is with a single server."""
_SECRETS = ("password", "sslpassword", "oauth_client_secret")
_ASKED = ("port", "dbname", "user", "connect_timeout")
"""Parameters for the check whether a server accepts sessions; none of them is secret."""
_SHUT_DOWN = "57P"
"""The class of errors of a server that ends, or has not yet started, its sessions."""
_UNDERSCORE = (
    "contains an underscore, which host names cannot have (RFC 1123): give the machine an alias without"
    " one, or write a valid name as host and its IP address as hostaddr"
)
_NO_HOST = (
    "names no host: write one, or the directory of the socket of a server on this machine"
    " (?host=/var/run/postgresql)"
)
_SERVICE = (
    "names a service without a host: libpq reads the service file only when it connects, so write the host,"
    " port and database into the URI; the file can give everything else"
)
_SOCKET = "{directory}/.s.PGSQL.{port}"
"""The Unix socket of a server (PostgreSQL 20.3.1)."""
_NO_FILE = f"{os.devnull}/none"
"""A path that cannot exist: libpq replaces an empty path with its default, and rejects a device."""

_ASKS_FOR_TLS = struct.pack("!II", 8, 80_877_103)
_HAS_TLS = b"S"
"""The start of a session with TLS, and its answer (PostgreSQL 55.2.10)."""

_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": "10s",
    # Objects that users define in other schemas must not replace the objects of the statements.
    "search_path": "pg_catalog",
}

Row = Mapping[str, Any]
StatementAnswer = Union[Row, psycopg.Error]
"""The first row that answers a statement, empty if there is none; or the error."""

_TYPES: Mapping[int, Callable[[str], Any]] = {
    16: lambda text: text == "t",  # boolean
    20: int,
    21: int,
    23: int,
    700: float,
    701: float,
}
"""How values are read, by the number of their type in every server. Others are texts."""


class Admission(Enum):
    """What a server that gave us no session does with the sessions of others."""

    NONE = "nothing answers"
    STARTING = "it accepts no sessions while it starts, recovers or shuts down"
    HIDDEN = "its socket is closed to this user, which says nothing about the server"
    OPEN = "it accepts sessions"


_ADMISSIONS = {pq.Ping.OK: Admission.OPEN, pq.Ping.REJECT: Admission.STARTING}


@dataclass(frozen=True)
class PostgresAccess:
    """Access to a server: libpq parameters, including secrets."""

    address: ServerAddress
    parameters: Mapping[str, Any] = field(repr=False)

    @property
    def socket_path(self) -> str | None:
        """The Unix socket of a server on this machine; None for TCP."""
        directory = str(self.parameters["host"])
        is_socket = directory.startswith("/") and "hostaddr" not in self.parameters
        return _SOCKET.format(directory=directory, port=self.address.port) if is_socket else None

    def session(self, database: str | None = None) -> PostgresSession:
        """A session with this server only, in the database of the URI or in `database`.

        Raises: psycopg.Error: no session; after CONNECT_SECONDS for each address of the host name.
        """
        parameters = dict(self.parameters)
        if database is not None:
            parameters["dbname"] = database
        return PostgresSession(parameters)

    def admission(self, error: psycopg.Error) -> Admission:
        """Whether a server that gave no session accepts sessions of other users or other parameters."""
        server = error.pgconn
        if server is None:
            # The server answered a statement with an error, or the name does not exist.
            answered = error.sqlstate is not None and not error.sqlstate.startswith(_SHUT_DOWN)
            return Admission.OPEN if answered else Admission.NONE
        if isinstance(error, errors.ConnectionTimeout):
            return Admission.NONE
        asked = {name: self.parameters[name] for name in _ASKED if name in self.parameters}
        asked.update(passfile=_NO_FILE, sslmode="prefer")
        # An invalid parameter fails before a connection: libpq knows no address then. Otherwise connect to
        # the address, because resolving the name again may take long.
        place = server.hostaddr.decode() or self.parameters.get("hostaddr")
        asked.update({"hostaddr": place} if place else {"host": self.parameters["host"]})
        ping = pq.Ping(pq.PGconn.ping(make_conninfo("", **asked).encode()))
        if ping not in _ADMISSIONS and isinstance(self.socket_fault(), PermissionError):
            return Admission.HIDDEN
        return _ADMISSIONS.get(ping, Admission.NONE)

    def socket_fault(self) -> OSError | None:
        """Why the Unix socket cannot be opened; None if it can, and for TCP."""
        if self.socket_path is None:
            return None
        try:
            with socket.socket(socket.AF_UNIX) as opened:
                opened.settimeout(CONNECT_SECONDS)
                opened.connect(self.socket_path)
        except OSError as error:
            return error
        return None

    def explain(self, error: Exception) -> str:
        """An error for the log, without secrets."""
        message = " ".join(str(error).split())
        for name in _SECRETS:
            if secret := self.parameters.get(name):
                message = message.replace(str(secret), "***")
        return message[:500] or type(error).__name__


class PostgresSession:
    """An open connection. Not thread-safe."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Connect; raises psycopg.Error."""
        # Nothing is prepared: a statement that is sent once a minute gains nothing from it.
        self._connection = psycopg.connect(
            **parameters, autocommit=True, prepare_threshold=None, row_factory=dict_row
        )
        self._cursor = self._connection.cursor()  # A cursor for each statement costs more.
        # A second descriptor of the same socket: its number cannot be reused for another connection
        # meanwhile.
        self._socket = socket.socket(fileno=os.dup(self._connection.fileno()))
        self._hostname = str(parameters["host"])

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Cut the connection after `seconds` in this block, so that pending reads fail.

        The server enforces `statement_timeout`, and a server that hangs enforces nothing.
        """
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def is_lost(self) -> bool:
        return self._connection.closed

    @property
    def database(self) -> str:
        return self._connection.info.dbname

    @property
    def listener(self) -> int | None:
        """The process that listens on the Unix socket of this connection, on Linux; None for TCP."""
        if self._socket.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
            return None
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[0])

    def row(self, statement: str, *parameters: object) -> Row:
        """The first row of the answer; empty if there is none. Raises psycopg.Error."""
        return next(iter(self.rows(statement, *parameters)), {})

    def rows(self, statement: str, *parameters: object) -> Sequence[Row]:
        """The rows of the answer. Raises psycopg.Error."""
        # The statements are constants of this package; everything else is in the parameters.
        return self._cursor.execute(statement.encode(), parameters or None).fetchall()

    def answers(
        self, statements: Sequence[str], seconds: float, *, together: bool = True
    ) -> Iterator[StatementAnswer]:
        """The answer to each statement, in order.

        With `together`, one message has all statements. The server takes their time-outs one by one, and may
        send no answer before the end of the message. It stops at a statement that fails, so the statements
        after it are sent again. After a time-out each statement is sent alone.

        Raises: psycopg.Error: the session is lost, also because an answer was missing after `seconds`.
        """
        end = time.monotonic() + seconds
        waiting, most = list(statements), len(statements) if together else 1
        while waiting:
            answers: list[StatementAnswer] = []
            try:
                self._ask(waiting[:most], end, answers)
            except psycopg.Error:
                self._connection.close()
                yield from answers
                raise
            waiting = waiting[len(answers) :]
            most = 1 if isinstance(answers[-1], errors.QueryCanceled) else most
            yield from answers

    def _ask(self, statements: Sequence[str], end: float, answers: list[StatementAnswer]) -> None:
        """Add the answers up to the first error. Raises: psycopg.Error: the session is lost."""
        server = self._connection.pgconn
        server.send_query(";\n".join(statements).encode())
        while server.flush():
            self._wait(end, select.POLLIN | select.POLLOUT)
            server.consume_input()
        while (result := self._result(end)) is not None:
            is_answer = result.status == pq.ExecStatus.TUPLES_OK
            answers.append(_row(result) if is_answer else errors.error_from_result(result))
        if not answers:
            raise psycopg.OperationalError("the server answers nothing")

    def _result(self, end: float) -> pq.abc.PGresult | None:
        server = self._connection.pgconn
        while server.is_busy():
            self._wait(end, select.POLLIN)
            server.consume_input()
        return server.get_result()

    def _wait(self, end: float, events: int) -> None:
        """Wait for the socket. Raises psycopg.OperationalError: not before the end."""
        waiting = select.poll()
        waiting.register(self._socket, events)
        if not waiting.poll(max(0.0, end - time.monotonic()) * 1000):
            raise psycopg.OperationalError("the server does not answer in time")

    def certificate(self) -> bytes | None:
        """The certificate that the server presents, in DER, from a connection of its own; None without TLS.

        libpq does not give the certificate of the session away. A Unix socket has no TLS.

        Raises: OSError, ValueError: no answer, or no certificate.
        """
        if self._socket.family == socket.AF_UNIX:
            return None
        place = self._connection.info.hostaddr, self._connection.info.port
        with socket.create_connection(place, timeout=CONNECT_SECONDS) as connection:
            connection.sendall(_ASKS_FOR_TLS)
            if connection.recv(1) != _HAS_TLS:
                return None
            return presented_certificate(connection, self._hostname, self._own_certificate())

    def _own_certificate(self) -> ClientCertificate | None:
        """The certificate that this session presents, if it has any (PostgreSQL 34.19.2)."""
        used = {
            option.keyword.decode(): (option.val or b"").decode() for option in self._connection.pgconn.info
        }
        if used.get("sslcertmode") == "disable":
            return None
        certificate, key = (
            used.get(f"ssl{name}") or str(Path(f"~/.postgresql/postgresql.{end}").expanduser())
            for name, end in (("cert", "crt"), ("key", "key"))
        )
        password = used.get("sslpassword", "")
        return ClientCertificate(certificate, key, password) if Path(certificate).exists() else None

    def close(self) -> None:
        self._connection.close()
        self._socket.close()

    def _cut(self) -> None:
        with suppress(OSError):  # The connection has already ended.
            self._socket.shutdown(socket.SHUT_RDWR)


def _row(result: pq.abc.PGresult) -> Row:
    """The first row of a result; empty if there is none."""
    row: dict[str, Any] = {}
    for place in range(result.nfields if result.ntuples else 0):
        value, name = result.get_value(0, place), (result.fname(place) or b"").decode()
        known = None if value is None else value.decode(errors="replace")
        row[name] = known if known is None else _TYPES.get(result.ftype(place), str)(known)
    return row


def read(text: str, machine: str = "localhost") -> Sequence[PostgresAccess]:
    """The servers of a connection URI (PostgreSQL 34.1.1.2). Resolves no names.

    `machine` is the host name of servers whose host is the directory of a Unix socket.

    Raises: ValueError: not a URI, or a server name that the platform does not accept. The message quotes
    nothing: a character that is not percent-encoded can turn part of the password into a host or port.
    """
    if not text.startswith(_SCHEMES):
        raise ValueError(f"is not a connection URI: {_FORM}")
    try:
        given = conninfo_to_dict(text)
    except psycopg.Error:
        raise ValueError(
            f"is not a connection URI: {_FORM}; in user and password, characters such as @ : / ? # % are"
            " percent-encoded"
        ) from None
    if not given.get("host") and not given.get("hostaddr"):
        raise ValueError(_SERVICE if given.get("service") else _NO_HOST)
    hosts = str(given.get("host") or "").split(",")
    ports = _spread(str(given.get("port") or ""), len(hosts))
    exact = _spread(str(given.get("hostaddr") or ""), len(hosts))
    if ports is None or exact is None:
        raise ValueError("has different numbers of hosts and of ports or hostaddr")
    common = {name: value for name, value in given.items() if name not in _DROPPED}
    common.update(
        application_name="opsapi-agent",
        connect_timeout=int(CONNECT_SECONDS),
        tcp_user_timeout=int(ANSWER_SECONDS * 1000),
        client_encoding="UTF8",
        options=" ".join(
            [str(given.get("options", "")), *(f"-c {n}={v}" for n, v in _SETTINGS.items())]
        ).strip(),
    )
    common.setdefault("dbname", MAINTENANCE_DATABASE)
    return [
        _access(place, number, common, machine) for number, place in enumerate(zip(hosts, ports, exact), 1)
    ]


def _access(
    where: tuple[str, str, str], place: int, common: Mapping[str, Any], machine: str
) -> PostgresAccess:
    """The access to the server at a place in the URI, from 1; `where` is its host, port and hostaddr."""
    host, port, hostaddr = where
    # An "@" is from a password that is not percent-encoded, and messages have the path of the socket.
    is_socket = host.startswith("/") and "@" not in host and not hostaddr
    name, number = machine if is_socket else host or hostaddr, port or _DEFAULT_PORT
    address = address_of(name, int(number)) if name and number.isascii() and number.isdigit() else None
    if address is None:
        reason = (
            _UNDERSCORE
            if "_" in name and address_of(name.replace("_", "-").strip("-"), 1)
            else "is not a host name (RFC 1123) or an IP address with a port from 1 to 65535"
        )
        raise ValueError(f"has a wrong host {place}: the host {reason}")
    server_parameters = {
        "host": host or hostaddr,
        "port": number,
        **({"hostaddr": hostaddr} if hostaddr else {}),
    }
    return PostgresAccess(address, {**common, **server_parameters})


def _spread(text: str, count: int) -> Sequence[str] | None:
    """Return `count` parts; a single part is repeated. None if the numbers differ."""
    parts = text.split(",")
    parts = parts * count if len(parts) == 1 else parts
    return parts if len(parts) == count else None
