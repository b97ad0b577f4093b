"""Talking to an embedded server from a test."""

from typing import Any

import psycopg

from opsapi.embedded.layout import DATABASE, ROLE, Layout


def connect(layout: Layout, *, role: str = ROLE) -> psycopg.Connection[Any]:
    """An autocommitting connection with Django's parameters."""
    entry = layout.django_database()
    return psycopg.connect(
        host=str(entry["HOST"]), port=str(entry["PORT"]), dbname=DATABASE, user=role, autocommit=True
    )


def ask(layout: Layout, statement: str) -> Any:
    """The first column of the first row."""
    with connect(layout) as connection:
        return first_value(connection, statement)


def first_value(connection: psycopg.Connection[Any], statement: str) -> Any:
    """The same, over this connection."""
    row = connection.execute(statement).fetchone()
    return row[0] if row else None


def run_sql(layout: Layout, statement: str) -> None:
    """Runs a statement that returns nothing."""
    with connect(layout) as connection:
        connection.execute(statement)
