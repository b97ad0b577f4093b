"""Masks secrets in the document as `******`, and restores them when `******` is sent back. Pure.

Names decide which values are secrets. To restore a mask, the items of a sent array are matched with the
stored items by their visible values.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from automation.desired_state.document.text import canonical, write
from automation.sections import pointer, process_name, text
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, BadField
from opsapi.redaction import MASK, holds_redacted_url, redact_urls
from opsapi.wire_json import JsonObject

_IDENTITIES = ("_id", "id", "name", "hostname")

Items = list[tuple[int, Any]]
"""Items of an array, each with its index."""
_LONGEST_REMEMBERED = 64  # Maximum characters of a name.
_SECRET: Final = re.compile(r"pass|pwd|secret|token|credential|creds")
_KEY: Final = re.compile(r"(?:private|access|api)key")
_FILES: Final = ("file", "files", "path", "paths")
"""Endings of names such as keyFile, which hold the place of a key, not the key."""
_KEY_BELOW_AUTH: Final = re.compile(r"(?:new)?keys?$|keyfile")
_SEPARATORS: Final = re.compile(r"[\W_]+")
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Whether a value is below a name `auth`, and below a name of a secret."""

    auth: bool = False
    secret: bool = False

    def below(self, name: str) -> "Surroundings":
        """The context of the value with that name."""
        return _remembered(self, name) if len(name) <= _LONGEST_REMEMBERED else _below(self, name)


def _below(around: Surroundings, name: str) -> Surroundings:
    plain = _SEPARATORS.sub("", name).casefold()
    is_secret = (
        _SECRET.search(plain)
        or (_KEY.search(plain) and not plain.endswith(_FILES))
        or (around.auth and _KEY_BELOW_AUTH.match(plain))
    )
    return Surroundings(auth=around.auth or plain == "auth", secret=around.secret or bool(is_secret))


_remembered = lru_cache(maxsize=4096)(_below)


def redacted(document: Mapping[str, Any]) -> JsonObject:
    """The document, or its upper part, with `******` for every secret."""
    redacted_document: JsonObject = redacted_value(document, Surroundings())
    return redacted_document


def redacted_value(value: Any, around: Surroundings) -> Any:
    """The value with `******` for every secret.

    Secrets are strings, numbers and booleans at or below a secret name (`Surroundings`), and in any other
    string the user info and query of URLs.
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
    full_document: JsonObject = search.value(document, _Stored(stored, redacted(stored)), (), Surroundings())
    return full_document, search.faults


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
        places = partners(sent, self.shown, array=array)
        return [_Stored() if at is None else _Stored(self.value[at], self.shown[at]) for at in places]


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


def partners(sent: Sequence[Any], redacted_items: Sequence[Any], *, array: str | int) -> list[int | None]:
    """Return for each sent item the index of the matching stored item; None if no match is certain.

    `shown` are the stored items with secrets redacted, `array` is the name of the array.
    An item matches the stored item with the same identity. If several items share an identity or have none,
    an item matches the stored item that looks the same, at any place. An edited item matches the stored item
    at its place, if no other item was added, removed or moved.
    """
    places: list[int | None] = [None] * len(sent)
    stored = _by_identity(redacted_items, array)
    for identity, items in _by_identity(sent, array).items():
        for index, partner in _pairs(items, stored.get(identity, [])):
            places[index] = partner
    return places


def _pairs(sent: Items, stored: Items) -> list[tuple[int, int]]:
    """The indexes of items with the same identity and of their partners."""
    if len(sent) != len(stored):
        return _lookalikes(sent, stored)
    side_by_side = list(zip(sent, stored, strict=True))
    if len(side_by_side) == 1:
        return [(sent[0][0], stored[0][0])]
    edited = [pair for pair in side_by_side if pair[0][1] != pair[1][1]]
    moved = _lookalikes([item for item, _ in edited], [other for _, other in edited])
    same_place = [(item[0], other[0]) for item, other in side_by_side]
    if not moved:
        return same_place
    places = {index for (index, _), _ in edited}
    return moved + [pair for pair in same_place if pair[0] not in places]


def _lookalikes(sent: Items, stored: Items) -> list[tuple[int, int]]:
    """Pairs of equal-looking items; pairs are left out if their number has changed."""
    before, now = _by_shown_form(stored), _by_shown_form(sent)
    return [
        pair
        for shown_form, indexes in now.items()
        if len(indexes) == len(before.get(shown_form, ()))
        for pair in zip(indexes, before[shown_form], strict=True)
    ]


def _by_shown_form(items: Items) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = defaultdict(list)
    for index, item in items:
        indexes[canonical(item)].append(index)
    return indexes


def _by_identity(items: Sequence[Any], array: str | int) -> dict[Hashable, Items]:
    groups: dict[Hashable, Items] = defaultdict(list)
    for index, item in enumerate(items):
        groups[_identity(item, array)].append((index, item))
    return groups


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
    return next((name_text for name in _IDENTITIES if (name_text := text(item, name)) is not None), None)
