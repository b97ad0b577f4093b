"""The changes between two documents, for events. Pure.

The documents are redacted as in the API, so no secret can reach a diff."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from events.choices import DiffStatus, DiffType
from events.wording import in_words
from opsapi.ids import is_id
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
MOST_LEAVES = 200
"""The most rows of a resource."""
_DEEPEST = 8
"""Values within so many documents are shown as JSON."""
_IDENTITIES = ("id", "_id", "name", "host")
"""The fields by which elements of a list are the same, the first that all of them have."""
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
QuantityWords = Callable[[float, str], str]
"""Returns a number with its units in words: `12 GB`."""


@dataclass(frozen=True, slots=True)
class Side:
    """A value before or after: the short form, and the whole value if it was cut."""

    shown: str
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A changed leaf; a side is None if there was, or is, no value."""

    field: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class ChangedResource:
    """The changes of a resource. `left_out`: the number of changed leaves beyond the rows."""

    kind: str
    status: str
    resource_id: str
    rows: tuple[DiffRow, ...]
    left_out: int = 0


def changed_resources(
    diffs: Iterable[Mapping[str, Any]], quantity_words: QuantityWords | None = None
) -> list[ChangedResource]:
    """The diff objects of an event, in order, by leaf: documents by field, and lists by element.

    With `quantity_words`, the documents are of the platform, whose fields are shown in words.
    """
    return [_changed(diff, _Leaves(quantity_words)) for diff in diffs]


MOST_SUMMARIZED = 2
_SUMMARIZED_CHARACTERS = 40


def change_summary(diffs: Iterable[Mapping[str, Any]], quantity_words: QuantityWords | None = None) -> str:
    """Return the first changed leaves of modified resources in a line: `Threshold: 12 GB → 14 GB`.

    A long value is cut. Resources that were added or removed have no summary: the event says so itself. Of
    several resources, each with a name has it before its leaves.
    """
    modified = [diff for diff in diffs if diff["status"] == DiffStatus.MODIFIED.value]
    leaves = _Leaves(quantity_words)
    rows = (
        (_named(diff) if len(modified) > 1 else "", row)
        for diff in modified
        for param in diff["params"]
        for row in leaves.of_param(param)
    )
    first = list(islice(rows, MOST_SUMMARIZED + 1))
    words = [
        f"{name}{row.field}: {_short(row.before)} → {_short(row.after)}"
        for name, row in first[:MOST_SUMMARIZED]
    ]
    return "; ".join([*words, *("…" for _ in first[MOST_SUMMARIZED:])])


def _named(diff: Mapping[str, Any]) -> str:
    """The name of the resource, before its change; empty for an ID."""
    return "" if is_id(diff["id"]) else f"{diff['id']}, "


def _short(side: Side | None) -> str:
    if side is None or not side.shown:
        return "none" if side is None else "empty"
    text = side.shown
    return text if len(text) <= _SUMMARIZED_CHARACTERS else f"{text[: _SUMMARIZED_CHARACTERS - 1]}…"


def _changed(diff: Mapping[str, Any], leaves: "_Leaves") -> ChangedResource:
    rows = (row for param in diff["params"] for row in leaves.of_param(param))
    first = list(islice(rows, MOST_LEAVES))
    return ChangedResource(
        kind=in_words(diff["type"]),
        status=in_words(diff["status"]),
        resource_id=diff["id"],
        rows=tuple(first),
        left_out=sum(1 for _ in rows),
    )


def side(value: str) -> Side:
    """A value on a single line, cut if it is long."""
    line = " ".join(value.split())
    if len(line) <= SHOWN_CHARACTERS and line == value:
        return Side(value)
    cut = line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"
    return Side(cut, value)


def document_of(text: str) -> Any:
    """The document or list that a diff has as compact JSON; other texts unchanged.

    Text that only looks like JSON, or was cut when it was recorded, is text. So is JSON that would not
    round-trip, such as `1e999` or a duplicate key, because it would be shown wrongly.
    """
    if not text.startswith(("{", "[")):
        return text
    try:
        document = json.loads(text)
        return document if compact_json(document) == text else text
    except (ValueError, RecursionError):
        return text


_MISSING: Any = object()
Leaf = tuple[tuple[str, ...], Any, Any]


@dataclass(frozen=True, slots=True)
class _Leaves:
    """Compares values by leaf. A missing value is `_MISSING`."""

    quantity_words: QuantityWords | None

    def of_param(self, param: Mapping[str, str]) -> Iterator[DiffRow]:
        before, after = (document_of(param[name]) if name in param else _MISSING for name in ("old", "new"))
        for path, old, new in self._compared((param["display"],), before, after):
            yield DiffRow(field=self._path_words(path), before=_side(old), after=_side(new))

    def _path_words(self, path: tuple[str, ...]) -> str:
        if self.quantity_words is None:
            return " · ".join(path)
        steps = [_words(step) for step in path]
        # The threshold of a metric threshold is this threshold.
        kept = [step for before, step in pairwise(["", *steps]) if not before.endswith(f" {step}")]
        text = " · ".join(kept)
        return text[:1].upper() + text[1:]

    def _compared(self, path: tuple[str, ...], old: Any, new: Any) -> Iterator[Leaf]:
        sides = [value for value in (old, new) if value is not _MISSING]
        if len(path) <= _DEEPEST and sides and all(isinstance(value, dict) for value in sides):
            yield from self._of_documents(
                path, *(value if value is not _MISSING else {} for value in (old, new))
            )
        elif len(path) <= _DEEPEST and sides and all(isinstance(value, list) for value in sides):
            yield from self._of_lists(path, *(value if value is not _MISSING else [] for value in (old, new)))
        elif old != new:
            yield path, old, new

    def _of_documents(self, path: tuple[str, ...], old: Any, new: Any) -> Iterator[Leaf]:
        before, after = self._in_units(old), self._in_units(new)
        for name in dict.fromkeys([*before, *after]):
            yield from self._compared((*path, name), before.get(name, _MISSING), after.get(name, _MISSING))

    def _in_units(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document with the units next to its threshold."""
        number, units = document.get("threshold"), document.get("units")
        if self.quantity_words is None or not isinstance(number, (int, float)) or not isinstance(units, str):
            return document
        rest = {name: value for name, value in document.items() if name != "units"}
        return {**rest, "threshold": self.quantity_words(number, units)}

    def _of_lists(self, path: tuple[str, ...], old: list[Any], new: list[Any]) -> Iterator[Leaf]:
        """By element: equal elements are left out, wherever they are."""
        removed, added = _without(old, new), _without(new, old)
        if not removed and not added and old != new:
            # Only the order changed.
            yield path, old, new
        identity = _identity(old, new)
        if identity is not None:
            before, after = ({element[identity]: element for element in some} for some in (removed, added))
            for number, element in enumerate(new, start=1):
                name = element[identity]
                if name in before and name in after:
                    step = f"{path[-1]} {number}"
                    yield from self._compared((*path[:-1], step), before[name], after[name])
            removed = [element for name, element in before.items() if name not in after]
            added = [element for name, element in after.items() if name not in before]
        yield from ((path, element, _MISSING) for element in removed)
        yield from ((path, _MISSING, element) for element in added)


def _without(some: list[Any], others: list[Any]) -> list[Any]:
    """The elements that the others lack, each as often as it is missing."""
    left = Counter(compact_json(element) for element in others)
    kept = []
    for element in some:
        text = compact_json(element)
        if left[text]:
            left[text] -= 1
        else:
            kept.append(element)
    return kept


def _identity(old: list[Any], new: list[Any]) -> str | None:
    """The field that identifies the elements of both lists; None if there is none."""
    return next((name for name in _IDENTITIES if all(_identifies(name, some) for some in (old, new))), None)


def _identifies(name: str, elements: list[Any]) -> bool:
    names = [element.get(name) if isinstance(element, dict) else None for element in elements]
    return all(isinstance(named, (str, int)) for named in names) and len(set(names)) == len(names)


def _side(value: Any) -> Side | None:
    if value is _MISSING:
        return None
    if isinstance(value, str):
        return side(value)
    if not isinstance(value, (dict, list)) or not value:
        return side(compact_json(value))
    line = side(_in_a_line(value)).shown
    return Side(line, json.dumps(value, indent=2, ensure_ascii=False))


def _in_a_line(value: Any) -> str:
    """A document by its fields, and a list by its elements; without the ID."""
    if isinstance(value, list):
        return ", ".join(map(_in_a_line, value))
    if not isinstance(value, dict):
        return value if isinstance(value, str) else compact_json(value)
    return ", ".join(f"{_words(name)} {_in_a_line(inner)}" for name, inner in value.items() if name != "id")


def _words(name: str) -> str:
    """`delayMin` → `delay min`."""
    return _CAPITAL.sub(" ", name).lower()
