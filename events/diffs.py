"""The changes between two documents, for events. Pure.

The documents are redacted as in the API, so no secret can reach a diff."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from events.choices import DiffStatus, DiffType
from events.wording import in_words
from opsapi.wire_json import JsonObject

Document = Mapping[str, Any]
_NOT_A_CHANGE = frozenset({"links", "updated"})


def diff(
    kind: DiffType, resource_id: str, *, old: Document | None = None, new: Document | None = None
) -> list[JsonObject]:
    """One diff object, or none when nothing changed; without `old` it is NEW, without `new` REMOVED."""
    before, after = old or {}, new or {}
    names = [name for name in dict.fromkeys([*before, *after]) if name not in _NOT_A_CHANGE]
    params = [_param(name, before, after) for name in names if before.get(name) != after.get(name)]
    if not params:
        return []
    return [{"id": resource_id, "type": kind.value, "status": _status(old, new).value, "params": params}]


def _status(old: Document | None, new: Document | None) -> DiffStatus:
    if old is None:
        return DiffStatus.NEW
    return DiffStatus.REMOVED if new is None else DiffStatus.MODIFIED


def _param(name: str, old: Document, new: Document) -> dict[str, str]:
    param = {"param": name, "display": name}
    if old.get(name) is not None:
        param["old"] = _text(old[name])
    if new.get(name) is not None:
        param["new"] = _text(new[name])
    return param


def compact_json(value: Any) -> str:
    """A value as JSON on a single line, without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


SHOWN_CHARACTERS = 160
"""Characters of a value shown at first; longer values can be opened."""


@dataclass(frozen=True, slots=True)
class Side:
    """A value before or after: the short form, and the whole value if it was cut."""

    shown: str
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A changed field; a side is None if there was, or is, no value."""

    field: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class ChangedResource:
    """The changes of a resource."""

    kind: str
    status: str
    resource_id: str
    rows: tuple[DiffRow, ...]


def changed_resources(diffs: Iterable[Mapping[str, Any]]) -> list[ChangedResource]:
    """The diff objects of an event, in order."""
    return [
        ChangedResource(
            kind=in_words(diff["type"]),
            status=in_words(diff["status"]),
            resource_id=diff["id"],
            rows=tuple(_row(param) for param in diff["params"]),
        )
        for diff in diffs
    ]


def side(value: str) -> Side:
    """A value on a single line, cut if it is long."""
    line = " ".join(value.split())
    if len(line) <= SHOWN_CHARACTERS and line == value:
        return Side(value)
    cut = line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"
    return Side(cut, _laid_out(value))


def _row(param: Mapping[str, str]) -> DiffRow:
    before, after = param.get("old"), param.get("new")
    return DiffRow(
        field=param["display"],
        before=None if before is None else side(before),
        after=None if after is None else side(after),
    )


def _laid_out(value: str) -> str:
    """Objects and lists are compact JSON in a diff (`events.diffs`); other texts are shown unchanged."""
    if not value.startswith(("{", "[")):
        return value
    try:
        document = json.loads(value)
        # A value that would not round-trip, such as `1e999` or a duplicate key, would be shown wrongly.
        faithful = compact_json(document) == value
    except (ValueError, RecursionError):  # The text only looks like JSON, or was cut when it was recorded.
        return value
    return json.dumps(document, indent=2, ensure_ascii=False) if faithful else value
