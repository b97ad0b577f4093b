"""Resources: documents that show rows of a table.

A resource declares each field once. The declaration is used in two directions:

    column → `source` → `rows` → `facts`: responses, and audit diffs
    request body → `read` → `source` → column: services
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar
from urllib.parse import quote

from django.db.models import F, Model, QuerySet
from rest_framework import serializers

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, LINKS, Document, self_link
from opsapi.api.errors import get_or_404
from opsapi.api.links import Links
from opsapi.fields import JsonRows, WireTime
from opsapi.wire_json import JsonObject, without_nulls

_NOWHERE: Mapping[str, str] = {}
Facts = JsonObject
"""A document without its links: field name → value. Absent values are left out."""


class Resource(Document):
    """A document of a row: a field shows the column or annotation that its `source` names.

    `columns`: SQL of the fields that are no column. `nullable`: fields that are null and not left out.
    `path`: where the API has it, as a pattern of fields and of the parameters of the view's path. A resource
    with an empty path has no links. `encoded`: fields of the path with any characters, such as the colons of
    IPv6.
    `relations`: paths of related resources, shown with a single document if all fields in the path exist.
    """

    columns: ClassVar[Mapping[str, Any]] = {}
    nullable: ClassVar[frozenset[str]] = frozenset()
    path: ClassVar[str]
    encoded: ClassVar[Collection[str]] = ()
    relations: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        fields, facts = cls.in_order(), super().sample()
        facts = {name: facts.get(name) for name in fields if name in facts or name in cls.nullable}
        if LINKS in fields and fields[LINKS].child.own_example is not None:
            return facts
        path = _formatted(cls.path, {"group_id": AN_ID, "org_id": AN_ID, **facts})
        if path:
            return {**facts, LINKS: self_link(path)}
        return {**facts, LINKS: []} if path == "" and LINKS in facts else facts

    @classmethod
    def rows(cls, queryset: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
        """Return rows of values. PostgreSQL formats times, which is far cheaper than in Python."""
        return queryset.values_list(*_columns(cls).values())

    @classmethod
    def array(cls, queryset: QuerySet[Any, Any]) -> JsonRows:
        """Return a column of another resource: the facts of the rows, in an array."""
        return JsonRows(queryset, **_columns(cls))

    @classmethod
    def facts(cls, row: Iterable[Any]) -> Facts:
        """Return a row as a document without links."""
        values = zip(_columns(cls), row, strict=True)
        return {name: value for name, value in values if value is not None or name in cls.nullable}

    @classmethod
    @cache
    def written(cls) -> Mapping[str, str]:
        """Return the columns of the fields that clients write, by the names of the fields."""
        return {name: str(field.source) for name, field in cls().fields.items() if not field.read_only}

    @classmethod
    def first(cls, queryset: QuerySet[Any, Any]) -> Facts | None:
        """Return the facts of the first row; None without rows."""
        row = cls.rows(queryset).first()
        return None if row is None else cls.facts(row)

    @classmethod
    def found(cls, queryset: QuerySet[Any, Any], code: ErrorCode, *named: str) -> Facts:
        """Return the facts of the first row.

        Raises: ApiError: `code`, with the IDs or names that were `named`, if there are no rows.
        """
        return get_or_404(cls.first(queryset), code, *named)

    @classmethod
    def stored(cls, row: Model) -> Facts:
        """Return the facts of a row as it is in the database now.

        Raises: ObjectDoesNotExist: it was deleted.
        """
        return cls.facts(cls.rows(type(row)._default_manager.filter(pk=row.pk)).get())

    @classmethod
    def present(
        cls, facts: Facts, links: Links, *, place: Mapping[str, str] = _NOWHERE, alone: bool = False
    ) -> Facts:
        """Return the document with its links.

        `place`: the parameters of the view's path. `alone`: the document is not in a list.
        """
        named = {**place, **facts, **{name: quote(facts[name], safe="") for name in cls.encoded}}
        relations = cls.relations.items() if alone else ()
        paths = without_nulls((name, _formatted(path, named)) for name, path in relations)
        return {**facts, LINKS: links.related(cls.path.format_map(named), paths) if cls.path else []}


@cache
def _columns(resource: type[Resource]) -> Mapping[str, Any]:
    """Return field name → selected expression."""
    fields = {name: field for name, field in resource().fields.items() if name != LINKS}
    return {name: resource.columns.get(name) or _column(field) for name, field in fields.items()}


def _column(field: serializers.Field[Any, Any, Any, Any]) -> F | WireTime:
    source = str(field.source)
    return WireTime(source) if isinstance(field, serializers.DateTimeField) else F(source)


def _formatted(pattern: str, facts: Mapping[str, Any]) -> str | None:
    try:
        return pattern.format_map(facts)
    except KeyError:
        return None
