"""Statements a request begins with; what they write may be written twice, should it be begun anew."""

from typing import Any

from opsapi.postgresql.base import this_connection


def first_row(statement: str, parameters: Any) -> tuple[Any, ...]:
    """The one row of it."""
    connection = this_connection()
    with connection.written_twice_without_harm(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] = cursor.fetchone()
        return row


def written(statement: str, parameters: Any) -> bool:
    """Whether it wrote a row."""
    connection = this_connection()
    with connection.written_twice_without_harm(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return bool(cursor.rowcount)
