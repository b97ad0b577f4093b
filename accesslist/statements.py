"""Statements a request may begin with."""

from typing import Any

from django.db import InterfaceError, OperationalError, connection


def first_row(statement: str, parameters: Any) -> tuple[Any, ...]:
    """The one row of it; a connection that died since the last request is replaced once.

    Nothing was done yet, or it does no harm to do it twice; the second try spares a health check
    of the connection before every request.
    """
    try:
        return _row(statement, parameters)
    except (OperationalError, InterfaceError):
        if connection.in_atomic_block:
            raise
        connection.close()
        return _row(statement, parameters)


def _row(statement: str, parameters: Any) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] = cursor.fetchone()
        return row
