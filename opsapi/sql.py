"""SQL statements that the ORM cannot express."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper

from opsapi.postgresql.base import this_connection

_SET_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"
_QUERY_CANCELED = "57014"  # SQLSTATE


def insert_from_arrays(table: str, columns: Mapping[str, str]) -> str:
    """Return an INSERT of many rows, in their order. Each column is an array, the parameter with its name.

    `columns`: name → type. Names and types come from the code, never from a client.
    """
    arrays = ", ".join(f"%({name})s::{kind}[]" for name, kind in columns.items())
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})"  # noqa: S608 - the names are our own


def update_from_arrays(table: str, columns: Mapping[str, str]) -> str:
    """Return an UPDATE of many rows. The new values of a column are an array, the parameter with its name.

    `columns`: name → type of the changed columns; the array `id` selects the rows. Django's `bulk_update`
    sends a CASE for each column with a branch for each row. Names and types come from the code, never from a
    client.
    """
    arrays = ", ".join(f"%({name})s::{kind}[]" for name, kind in {"id": "text", **columns}.items())
    # With the LIMIT, PostgreSQL keeps its plan, for arrays of any length: it looks up each row by its id.
    # Without it, PostgreSQL plans each execution, which takes longer than the update of a few rows.
    given = f"SELECT * FROM unnest({arrays}) LIMIT cardinality(%(id)s::text[])"  # noqa: S608 - the names are our own
    return (
        f"UPDATE {table} AS stored SET {', '.join(f'{name} = changed.{name}' for name in columns)}"  # noqa: S608 - the names are our own
        f" FROM ({given}) AS changed (id, {', '.join(columns)}) WHERE stored.id = changed.id"
    )


def each_value(name: str, column: str, *, table: str, where: str, order: str) -> str:
    """Return a WITH clause in which `name` has each value of the column once, and NULL at the end.

    The clause reads an index from value to value, so the number of rows with a value does not matter. The
    index must have the columns `order`, which begin with the column, and the condition `where`. All names
    come from the code, never from a client.
    """
    return f"""
WITH RECURSIVE {name}({column}) AS (
    (SELECT {column} FROM {table} WHERE {where} AND {column} IS NOT NULL ORDER BY {order} LIMIT 1)
    UNION ALL
    SELECT (SELECT later.{column} FROM {table} AS later
             WHERE {where} AND later.{column} > {name}.{column} ORDER BY {order} LIMIT 1)
      FROM {name} WHERE {name}.{column} IS NOT NULL
)
"""  # noqa: S608 - the names are our own


def execute(sql: str, params: Any = None) -> int:
    """Execute a statement. Return the number of rows that it wrote or found."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def fetch_rows(sql: str, params: Any = None) -> list[tuple[Any, ...]]:
    """Return all rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


@contextmanager
def statements_within(seconds: float) -> Iterator[None]:
    """Let PostgreSQL end each statement that takes longer than `seconds`. It needs a transaction.

    Raises:
        OperationalError: a statement took longer (`took_too_long`).
    """
    [(before,)] = fetch_rows("SELECT current_setting('statement_timeout')")
    execute(_SET_TIMEOUT, [str(max(1, int(seconds * 1000)))])
    yield
    execute(_SET_TIMEOUT, [before])


def took_too_long(error: DatabaseError) -> bool:
    """Return whether PostgreSQL has ended a statement because of a time limit."""
    return getattr(error.__cause__, "sqlstate", None) == _QUERY_CANCELED


def database_time() -> datetime:
    """Return the time of the database, which all machines share; their own clocks may differ."""
    [(moment,)] = fetch_rows("SELECT clock_timestamp()")
    return cast(datetime, moment)


def first_row(statement: str, parameters: Any) -> tuple[Any, ...]:
    """Return the only row of a statement that may be executed again if the request is repeated."""
    with _repeatable(statement, parameters) as cursor:
        row: tuple[Any, ...] = cursor.fetchone()
        return row


def writes_row(statement: str, parameters: Any) -> bool:
    """Whether the statement wrote a row. It may be executed again if the request is repeated."""
    with _repeatable(statement, parameters) as cursor:
        return bool(cursor.rowcount)


@contextmanager
def _repeatable(statement: str, parameters: Any) -> Iterator[CursorWrapper]:
    connection = this_connection()
    with connection.written_twice_without_harm(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        yield cursor
