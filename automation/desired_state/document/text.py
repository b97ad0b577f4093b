"""The document as text and back: numbers and the order of keys stay as written. Pure.

Valid JSON can contain values that cannot be kept, such as NUL characters. Reading reports them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from difflib import Match, SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Self, TypeVar

import orjson

from automation.sections import pointer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, WHOLE_BODY, ApiError, BadField
from opsapi.wire_json import UNKEPT_TEXT, JsonObject, is_kept, read_json

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Unstorable:
    """Placeholder of a number that cannot be kept; `message` says why."""

    message: str


Number = TypeVar("Number")

LONGEST_NUMBER = 1000
"""Maximum characters of a number: longer numbers take quadratic time to read."""

_SAFE_DIGITS = 18  # Any integer with this many digits fits into 64 bits, which the writer supports.


class ExactNumber(Decimal):
    """A number with a fraction or an exponent that keeps its notation."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """Raises ValueError for a number that cannot be kept."""
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            raise ValueError("has an exponent that is too large") from None
        number.text = text
        return number


class ExactInteger(int):
    """An integer that the writer would write differently: larger than 64 bits, or -0."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def read(text: bytes | str) -> JsonObject:
    """Parse the document; the order of keys and the value of numbers are kept, whatever their size.

    Raises: ApiError: as `read_sent`, or INVALID_ATTRIBUTE if a value cannot be kept.
    """
    document, faults = read_sent(text)
    if faults:
        raise ApiError.of_fields(faults)
    return document


def read_sent(text: bytes | str) -> tuple[JsonObject, list[BadField]]:
    """As `read`, for a document that will be checked: reports values that cannot be kept, by JSON Pointer.

    Such a value becomes null. A name that cannot be kept is dropped, and its object is reported. At most
    MOST_FAULTS.

    Raises: ApiError: INVALID_JSON with the reason, also for JSON that is not an object.
    """
    numbers = _Numbers()
    try:
        document = read_json(text, read_float=numbers.number, read_integer=numbers.integer)
    except ValueError as error:
        raise ApiError(ErrorCode.INVALID_JSON, str(error)) from None
    if not isinstance(document, dict):
        raise ApiError(ErrorCode.INVALID_JSON, "it must be a JSON object")
    # Without an escape, no text is unkeepable, so most documents skip the walk.
    has_escapes = b"\\u" in text if isinstance(text, bytes) else "\\u" in text
    return without_unstorable(document) if has_escapes or numbers.has_unstorable else (document, [])


def write(value: Any, *, pretty: bool = False) -> str:
    """The JSON text that `read` parses into this value: compact, or with an indent of 2 if `pretty`."""
    return _written(value, orjson.OPT_INDENT_2 if pretty else 0)


def for_people(text: str) -> str:
    """A text of `write`, with an indent of 2."""
    return write(_quickly_read(text) or read(text), pretty=True)


def _quickly_read(text: str) -> Any:
    """As `read`, in a fraction of the time; None if something would be lost, such as a trailing zero."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:  # The document has a number that no double can represent.
        return None
    return value if orjson.dumps(value).decode() == text else None


def canonical(value: Any) -> str:
    """A text that is equal for equal JSON values, whatever the order of keys.

    Python considers 1, 1.0 and true equal.
    """
    return _written(value, orjson.OPT_SORT_KEYS)


def _written(value: Any, options: int) -> str:
    return orjson.dumps(value, _as_it_came, options | orjson.OPT_PASSTHROUGH_SUBCLASS).decode()


def _as_it_came(value: Any) -> orjson.Fragment:
    if isinstance(value, ExactNumber | ExactInteger):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is not a value of a document")


class _Numbers:
    """Parses the numbers of a document, and records whether each can be kept."""

    has_unstorable = False

    def number(self, text: str) -> ExactNumber | Unstorable:
        return self._bounded(text, ExactNumber)

    def integer(self, text: str) -> int | Unstorable:
        if len(text) <= _SAFE_DIGITS and text != "-0":
            return int(text)
        return self._bounded(text, ExactInteger)

    def _bounded(self, text: str, read: Callable[[str], Number]) -> Number | Unstorable:
        if len(text) > LONGEST_NUMBER:
            return self._unstorable(f"must have at most {LONGEST_NUMBER} characters")
        try:
            return read(text)
        except ValueError as error:
            return self._unstorable(str(error))

    def _unstorable(self, message: str) -> Unstorable:
        self.has_unstorable = True
        return Unstorable(message)


def without_unstorable(document: Mapping[str, Any]) -> tuple[JsonObject, list[BadField]]:
    """The document without values that cannot be kept, and at most MOST_FAULTS faults: INVALID_ATTRIBUTE.

    A value becomes null. A name that cannot be kept is dropped, and the fault is that of its object.
    """
    walk = _Walk()
    storable_document: JsonObject = walk.value(document, ())
    return storable_document, walk.faults


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk through a document whose depth was checked when it was parsed."""

    faults: list[BadField] = field(default_factory=list)

    def value(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return value if is_kept(value) else self._refused(path, UNKEPT_TEXT)
        if isinstance(value, Unstorable):
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


MOST_LINES = 5_000
"""Limit for each text: comparing takes more than linear time."""
_MOST_PAIRS = 2_000_000
"""Limit for the pairs of equal lines that a comparison looks at, about a third of a second."""
AROUND = 3
"""Number of equal lines shown around a change."""


class _TooManyPairsError(Exception):
    """The comparison would take too long."""


class _BoundedMatcher(SequenceMatcher[str]):
    """Counts the pairs of equal lines that it looks at. Raises: _TooManyPairsError: at _MOST_PAIRS."""

    a: Sequence[str]
    b2j: Mapping[str, Sequence[int]]
    _pairs = 0

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        """As SequenceMatcher, which calls it for each part of the texts."""
        self._pairs += sum(len(self.b2j.get(line, ())) for line in self.a[alo:ahi])
        if self._pairs > _MOST_PAIRS:
            raise _TooManyPairsError
        return super().find_longest_match(alo, ahi, blo, bhi)


class LineKind(StrEnum):
    """The kind of a line pair."""

    SAME = "same"
    CHANGED = "changed"
    LEFT_OUT = "left-out"
    """Hidden equal lines."""


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line of each text; None if the other text has no counterpart."""

    kind: LineKind
    old: str | None
    new: str | None


def side_by_side(old: str, new: str) -> list[LinePair] | None:
    """The lines that differ, with context; empty if nothing differs.

    None if either text has more than MOST_LINES lines, or many lines that are equal to several others.
    """
    lines = old.splitlines(), new.splitlines()
    if max(map(len, lines)) > MOST_LINES:
        return None
    try:
        groups = list(_BoundedMatcher(None, *lines).get_grouped_opcodes(AROUND))
    except _TooManyPairsError:
        return None
    rows: list[LinePair] = []
    for group in groups:
        if rows:
            rows.append(LinePair(LineKind.LEFT_OUT, None, None))
        for tag, old_from, old_to, new_from, new_to in group:
            kind = LineKind.SAME if tag == "equal" else LineKind.CHANGED
            pairs = zip_longest(lines[0][old_from:old_to], lines[1][new_from:new_to])
            rows.extend(LinePair(kind, left, right) for left, right in pairs)
    return rows
