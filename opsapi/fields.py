"""Custom model fields and expressions."""

from collections.abc import Callable, Iterable
from ipaddress import ip_network
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, Subquery, Value

from opsapi.ids import ID_LENGTH, new_id
from opsapi.wire_json import without_nulls


class IdField(models.CharField[str, str]):
    """The ID of another row, stored as text (byte order, so that IDs sort by time)."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", ID_LENGTH)
        options.setdefault("db_collation", "C")
        super().__init__(**options)


class OptionalIdField(models.CharField[str | None, str | None]):
    """An optional ID."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", ID_LENGTH)
        options.setdefault("db_collation", "C")
        options["null"] = True
        super().__init__(**options)


class PrimaryIdField(IdField):
    """The ID of the row, generated on creation."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("primary_key", True)
        options.setdefault("editable", False)
        default: Callable[[], str] = new_id
        options.setdefault("default", default)
        super().__init__(**options)


class EncryptedField(models.TextField[str | None, str | None]):
    """A secret encrypted by `opsapi.encryption` for the ID of the row. The type marks it for key rotation."""


class CidrField(models.Field[str, str]):
    """A PostgreSQL `cidr`, in Python its canonical text. Compare it in SQL with `>>=`."""

    def db_type(self, connection: Any) -> str:
        return "cidr"

    def from_db_value(self, value: Any, *_: object) -> str | None:
        """PostgreSQL formats some IPv6 ranges differently; the code uses a single form."""
        return None if value is None else str(ip_network(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """Passes the text on; PostgreSQL rejects invalid networks."""
        return None if value is None else str(value)

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """The server needs an explicit cast of a text parameter to cidr."""
        return "%s::cidr"


class WireTime(Func):
    """A timestamp in wire format, formatted by PostgreSQL, which is much faster than in Python."""

    template = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
    output_field = models.TextField()

    def __init__(self, column: str) -> None:
        super().__init__(F(column))


class JsonText(Func):
    """The text under a key of a JSON column; NULL if missing.

    The key is part of the statement, because an index on the expression is not used with a parameter.
    """

    template = "(%(expressions)s ->> '%(key)s')"
    output_field = models.TextField()

    def __init__(self, column: str, key: str) -> None:
        super().__init__(F(column), key=key)


class Among(Func):
    """Whether a text column has one of the values, whatever their number.

    The values are a single array parameter: `__in` uses a parameter for each, and PostgreSQL allows 65,535.
    """

    arg_joiner = " = ANY("
    template = "%(expressions)s)"
    output_field = models.BooleanField()

    def __init__(self, column: str, values: Iterable[str]) -> None:
        super().__init__(F(column), Value(list(values), ArrayField(models.TextField())))


class _JsonRowsField(models.JSONField):
    def from_db_value(self, value: Any, *context: Any) -> Any:
        """Remove the nulls of rows, but not of the documents in them, which json_strip_nulls also removes."""
        return [without_nulls(row) for row in super().from_db_value(value, *context)]


class JsonRows(Subquery):
    """The rows of a subquery as a JSON array, `[]` if empty.

    Each row is an object of the named expressions, in their order and without nulls.
    """

    empty_result_set_value = "[]"  # Replaces a subquery that Django knows to be empty.
    template = "(SELECT coalesce(json_agg(_rows.document), '[]')::text FROM (%(subquery)s) _rows)"
    output_field = _JsonRowsField()

    def __init__(self, rows: models.QuerySet[Any, Any], **members: Any) -> None:
        super().__init__(rows.values(document=_RowDocument(**members)))


class _RowDocument(Func):
    output_field = models.TextField()

    def __init__(self, **members: Any) -> None:
        self.names = tuple(members)
        super().__init__(*members.values())

    def as_sql(self, compiler: Any, *_: Any, **__: Any) -> tuple[str, Any]:
        """Names are part of the statement, which is cheaper than a parameter for each."""
        compiled = [compiler.compile(member) for member in self.get_source_expressions()]
        named = ", ".join(f"'{name}', {sql}" for name, (sql, _) in zip(self.names, compiled, strict=True))
        return f"json_build_object({named})", [value for _, values in compiled for value in values]
