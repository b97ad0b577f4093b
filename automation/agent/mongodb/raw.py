"""Reads parts of a BSON document and skips everything else (https://bsonspec.org/spec.html). Pure.

Decoders make an object of each of the hundreds of elements of an answer. This is expensive in the single-file
agent, because its decoder is written in Python. The agent needs a few dozen numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Union

import bson
from bson.errors import InvalidBSON

Names = Mapping[bytes, Union["Names", str]]
"""The names of a document: each has the names of a document in it, or the path of a number."""

_DOUBLE, _TEXT, _DOCUMENT, _ARRAY, _BOOLEAN, _DATE, _INT32, _INT64 = 1, 2, 3, 4, 8, 9, 16, 18
_NUMBERS = {_DOUBLE: struct.Struct("<d"), _INT32: struct.Struct("<i"), _INT64: struct.Struct("<q")}
_LENGTH = struct.Struct("<i")
_SIZES = {
    _DOUBLE: 8,
    0x06: 0,  # undefined
    0x07: 12,  # ObjectId
    _BOOLEAN: 1,
    _DATE: 8,
    0x0A: 0,  # null
    _INT32: 4,
    0x11: 8,  # timestamp
    _INT64: 8,
    0x13: 16,  # decimal
    0x7F: 0,  # maximum
    0xFF: 0,  # minimum
}
"""Bytes of a value, by type."""
_MORE = {
    _TEXT: 4,
    _DOCUMENT: 0,
    _ARRAY: 0,
    0x05: 5,  # binary
    0x0C: 16,  # reference
    0x0D: 4,  # code
    0x0E: 4,  # symbol
    0x0F: 0,  # code with a scope
}
"""Bytes of a value in addition to the length that it begins with, by type."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as the decoder: dates are in UTC, and have no time zone


_WRONG = (KeyError, IndexError, ValueError, struct.error)
"""The errors of reading at a wrong place."""


class RawDocument(Mapping[str, Any]):
    """A document whose elements are found when one of them is read, and decoded one by one."""

    def __init__(self, octets: bytes, start: int = 0) -> None:
        """The document begins at `start`."""
        self._octets, self._start = octets, start
        self._places: dict[str, tuple[int, int, int]] | None = None
        self._values: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The value. Raises: InvalidBSON, as `numbers`."""
        if name not in self._values:
            self._values[name] = self._value(*self._found()[name])
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found()

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the default if there is no such element. Raises: InvalidBSON, as `numbers`."""
        return self[name] if name in self._found() else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def numbers(self, names: Names, numbers: dict[str, float]) -> None:
        """Store the named numbers in `numbers`.

        Raises: InvalidBSON: the document is not valid, or has an element that servers do not send.
        """
        try:
            _read(self._octets, self._start, len(self._octets), names, numbers)
        except _WRONG as error:
            raise _invalid(error) from error

    def _found(self) -> Mapping[str, tuple[int, int, int]]:
        """By name, the start of an element, the start of its value and its end."""
        if self._places is None:
            try:
                self._places = dict(_elements(self._octets, self._start))
            except _WRONG as error:
                raise _invalid(error) from error
        return self._places

    def _value(self, start: int, place: int, end: int) -> Any:
        octets = self._octets
        read = _VALUES.get(octets[start])
        if read is not None:
            with suppress(OverflowError):  # A date that no calendar has; the decoder says so.
                return read(octets, place, end)
        element = octets[start:end]
        ((_, value),) = bson.decode(_LENGTH.pack(len(element) + 5) + element + b"\0").items()
        return value


_VALUES: Mapping[int, Callable[[bytes, int, int], Any]] = {
    _DOUBLE: lambda octets, place, _: _NUMBERS[_DOUBLE].unpack_from(octets, place)[0],
    _TEXT: lambda octets, place, end: octets[place + 4 : end - 1].decode(errors="replace"),
    _DOCUMENT: lambda octets, place, _: RawDocument(octets, place),
    _ARRAY: lambda octets, place, _: list(RawDocument(octets, place).values()),
    _BOOLEAN: lambda octets, place, _: octets[place] != 0,
    _DATE: lambda octets, place, _: (
        _EPOCH + timedelta(milliseconds=_NUMBERS[_INT64].unpack_from(octets, place)[0])
    ),
    _INT32: lambda octets, place, _: _NUMBERS[_INT32].unpack_from(octets, place)[0],
    _INT64: lambda octets, place, _: _NUMBERS[_INT64].unpack_from(octets, place)[0],
}
"""How a value between two places is read, by type. The decoder reads values of other types."""


def _invalid(error: Exception) -> InvalidBSON:
    return InvalidBSON(f"not a document of a server: {error}")


def _elements(octets: bytes, start: int) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """The elements of the document at `start`, as `RawDocument._found`."""
    position, end = start + 4, start + _LENGTH.unpack_from(octets, start)[0] - 1
    if not position <= end < len(octets):
        raise ValueError("wrong length")
    index, size_of = octets.index, _SIZES.get
    while position < end:
        stop = index(0, position + 1, end)
        place = stop + 1
        size = size_of(octets[position])
        if size is None:
            size = _LENGTH.unpack_from(octets, place)[0] + _MORE[octets[position]]
        if not 0 <= size <= end - place:
            raise ValueError("wrong length")
        yield octets[position + 1 : stop].decode(), (position, place, place + size)
        position = place + size


def _read(octets: bytes, start: int, limit: int, names: Names, numbers: dict[str, float]) -> None:
    """Read the document at `start`, which ends before `limit`, until all names are found."""
    position, end = start + 4, start + _LENGTH.unpack_from(octets, start)[0] - 1
    if not position <= end < limit:
        raise ValueError("wrong length")
    # Local names are faster: servers send hundreds of elements.
    index, size_of, name_of, length_at = octets.index, _SIZES.get, names.get, _LENGTH.unpack_from
    left = len(names)
    while left and position < end:
        kind, stop = octets[position], index(0, position + 1, end)
        below = name_of(octets[position + 1 : stop])
        position = stop + 1
        size = size_of(kind)
        if size is None:
            size = length_at(octets, position)[0] + _MORE[kind]
        if not 0 <= size <= end - position:
            raise ValueError("wrong length")
        if below is not None:
            left -= 1
            if kind == _DOCUMENT:
                if not isinstance(below, str):
                    _read(octets, position, position + size, below, numbers)
            elif kind in _NUMBERS and isinstance(below, str):
                numbers[below] = float(_NUMBERS[kind].unpack_from(octets, position)[0])
        position += size
