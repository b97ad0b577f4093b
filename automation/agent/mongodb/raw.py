"""Reads numbers of a BSON document and skips everything else (https://bsonspec.org/spec.html). Pure.

The single-file agent has no compiled decoder. Python's decoder makes an object of each of the hundreds of
elements of an answer, and the agent needs a few dozen numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Union

from bson.errors import InvalidBSON

Names = Mapping[bytes, Union["Names", str]]
"""The names of a document: each has the names of a document in it, or the path of a number."""

_DOUBLE, _DOCUMENT, _INT32, _INT64 = 0x01, 0x03, 0x10, 0x12
_NUMBERS = {_DOUBLE: struct.Struct("<d"), _INT32: struct.Struct("<i"), _INT64: struct.Struct("<q")}
_LENGTH = struct.Struct("<i")
_SIZES = {
    _DOUBLE: 8,
    0x06: 0,  # undefined
    0x07: 12,  # ObjectId
    0x08: 1,  # boolean
    0x09: 8,  # date
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
    0x02: 4,  # text
    _DOCUMENT: 0,
    0x04: 0,  # array
    0x05: 5,  # binary
    0x0C: 16,  # reference
    0x0D: 4,  # code
    0x0E: 4,  # symbol
    0x0F: 0,  # code with a scope
}
"""Bytes of a value in addition to the length that it begins with, by type."""


def numbers_in(document: bytes, names: Names, found: dict[str, float]) -> None:
    """Store the named numbers of a document in `found`.

    Raises: InvalidBSON: the document is not valid, or has an element that servers do not send.
    """
    try:
        _read(document, 0, len(document), names, found)
    except (KeyError, IndexError, ValueError, struct.error) as error:
        raise InvalidBSON(f"not a document of a server: {error}") from error


def _read(octets: bytes, start: int, limit: int, names: Names, found: dict[str, float]) -> None:
    """Read the document at `start`, which ends before `limit`."""
    position, end = start + 4, start + _LENGTH.unpack_from(octets, start)[0] - 1
    if not position <= end < limit:
        raise ValueError("wrong length")
    while position < end:
        kind, stop = octets[position], octets.index(0, position + 1, end)
        below = names.get(octets[position + 1 : stop])
        position = stop + 1
        size = _SIZES.get(kind)
        if size is None:
            size = _LENGTH.unpack_from(octets, position)[0] + _MORE[kind]
        if not 0 <= size <= end - position:
            raise ValueError("wrong length")
        if isinstance(below, str):
            if kind in _NUMBERS:
                found[below] = float(_NUMBERS[kind].unpack_from(octets, position)[0])
        elif below is not None and kind == _DOCUMENT:
            _read(octets, position, position + size, below, found)
        position += size
