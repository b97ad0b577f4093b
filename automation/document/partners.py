"""Matches the items of a sent array with stored items, by their visible values. Pure."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

from automation.document.sections import process_name, text
from automation.document.text import canonical

_IDENTITIES = ("_id", "id", "name", "hostname")

Items = list[tuple[int, Any]]
"""Items of an array, each with its index."""


def partners(sent: Sequence[Any], shown: Sequence[Any], *, array: str | int) -> list[int | None]:
    """Return for each sent item the index of the matching stored item; None if no match is certain.

    `shown` are the stored items with secrets redacted, `array` is the name of the array.
    An item matches the stored item with the same identity. If several items share an identity or have none,
    an item matches the stored item that looks the same, at any place. An edited item matches the stored item
    at its place, if no other item was added, removed or moved.
    """
    found: list[int | None] = [None] * len(sent)
    stored = _by_identity(shown, array)
    for identity, items in _by_identity(sent, array).items():
        for index, partner in _pairs(items, stored.get(identity, [])):
            found[index] = partner
    return found


def _pairs(sent: Items, shown: Items) -> list[tuple[int, int]]:
    """The indexes of items with the same identity and of their partners."""
    if len(sent) != len(shown):
        return _lookalikes(sent, shown)
    side_by_side = list(zip(sent, shown, strict=True))
    if len(side_by_side) == 1:
        return [(sent[0][0], shown[0][0])]
    edited = [pair for pair in side_by_side if pair[0][1] != pair[1][1]]
    moved = _lookalikes([one for one, _ in edited], [other for _, other in edited])
    same_place = [(one[0], other[0]) for one, other in side_by_side]
    if not moved:
        return same_place
    places = {index for (index, _), _ in edited}
    return moved + [pair for pair in same_place if pair[0] not in places]


def _lookalikes(sent: Items, shown: Items) -> list[tuple[int, int]]:
    """Pairs of equal-looking items; pairs are left out if their number has changed."""
    before, now = _by_shown_form(shown), _by_shown_form(sent)
    return [
        pair
        for shown_form, indexes in now.items()
        if len(indexes) == len(before.get(shown_form, ()))
        for pair in zip(indexes, before[shown_form], strict=True)
    ]


def _by_shown_form(items: Items) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for index, item in items:
        found[canonical(item)].append(index)
    return found


def _by_identity(items: Sequence[Any], array: str | int) -> dict[Hashable, Items]:
    found: dict[Hashable, Items] = defaultdict(list)
    for index, item in enumerate(items):
        found[_identity(item, array)].append((index, item))
    return found


def _identity(item: Any, array: str | int) -> Hashable:
    """The identity of an item of that array; None if nothing names it."""
    if not isinstance(item, dict):
        return None
    if array == "processes":
        return process_name(item)
    if array in {"monitoringVersions", "backupVersions"}:
        return text(item, "hostname")
    if text(item, "user") is not None:
        return text(item, "user"), text(item, "db")
    return next((found for name in _IDENTITIES if (found := text(item, name)) is not None), None)
