"""The changes of an event as rows: field, before, after. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from events.diffs import compact_json
from events.wording import in_words

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
