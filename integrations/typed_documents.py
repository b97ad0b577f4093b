"""Documents of one type, with redacted secrets that a request can send back."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, cast

from rest_framework import serializers

from integrations.fields import Field, FieldSet
from integrations.redaction import Secrets
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import BadField
from opsapi.redaction import MASK
from opsapi.wire_json import JsonObject

UNREADABLE = "must be sent again: the stored value can no longer be decrypted"
UNKNOWN = "must be sent in full: it is not the redacted form of the stored value"


class TypedDocument(Document):
    """A document of one type: `kind` has its fields, next to the field `type_field` with its name.

    Context: `secrets` are the stored values of secrets in full, by name; None for a value that cannot be
    decrypted. A redacted value in a request means the stored value, as long as the URL that it goes with does
    not change.

    `of_others` are the fields of other types. Null or an empty array in such a field is accepted and ignored.
    """

    refusals = (ErrorCode.REDACTED_VALUE_UNKNOWN,)
    kind: ClassVar[FieldSet]
    type_field: ClassVar[str]
    of_others: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of_kind(cls, kind: FieldSet, noun: str, **declared: Any) -> type[Self]:
        """The document of a type, with more declared fields and examples."""
        name = f"{kind.type.title().replace('_', '')}{noun.title()}"
        fields = {field.name: field.form for field in kind.fields}
        doc = f"{'An' if noun[0] in 'aeiou' else 'A'} {noun} of type {kind.full_name}."
        common = {"__doc__": doc, "__module__": cls.__module__, "kind": kind}
        return cast("type[Self]", type(name, (cls,), {**common, **fields, **declared}))

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        if isinstance(data, Mapping):
            others = self.of_others - self.fields.keys()
            data = {
                name: value for name, value in data.items() if value not in (None, []) or name not in others
            }
        return super().run_validation(data)

    def _read_field(
        self, name: str, field: serializers.Field[Any, Any, Any, Any], raw: Any, values: JsonObject
    ) -> Iterable[BadField]:
        secret = self.kind.secret_fields.get(name)
        stored: Secrets = self.context.get("secrets", {})
        if secret is not None and isinstance(raw, Mapping):
            return self._read_members(secret, field, raw, values, stored)
        if secret is None or not _is_redacted(raw):
            return super()._read_field(name, field, raw, values)
        if why_not := _why_not(secret, raw, stored, values):
            return [BadField(name, ErrorCode.REDACTED_VALUE_UNKNOWN, why_not)]
        values[name] = stored[name]
        return ()

    def _read_members(
        self,
        secret: Field,
        field: serializers.Field[Any, Any, Any, Any],
        raw: Mapping[str, Any],
        values: JsonObject,
        stored: Secrets,
    ) -> Iterable[BadField]:
        """Read an object whose members are secrets: each redacted member means the stored member."""
        redacted = {name: text for name, text in raw.items() if _is_redacted(text)}
        faults = {
            name: _why_not(secret, text, stored, values, member=name) for name, text in redacted.items()
        }
        bad = [
            BadField(f"{secret.name}.{name}", ErrorCode.REDACTED_VALUE_UNKNOWN, why_not)
            for name, why_not in faults.items()
            if why_not
        ]
        if bad:
            return bad
        full = {name: stored[secret.name][name] if name in redacted else raw[name] for name in raw}
        return super()._read_field(secret.name, field, full, values)

    def check(self, values: JsonObject, bad: frozenset[str]) -> Iterable[BadField]:
        """Faults between the fields of the type, unless the fields themselves are wrong."""
        return () if bad else self.kind.faults(values)


def _is_redacted(raw: Any) -> bool:
    return isinstance(raw, str) and MASK in raw


def _why_not(
    field: Field, raw: str, stored: Secrets, values: Mapping[str, Any], *, member: str | None = None
) -> str | None:
    """Why a redacted value does not mean the stored secret, or its member; None if it does."""
    if field.name not in stored:
        return UNKNOWN
    value = stored[field.name]
    if value is None:
        return UNREADABLE
    shown_form = field.shown(value)
    if (shown_form if member is None else shown_form.get(member)) != raw:
        return UNKNOWN
    moved = field.goes_with is not None and values.get(field.goes_with) != stored.get(field.goes_with)
    return f"must be sent again, because {field.goes_with} was changed" if moved else None
