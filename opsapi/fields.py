"""Model fields of the house."""

from collections.abc import Callable, Iterable
from ipaddress import ip_network
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, Subquery, Value

from opsapi.ids import ID_LENGTH, new_id


class IdField(models.CharField[str, str]):
    """An identifier of another row, kept as text (byte order, so that ids sort by time)."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", ID_LENGTH)
        options.setdefault("db_collation", "C")
        super().__init__(**options)


class OptionalIdField(models.CharField[str | None, str | None]):
    """An identifier that may be absent."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", ID_LENGTH)
        options.setdefault("db_collation", "C")
        options["null"] = True
        super().__init__(**options)


class PrimaryIdField(IdField):
    """The identifier of the row itself, made on creation."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("primary_key", True)
        options.setdefault("editable", False)
        default: Callable[[], str] = new_id
        options.setdefault("default", default)
        super().__init__(**options)


class SealedField(models.TextField[str | None, str | None]):
    """A secret sealed by `opsapi.encryption` for the row's id; the type marks it for key rotation."""


class CidrField(models.Field[str, str]):
    """A PostgreSQL `cidr`; in Python its canonical text. Compared in SQL with `>>=`."""

    def db_type(self, connection: Any) -> str:
        """The column's type."""
        return "cidr"

    def from_db_value(self, value: Any, *_: object) -> str | None:
        """PostgreSQL writes some IPv6 ranges in a form of its own; the code knows one form."""
        return None if value is None else str(ip_network(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """Text in, as it is; PostgreSQL refuses what is no network."""
        return None if value is None else str(value)

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """A text parameter has to be named a cidr when the server binds it."""
        return "%s::cidr"


class WireTime(Func):
    """A timestamp as the wire shows it, formatted by PostgreSQL: per value far cheaper than in Python."""

    template = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
    output_field = models.TextField()

    def __init__(self, column: str) -> None:
        super().__init__(F(column))


class JsonText(Func):
    """The text under a key of a JSON column, NULL where there is none.

    The key stands in the statement itself: an index on the expression is found by no parameter.
    """

    template = "(%(expressions)s ->> '%(key)s')"
    output_field = models.TextField()

    def __init__(self, column: str, key: str) -> None:
        super().__init__(F(column), key=key)


class Among(Func):
    """Whether a column of text holds one of the values, however many those are.

    They are one parameter, an array: `__in` takes one for each, and PostgreSQL 65,535 of them.
    """

    arg_joiner = " = ANY("
    template = "%(expressions)s)"
    output_field = models.BooleanField()

    def __init__(self, column: str, values: Iterable[str]) -> None:
        super().__init__(F(column), Value(list(values), ArrayField(models.TextField())))


class JsonRows(Subquery):
    """The rows of a subquery as one JSON array of objects, `[]` when there are none."""

    empty_result_set_value = "[]"  # in place of a subquery that Django knows to find nothing
    template = "(SELECT coalesce(jsonb_agg(to_jsonb(_rows)), '[]'::jsonb) FROM (%(subquery)s) _rows)"
    output_field = models.JSONField()
