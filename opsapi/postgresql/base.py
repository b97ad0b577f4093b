"""Django's PostgreSQL backend, which replaces a dead connection before it is used.

Connections are kept, and the server may have ended one since its last use: it was restarted, or an operator
ended it. Django's own health check asks the server with each request, which costs up to a fifth of it. Here
the kernel is asked before each use, so a connection that ended between requests is never used. An end during
a statement is noted, so that the request can be repeated (`opsapi.api.middleware.PassingFaults`).
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper
from django.db.utils import DatabaseErrorWrapper

from opsapi.postgresql.faults import GAVE_WAY_STATES
from opsapi.postgresql.lists import QuickListDumper

# Before the first connection, which takes what is registered then.
psycopg.adapters.register_dumper(list, QuickListDumper)

# SQLSTATE: connection exceptions, and the server's or an operator's end of a session.
_ENDS = ("08", "57P")


def this_connection() -> "DatabaseWrapper":
    """The connection of this thread, with what this backend adds."""
    return cast(DatabaseWrapper, connections[DEFAULT_DB_ALIAS])


class _Errors(DatabaseErrorWrapper):
    """Notes which errors mean that the connection has ended."""

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
    """Notes what may have been written; an error while it is closed is one of Django's as any other."""

    db: "DatabaseWrapper"

    def __exit__(self, *error: object) -> None:
        with suppress(Error):
            self.close()

    def close(self) -> None:
        """A cursor of the server's is closed by a statement, which fails where the connection has ended."""
        with self.db.wrap_database_errors:
            self.cursor.close()

    def _execute(self, sql: Any, params: Any, *ignored: Any) -> Any:
        self.db.note_statement(sql)
        return super()._execute(sql, params, *ignored)  # type: ignore[misc]  # the stubs leave out what is private

    def _executemany(self, sql: Any, param_list: Any, *ignored: Any) -> Any:
        self.db.note_statement(sql)
        return super()._executemany(sql, param_list, *ignored)  # type: ignore[misc]  # the stubs leave out what is private


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of one thread; it is looked at before each use outside of a transaction."""

    repeats = 0
    """How often a request may be repeated that met what this one has met since `forget`.

    Once where the connection ended under a statement, or PostgreSQL ended a transaction to solve a deadlock.
    """
    wrote = False
    """Whether something may have been written since `forget` that must not be written twice."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.wrap_database_errors = _Errors(self)

    def forget(self) -> None:
        """Reset `repeats` and `wrote`."""
        self.repeats, self.wrote = 0, False

    @contextmanager
    def written_twice_without_harm(self) -> Iterator[None]:
        """What is written in the block does not count as written."""
        before = self.wrote
        try:
            yield
        finally:
            self.wrote = before

    def is_usable(self) -> bool:
        """Whether the server holds the connection still, as far as this machine knows: nothing is sent.

        Between statements a server says nothing but that it ends the connection.
        """
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return not poll.poll(0)

    def close_if_health_check_failed(self) -> None:
        """Django calls this before each use of the connection."""
        between_transactions = self.autocommit and not self.in_atomic_block
        if self.connection is not None and between_transactions and not self.is_usable():
            self.close()

    def make_cursor(self, cursor: Any) -> CursorWrapper:
        """Every cursor that Django hands out."""
        return _Cursor(cursor, self)

    def note_statement(self, sql: object) -> None:
        """One that is not part of a transaction writes at once; only a plain SELECT certainly does not."""
        if not self.in_atomic_block and not str(sql).lstrip()[:6].upper().startswith("SELECT"):
            self.wrote = True

    def note_error(self, error: psycopg.Error) -> None:
        """One of a connection that was there; where there is none, repeating helps nobody."""
        if self.connection is not None:
            code = error.sqlstate or ""
            ended = self.connection.closed or code.startswith(_ENDS)
            if ended or code in GAVE_WAY_STATES:
                self.repeats = 1

    def _commit(self) -> None:
        self.wrote = True
        super()._commit()  # type: ignore[misc]  # the stubs leave out what is private
