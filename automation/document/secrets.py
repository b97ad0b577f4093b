"""Masks secrets in the document as `******`, and restores them when `******` is sent back. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from automation.document.partners import partners
from automation.document.pointers import pointer
from automation.document.secret_names import Surroundings
from automation.document.text import write
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, BadField
from opsapi.redaction import MASK, holds_redacted_url, redact_urls
from opsapi.wire_json import JsonObject

Path = tuple[str | int, ...]


def redacted(document: Mapping[str, Any]) -> JsonObject:
    """The document, or its upper part, with `******` for every secret."""
    shown: JsonObject = redacted_value(document, Surroundings())
    return shown


def redacted_value(value: Any, around: Surroundings) -> Any:
    """The value with `******` for every secret.

    Secrets are strings, numbers and booleans at or below a name of `secret_names`, and in any other string
    the user info and query of URLs.
    """
    if isinstance(value, Mapping):
        return {name: redacted_value(member, around.below(name)) for name, member in value.items()}
    if isinstance(value, list):
        return [redacted_value(item, around) for item in value]
    if around.secret:
        return None if value is None else MASK
    return redact_urls(value) if isinstance(value, str) else value


def restored(document: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[JsonObject, list[BadField]]:
    """The document with every `******` replaced by its stored secret.

    Faults are REDACTED_VALUE_UNKNOWN for each mask without a stored secret: at most MOST_FAULTS, by JSON
    Pointer. `partners` matches the items of arrays.
    """
    if MASK not in write(document):
        return dict(document), []
    search = _Search()
    found: JsonObject = search.value(document, _Stored(stored, redacted(stored)), (), Surroundings())
    return found, search.faults


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored value and its masked form; None if nothing is stored."""

    value: Any = None
    shown: Any = None

    def member(self, name: str) -> "_Stored":
        """The member with that name of an object."""
        if not isinstance(self.value, Mapping):
            return _Stored()
        return _Stored(self.value.get(name), self.shown.get(name))

    def items(self, sent: list[Any], array: str | int) -> list["_Stored"]:
        """For each sent item, the stored item that it matches."""
        if not isinstance(self.value, list):
            return [_Stored() for _ in sent]
        found = partners(sent, self.shown, array=array)
        return [_Stored() if at is None else _Stored(self.value[at], self.shown[at]) for at in found]


@dataclass(frozen=True, slots=True)
class _Search:
    """A walk through a document and the stored document; collects unknown masks."""

    faults: list[BadField] = field(default_factory=list)

    def value(self, sent: Any, stored: _Stored, path: Path, around: Surroundings) -> Any:
        if isinstance(sent, str):
            is_redacted = sent == MASK if around.secret else holds_redacted_url(sent)
            return self._found(sent, stored, path) if is_redacted else sent
        if isinstance(sent, Mapping):
            return {
                name: self.value(member, stored.member(name), (*path, name), around.below(name))
                for name, member in sent.items()
            }
        if isinstance(sent, list):
            there = stored.items(sent, array=path[-1])
            return [
                self.value(item, partner, (*path, index), around)
                for index, (item, partner) in enumerate(zip(sent, there, strict=True))
            ]
        return sent

    def _found(self, sent: str, stored: _Stored, path: Path) -> Any:
        if stored.shown == sent:
            return stored.value
        if len(self.faults) < MOST_FAULTS:
            message = f"{MASK} does not match a stored value: send the value itself"
            self.faults.append(BadField(pointer(path), ErrorCode.REDACTED_VALUE_UNKNOWN, message))
        return sent
