"""The changes of an event as rows for reading: field, before, after. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from events.diffs import compact_json
from events.wording import in_words

SHOWN_CHARACTERS = 160
"""So much of a value is read at a glance; the whole of a longer one has to be opened."""


@dataclass(frozen=True, slots=True)
class Side:
    """A value before or after: what is shown at once, and the whole where that is cut."""

    shown: str
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One changed field; a side is None where there was, or is, no value."""

    field: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class ChangedResource:
    """What changed in one resource."""

    kind: str
    status: str
    resource_id: str
    rows: tuple[DiffRow, ...]


def changed_resources(diffs: Iterable[Mapping[str, Any]]) -> list[ChangedResource]:
    """The diff objects of an event, in their order."""
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
    """A value as it is read: on one line, cut where it is long."""
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
    """Objects and lists stand in a diff as compact JSON (`events.diffs`); other texts as they are."""
    if not value.startswith(("{", "[")):
        return value
    try:
        document = json.loads(value)
        # What does not come back the same, `1e999` or a key twice, would be read as something else.
        faithful = compact_json(document) == value
    except (ValueError, RecursionError):  # a text that only looks like JSON, or was cut when it was recorded
        return value
    return json.dumps(document, indent=2, ensure_ascii=False) if faithful else value
