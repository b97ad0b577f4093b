"""Finds valid JSON that cannot be kept in the document, by JSON Pointer, and removes it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from automation.document.pointers import pointer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, WHOLE_BODY, BadField
from opsapi.strict_json import UNKEPT_TEXT, is_kept
from opsapi.wire_json import JsonObject

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Unkept:
    """Placeholder of a number that cannot be kept; `message` says why."""

    message: str


def kept_alone(document: Mapping[str, Any]) -> tuple[JsonObject, list[BadField]]:
    """The document without values that cannot be kept, and at most MOST_FAULTS faults: INVALID_ATTRIBUTE.

    A value becomes null. A name that cannot be kept is dropped, and the fault is that of its object.
    """
    walk = _Walk()
    found: JsonObject = walk.value(document, ())
    return found, walk.faults


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk through a document whose depth was checked when it was parsed."""

    faults: list[BadField] = field(default_factory=list)

    def value(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return value if is_kept(value) else self._refused(path, UNKEPT_TEXT)
        if isinstance(value, Unkept):
            return self._refused(path, value.message)
        if isinstance(value, dict):
            return dict(self._members(value, path))
        if isinstance(value, list):
            return [self.value(item, (*path, index)) for index, item in enumerate(value)]
        return value

    def _members(self, members: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Any]]:
        kept = [name for name in members if is_kept(name)]
        if len(kept) < len(members):
            self._refused(path, f"its names {UNKEPT_TEXT}")
        for name in kept:
            yield name, self.value(members[name], (*path, name))

    def _refused(self, path: Path, message: str) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(BadField(pointer(path) or WHOLE_BODY, ErrorCode.INVALID_ATTRIBUTE, message))
