"""Request and response documents: declared once as DRF serializers, read strictly.

DRF's own fields coerce ("5" becomes 5, 1 becomes "1") and stop at the first kind of error. These fields
accept exactly their JSON type, and a document names every wrong field at once, with its path and the allowed
values.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Self

from django.utils.functional import cached_property
from rest_framework import serializers

from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, WHOLE_BODY, ApiError, BadField
from opsapi.wire_json import UNKEPT_TEXT, is_kept, without_nulls

_ARRAYS = (serializers.ListField, serializers.ListSerializer)


def is_empty_array(field: Any, sent: Any) -> bool:
    """Whether `[]` was sent for an array. It means the same as an absent field."""
    return isinstance(field, _ARRAYS) and sent == []


def is_unchanged(field: Any, sent: Any, stored: Any) -> bool:
    """Whether the sent value is the stored value.

    Date-times can have another notation of the same second. Only fields of fractional numbers accept 5.0 for
    5.
    """
    if isinstance(stored, Mapping):
        return _are_unchanged(field, sent, stored)
    if isinstance(stored, list):
        below = getattr(field, "child", None)
        is_as_long = isinstance(sent, list) and len(sent) == len(stored)
        return is_as_long and all(is_unchanged(below, *pair) for pair in zip(sent, stored, strict=True))
    if isinstance(field, serializers.DateTimeField):
        return _is_same_second(sent, stored)
    is_of_one_type = _json_type(field, sent) == _json_type(field, stored)
    return is_of_one_type and bool(sent == stored)


def _are_unchanged(field: Any, sent: Any, stored: Mapping[str, Any]) -> bool:
    fields = getattr(field, "fields", {})
    is_alike = isinstance(sent, Mapping) and sent.keys() == stored.keys()
    return is_alike and all(is_unchanged(fields.get(name), sent[name], stored[name]) for name in stored)


def _json_type(field: Any, value: Any) -> type:
    """Return the JSON type for the comparison: `true` is not a number, and 5.0 is not an integer."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int) and isinstance(field, serializers.FloatField):
        return float
    return next((kind for kind in (int, float, str) if isinstance(value, kind)), type(value))


def _is_same_second(sent: Any, stored: Any) -> bool:
    if not isinstance(sent, str) or not isinstance(stored, str):
        return bool(sent == stored)
    try:
        return clock.parse_time(sent) == clock.parse_time(stored)
    except ValueError:
        return False


Values = dict[str, Any]
"""The checked values of a document, by the `source` of their fields."""

MOST_ITEMS = 500
"""The maximum number of documents in an array."""

LINKS = "links"
"""Responses contain links. Requests may contain any array of this name: responses can be sent back."""

# Values for the examples in the OpenAPI document; each document declares its own example.
AN_ID = "69201a2b3c4d5e6f70819203"
ANOTHER_ID = "69201a2b3c4d5e6f70819204"
A_TIME = "2026-11-21T07:26:14Z"

_ABSENT = object()


class _DocumentCache(threading.local):
    """The document objects of a thread."""

    def __init__(self) -> None:
        self.documents: dict[type, Any] = {}


_CACHE = _DocumentCache()


class InvalidField(Exception):  # noqa: N818 - says what it is about
    """The faults of a field, with paths relative to the field."""

    def __init__(self, *bad_fields: BadField) -> None:
        super().__init__(bad_fields)
        self.bad_fields = bad_fields


def invalid(
    message: str, code: ErrorCode = ErrorCode.INVALID_ATTRIBUTE, allowed: Sequence[str] = ()
) -> InvalidField:
    """Return the fault of a field with a single value."""
    return InvalidField(BadField("", code, message, allowed))


class Document(serializers.Serializer[Any]):
    """A JSON object with exactly the declared fields.

    `older_names`: a name that clients still send → the current field. `ignored`: names that are accepted
    with any value; `links` is accepted if it is an array. A missing required field is refused with the
    field's `missing_code`; `check` compares fields with each other. A field that a subclass declares again
    keeps its place. If `writable` names fields, all others are read-only. `is_change`: the document changes
    a stored object, and every field can be left out. Values are read under the `source` of their field, by
    default its name, as everywhere in DRF.

    For the OpenAPI document: `refusals` are the codes of `check`; `deprecated_fields` should no longer be
    used. `sample` is an example document, which consists of the examples of the fields. `order` names the
    fields that come first in it, if it has another order than the declaration. `request_example` is an
    example of a request, by default `sample` without read-only fields.
    """

    older_names: ClassVar[Mapping[str, str]] = {}
    ignored: ClassVar[frozenset[str]] = frozenset()
    writable: ClassVar[frozenset[str] | None] = None
    is_change: ClassVar[bool] = False
    refusals: ClassVar[Sequence[ErrorCode]] = ()
    deprecated_fields: ClassVar[frozenset[str]] = frozenset()
    order: ClassVar[Sequence[str]] = ()
    request_example: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, *args: Any, example: Mapping[str, Any] | None = None, **options: Any) -> None:
        """`example`: the example of this field, or of an item of this array, if it is not the document's.

        Without a member, examples leave out the field.
        """
        super().__init__(*args, **options)
        self.own_example = example

    @classmethod
    @contextmanager
    def within(cls, **context: Any) -> Iterator[Self]:
        """Yield this thread's document in a context. Building the fields costs more than reading a body."""
        document = _CACHE.documents.get(cls)
        if document is None:
            document = _CACHE.documents[cls] = cls()
        document._context = context
        try:
            yield document
        finally:
            document._context = {}

    def get_fields(self) -> dict[str, Any]:
        """Return the declared fields, changed by `writable` and `is_change`."""
        fields: dict[str, Any] = super().get_fields()
        for name, field in fields.items():
            if self.writable is not None and name not in self.writable:
                field.read_only = True
            if self.is_change or field.read_only:
                field.required, field.default = False, serializers.empty
        return fields

    @classmethod
    def in_order(cls) -> Mapping[str, Any]:
        """Return the fields in the order of answers and examples."""
        fields = cls().fields
        return {**{name: fields[name] for name in cls.order}, **fields}

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        fields = cls.in_order().items()
        return without_nulls((name, _sample_of(field)) for name, field in fields)

    def read(self, data: Mapping[str, Any]) -> Values:
        """Return the values by `source`. Fields that are left out are absent, unless they have a default.

        Raises: ApiError: with every wrong field in `badFields`, in the documented order.
        """
        try:
            return self.run_validation(data)
        except InvalidField as error:
            # Paths are relative to the document; a fault of the whole document has no path.
            named = [replace(fault, field=fault.field or WHOLE_BODY) for fault in error.bad_fields]
            raise ApiError.of_fields(named) from None

    def run_validation(self, data: Any = _ABSENT) -> Values:
        """As `read`, for a document inside another. Raises InvalidField: with the wrong fields."""
        if not isinstance(data, Mapping):
            raise invalid("must be an object")
        data = self._each_once(data)
        older, read = self.older_names, self._fields_read
        renamed = {older.get(name, name): value for name, value in data.items()} if older else data
        bad = [] if data.keys() <= read.keys() else self._unknown(data)
        if len(renamed) != len(data):
            bad.extend(self._twice(data))
        if LINKS in data:
            bad.extend(self._link_faults(data[LINKS]))
        values: Values = {}
        for name, field in read.items():
            if name in renamed or field.required or field.default is not serializers.empty:
                bad.extend(self._read_field(name, field, renamed.get(name, _ABSENT), values))
        bad.extend(self.check(values, frozenset(fault.field.split(".")[0].split("[")[0] for fault in bad)))
        if bad:
            raise InvalidField(*self._in_documented_order(bad)[:MOST_FAULTS])
        return values

    @cached_property
    def _fields_read(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return `fields` in a form that is fast to read for each document of an array."""
        return dict(self.fields.items())

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Yield faults between fields. `values`: the valid values. `bad`: the names of the invalid fields."""
        return ()

    def _read_field(
        self, name: str, field: serializers.Field[Any, Any, Any, Any], raw: Any, values: Values
    ) -> Iterable[BadField]:
        if field.read_only:
            return () if raw is _ABSENT or raw is None else self._read_only_faults(name, raw)
        if raw is _ABSENT or raw is None or (raw == [] and getattr(field, "clearable", None) is False):
            if field.required:
                code = getattr(field, "missing_code", ErrorCode.MISSING_ATTRIBUTE)
                return [BadField(name, code, "must have at least one item" if raw == [] else "is required")]
            if field.default is not serializers.empty:
                values[field.source or name] = field.get_default()
            return ()
        try:
            values[field.source or name] = field.run_validation(raw)
        except InvalidField as error:
            return [fault.below(name) for fault in error.bad_fields]
        return ()

    def _read_only_faults(self, name: str, raw: Any) -> Iterable[BadField]:
        if name in self.ignored or name == LINKS:
            return ()
        stored = self.context.get("stored") or {}
        field = self.fields[name]
        if is_unchanged(field, raw, stored[name]) if name in stored else is_empty_array(field, raw):
            return ()
        return [
            BadField(name, ErrorCode.ATTRIBUTE_READ_ONLY, "is read-only and differs from the stored value")
        ]

    def _is_unknown(self, name: str) -> bool:
        known = self.older_names.get(name, name) in self.fields
        return not known and name != LINKS and name not in self.ignored

    def _unknown(self, data: Mapping[str, Any]) -> list[BadField]:
        """Return the fault of a name that no response could show; it is a fault of the whole document."""
        names = list(islice(filter(self._is_unknown, data), MOST_FAULTS))
        bad = [self._unknown_name(name) for name in names if is_kept(name)]
        if len(bad) < len(names):
            bad.append(BadField("", ErrorCode.INVALID_ATTRIBUTE, f"its names {UNKEPT_TEXT}"))
        return bad

    def _unknown_name(self, name: str) -> BadField:
        message = "is not a field of this document"
        writable = sorted(known for known, field in self.fields.items() if not field.read_only)
        return BadField(name[:100] or '""', ErrorCode.INVALID_ATTRIBUTE, message, writable)

    @staticmethod
    def _link_faults(links: Any) -> Iterable[BadField]:
        if links is not None and not isinstance(links, list):
            yield BadField(LINKS, ErrorCode.INVALID_ATTRIBUTE, "must be an array")

    def _each_once(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the data without nulls in fields that have two names: a null counts as left out."""
        if not self.older_names:
            return data
        twofold = {*self.older_names, *self.older_names.values()}
        return {name: value for name, value in data.items() if value is not None or name not in twofold}

    def _twice(self, data: Mapping[str, Any]) -> list[BadField]:
        return [
            BadField(old, ErrorCode.INVALID_ATTRIBUTE, f"is an older name of {name}, which is also given")
            for old, name in self.older_names.items()
            if old in data and name in data
        ]

    def _in_documented_order(self, bad: list[BadField]) -> list[BadField]:
        places = {name: place for place, name in enumerate(self.fields)}
        return sorted(bad, key=lambda fault: places.get(fault.field.split(".")[0].split("[")[0], len(places)))


def _sample_of(field: Any) -> Any:
    """Return the example of a field; None if it declares none."""
    if isinstance(field, Document):
        return (field.sample() if field.own_example is None else field.own_example) or None
    child = getattr(field, "child", None)
    if isinstance(child, Document):
        item = _sample_of(child)
        return [item] if item else None
    return getattr(field, "example", None)


def read_array(document: Document, items: Sequence[Any]) -> list[Values]:
    """Return the values of each document of an array. Paths of faults begin with the position, `[0].name`.

    Raises: ApiError: MISSING_ATTRIBUTE for an empty array, INVALID_ATTRIBUTE for an array that is too long,
    or the wrong fields of all documents in `badFields`.
    """
    if not items:
        raise ApiError.of_field("[0]", ErrorCode.MISSING_ATTRIBUTE, "is required: the array is empty")
    if len(items) > MOST_ITEMS:
        message = f"must have at most {MOST_ITEMS} items"
        raise ApiError.of_field(f"[{MOST_ITEMS}]", ErrorCode.INVALID_ATTRIBUTE, message)
    values: list[Values] = []
    bad: list[BadField] = []
    for place, item in enumerate(items):
        try:
            values.append(document.run_validation(item))
        except InvalidField as error:
            bad.extend(fault.below(f"[{place}]") for fault in error.bad_fields)
    if bad:
        raise ApiError.of_fields(bad)
    return values


def self_link(path: str) -> list[dict[str, str]]:
    """Return example links of an object in a list; `path` is a path of the public API."""
    return [{"href": f"https://ops.example.com/api/public/v1.0{path}", "rel": "self"}]


class LinkDocument(Document):
    """A link to another document, as in Web Linking (RFC 8288)."""

    href = serializers.CharField()
    rel = serializers.CharField()

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        return self_link("/groups")[0]


def links_of(path: str, **options: Any) -> Any:
    """Return the field of an object's links; in its example, `path` is the path in the public API."""
    return LinkDocument(many=True, example=self_link(path)[0], **options)
