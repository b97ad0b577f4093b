"""Django's PostgreSQL backend with three changes: it replaces connections that are dead or read-only, and it
reads times and writes arrays quickly.

**Dead connections.** A restarted server or an operator may have ended a kept connection since its last use.
Django's own health check sends a statement for each request, which costs up to a fifth of the request. This
backend asks the kernel before each use instead, so it never uses a connection that ended between requests. If
a connection ends during a statement, the request can be repeated (`opsapi.api.middleware.TransientFaults`).

**Read-only servers.** After a failover, a connection may lead to a server that is read-only. It is replaced
before its next use: a list of servers, a proxy or a name can lead to the new primary.

**Arrays.** Rows are inserted by the thousand, each column as one array of texts (Django's `UNNEST`). In a
column of JSON every quote is escaped. psycopg escapes with a regular expression, which was more than half of
the cost of a large report. `bytes.replace` is sixty times faster.

**Times.** Django reads times with a loader that psycopg wrote in Python, for 10 µs each, and a delivery reads
22 times. `datetime.fromisoformat` is ten times faster.
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper
from django.db.utils import DatabaseErrorWrapper
from psycopg.abc import Buffer
from psycopg.types.array import ListDumper
from psycopg.types.datetime import TimestamptzLoader

from opsapi.postgresql.faults import GAVE_WAY_STATES, refuses_writes


class _Escape:
    """Replaces psycopg's pattern of escaped characters: quotes and backslashes."""

    def sub(self, _replacement: bytes, text: bytes) -> bytes:
        return bytes(text).replace(b"\\", b"\\\\").replace(b'"', b'\\"')


class QuickListDumper(ListDumper):
    """psycopg's dumper. A psycopg that does not use the pattern makes this the same as its own."""

    _re_esc: Any = _Escape()


# Connections get the dumpers that are registered when they open.
psycopg.adapters.register_dumper(list, QuickListDumper)


class QuickTimeLoader(TimestamptzLoader):
    """Reads a time with its zone; the zone of all connections is UTC."""

    timezone = UTC  # Django replaces a loader with another zone.

    def load(self, data: Buffer) -> datetime:
        """Return the time. psycopg's loader reads, or refuses, whatever Python cannot read."""
        try:
            return datetime.fromisoformat(str(data, "ascii"))
        except ValueError:
            return super().load(data).replace(tzinfo=UTC)


# SQLSTATE: connection exceptions, and sessions that the server or an operator ended.
_ENDS = ("08", "57P")


def this_connection() -> "DatabaseWrapper":
    """Return the connection of this thread."""
    return cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS])


class _Errors(DatabaseErrorWrapper):
    """Reports errors to the connection, which notes the end of the connection."""

    wrapper: "DatabaseWrapper"

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc_value, psycopg.Error):
            self.wrapper.note_error(exc_value)
        super().__exit__(exc_type, exc_value, traceback)


class _Cursor(CursorWrapper):
    """Notes possible writes. An error while it closes becomes one of Django's errors."""

    db: "DatabaseWrapper"

    def __exit__(self, *error: object) -> None:
        with suppress(Error):
            self.close()

    def close(self) -> None:
        """Close the cursor. A server-side cursor needs a statement, which fails on an ended connection."""
        with self.db.wrap_database_errors:
            self.cursor.close()

    def _execute(self, sql: Any, params: Any, *ignored: Any) -> Any:
        self.db.note_statement(sql)
        return super()._execute(sql, params, *ignored)  # type: ignore[misc]  # private, not in the stubs

    def _executemany(self, sql: Any, param_list: Any, *ignored: Any) -> Any:
        self.db.note_statement(sql)
        return super()._executemany(sql, param_list, *ignored)  # type: ignore[misc]  # private, not in the stubs


class DatabaseWrapper(base.DatabaseWrapper):
    """The connection of a thread. Outside of a transaction, it is checked before each use."""

    repeats = 0
    """How often the request may be repeated because of errors since `forget`.

    Once if the connection ended during a statement, if PostgreSQL ended a transaction to solve a deadlock, or
    if the server is read-only.
    """
    wrote = False
    """Whether a write since `forget` must not be repeated."""
    refused_writes = False
    """Whether the server of this connection said that it is read-only."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.wrap_database_errors = _Errors(self)

    def get_new_connection(self, conn_params: Any) -> Any:
        new = super().get_new_connection(conn_params)
        new.adapters.register_loader("timestamptz", QuickTimeLoader)
        self.refused_writes = False
        return new

    def forget(self) -> None:
        """Reset `repeats` and `wrote`."""
        self.repeats, self.wrote = 0, False

    @contextmanager
    def written_twice_without_harm(self) -> Iterator[None]:
        """Run the block without setting `wrote`: its writes may be repeated."""
        before = self.wrote
        try:
            yield
        finally:
            self.wrote = before

    def is_usable(self) -> bool:
        """Whether the connection is open and did not turn out to be read-only. Sends nothing.

        Between statements, a server sends only the end of the connection.
        """
        if self.connection is None or self.connection.closed or self.refused_writes:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def close_if_health_check_failed(self) -> None:
        """Close a dead connection. Django calls this before each use."""
        between_transactions = self.autocommit and not self.in_atomic_block
        if self.connection is not None and between_transactions and not self.is_usable():
            self.close()

    def make_cursor(self, cursor: Any) -> CursorWrapper:
        return _Cursor(cursor, self)

    def note_statement(self, sql: object) -> None:
        """Set `wrote` for any statement outside of a transaction except a plain SELECT."""
        # A union begins with a parenthesis.
        if not self.in_atomic_block and not str(sql).lstrip("( \n")[:6].upper().startswith("SELECT"):
            self.wrote = True

    def note_error(self, error: psycopg.Error) -> None:
        """Allow a repetition if the connection has ended, a deadlock was solved, or the server is read-only.

        Without a connection, a repetition would fail, too.
        """
        if self.connection is not None:
            code = error.sqlstate or ""
            ended = self.connection.closed or code.startswith(_ENDS)
            self.refused_writes = self.refused_writes or refuses_writes(error)
            if ended or self.refused_writes or code in GAVE_WAY_STATES:
                self.repeats = 1

    def _commit(self) -> None:
        self.wrote = True
        super()._commit()  # type: ignore[misc]  # private, not in the stubs
