"""Statements the ORM has no words for."""

from collections.abc import Mapping


def insert_from_arrays(table: str, columns: Mapping[str, str]) -> str:
    """An INSERT of many rows at once, in their order, each column an array of the parameter of its name.

    `columns`: the given columns with their types. Names and types come from the code, never from a client.
    """
    arrays = ", ".join(f"%({name})s::{kind}[]" for name, kind in columns.items())
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})"  # noqa: S608 - the names are our own


def update_from_arrays(table: str, columns: Mapping[str, str]) -> str:
    """An UPDATE of many rows at once, each column's new values an array of the parameter of its name.

    `columns`: the changed columns with their types; the array `id` selects the rows. The ORM would send a
    CASE for each column with a branch for each row. Names and types come from the code, never from a client.
    """
    arrays = ", ".join(f"%({name})s::{kind}[]" for name, kind in {"id": "text", **columns}.items())
    return (
        f"UPDATE {table} AS known SET {', '.join(f'{name} = said.{name}' for name in columns)}"  # noqa: S608 - the names are our own
        f" FROM unnest({arrays}) AS said (id, {', '.join(columns)}) WHERE known.id = said.id"
    )
