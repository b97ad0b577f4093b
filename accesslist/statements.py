"""The first statements of a request; they may write twice, so the request can be repeated."""

from typing import Any

from opsapi.postgresql.base import this_connection


def first_row(statement: str, parameters: Any) -> tuple[Any, ...]:
    """Return the only row of the statement."""
    connection = this_connection()
    with connection.written_twice_without_harm(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] = cursor.fetchone()
        return row


def written(statement: str, parameters: Any) -> bool:
    """Whether the statement wrote a row."""
    connection = this_connection()
    with connection.written_twice_without_harm(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return bool(cursor.rowcount)
