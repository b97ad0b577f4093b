"""The changes between two documents, for events. Pure.

The documents are redacted as in the API, so no secret can reach a diff.
"""

import json
from collections.abc import Mapping
from typing import Any

from events.choices import DiffStatus, DiffType
from opsapi.wire_json import JsonObject

Document = Mapping[str, Any]
_NOT_A_CHANGE = frozenset({"links", "updated"})


def diff(
    kind: DiffType, resource_id: str, *, old: Document | None = None, new: Document | None = None
) -> list[JsonObject]:
    """One diff object, or none when nothing changed; without `old` it is NEW, without `new` REMOVED."""
    params = _params(old or {}, new or {})
    if not params:
        return []
    return [{"id": resource_id, "type": kind.value, "status": _status(old, new).value, "params": params}]


def _status(old: Document | None, new: Document | None) -> DiffStatus:
    if old is None:
        return DiffStatus.NEW
    return DiffStatus.REMOVED if new is None else DiffStatus.MODIFIED


def _params(old: Document, new: Document) -> list[dict[str, str]]:
    names = [name for name in dict.fromkeys([*old, *new]) if name not in _NOT_A_CHANGE]
    return [_param(name, old, new) for name in names if old.get(name) != new.get(name)]


def _param(name: str, old: Document, new: Document) -> dict[str, str]:
    shown = {"param": name, "display": name}
    if old.get(name) is not None:
        shown["old"] = _text(old[name])
    if new.get(name) is not None:
        shown["new"] = _text(new[name])
    return shown


def compact_json(value: Any) -> str:
    """A value as JSON on a single line, without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)
