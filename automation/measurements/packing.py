"""The packed form of the readings of a source: a block of bytes in which each metric has a part. Pure.

A part is read without the others. The first part has the reports and ages of all readings. The part of a
metric begins with a byte: the scale of its numbers, and whether readings without the metric follow as bits.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pcodec import ChunkConfig, standalone

TIMES: Final = 0
"""The number of the part of reports and ages; metrics have higher numbers."""
_SCALES = (1, 10, 100, 1_000)
_UNSCALED = len(_SCALES)
_GAPS = 0x80
_EXACT: Final = 2.0**53
"""Integers below this are exact as doubles."""
# A higher level saves 0.2 % and takes twice as long.
_CONFIG = ChunkConfig(compression_level=4)
_LENGTH = 4

Integers = NDArray[Any]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Of each reading: when it was reported, in microseconds since 1970, the report number and the age."""

    reported: Integers
    reports: Integers
    ages: Integers

    def __len__(self) -> int:
        return len(self.reported)

    @property
    def moments(self) -> Integers:
        """When each reading was measured, in seconds since 1970."""
        return self.reported // 1_000_000 - self.ages


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of a metric, and the places of their readings."""

    places: Integers
    values: Doubles


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """Packed readings: the number of the metric of each part, the end of each part, and all parts."""

    rows: int
    metrics: Sequence[int]
    ends: Sequence[int]
    octets: bytes


def packed(times: Times, columns: Mapping[int, Column]) -> PackedBlock:
    """Pack readings. `columns` are by number of the metric."""
    parts = {TIMES: _packed_times(times)}
    parts |= {number: _packed_column(column, len(times)) for number, column in sorted(columns.items())}
    return PackedBlock(
        len(times),
        list(parts),
        np.cumsum([len(part) for part in parts.values()]).tolist(),
        b"".join(parts.values()),
    )


def unpacked_times(part: bytes) -> Times:
    """Unpack the part of reports and ages."""
    reported, reports, ages = (_decompressed(piece) for piece in _pieces(part))
    return Times(reported, reports, ages)


def unpacked_column(part: bytes, rows: int) -> Column:
    """Unpack the part of a metric in a block with this number of readings."""
    scale, start = part[0] & ~_GAPS, 1
    places = np.arange(rows)
    if part[0] & _GAPS:
        end = start + _LENGTH + int.from_bytes(part[start : start + _LENGTH])
        bits = np.frombuffer(zlib.decompress(part[start + _LENGTH : end]), np.uint8)
        places, start = np.flatnonzero(np.unpackbits(bits, count=rows)), end
    numbers = _decompressed(part[start:])
    return Column(places, numbers if scale == _UNSCALED else numbers / _SCALES[scale])


def _packed_times(times: Times) -> bytes:
    pieces = (times.reported.astype(np.int64), times.reports.astype(np.int16), times.ages.astype(np.int16))
    compressed = [_compressed(piece) for piece in pieces]
    return b"".join(len(piece).to_bytes(_LENGTH) + piece for piece in compressed)


def _pieces(part: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(part):
        end = start + _LENGTH + int.from_bytes(part[start : start + _LENGTH])
        yield part[start + _LENGTH : end]
        start = end


def _packed_column(column: Column, rows: int) -> bytes:
    scale, numbers = _scaled(column.values)
    if len(column.places) == rows:
        return bytes([scale]) + _compressed(numbers)
    there = np.zeros(rows, np.bool_)
    there[column.places] = True
    bits = zlib.compress(np.packbits(there).tobytes())
    return bytes([scale | _GAPS]) + len(bits).to_bytes(_LENGTH) + bits + _compressed(numbers)


def _scaled(values: Doubles) -> tuple[int, NDArray[Any]]:
    """The scale with which all values are integers, and the integers; otherwise the values as they are.

    A zero with a sign, an infinity and NaN are no integers.
    """
    if np.all(np.abs(values) < _EXACT) and not np.any((values == 0) & np.signbit(values)):
        for code, scale in enumerate(_SCALES):
            numbers = np.rint(values * scale)
            if np.all(np.abs(numbers) < _EXACT) and np.array_equal(numbers / scale, values):
                return code, numbers.astype(np.int64)
    return _UNSCALED, values


def _compressed(numbers: NDArray[Any]) -> bytes:
    return bytes(standalone.simple_compress(numbers, _CONFIG))


def _decompressed(octets: bytes) -> NDArray[Any]:
    numbers: NDArray[Any] = standalone.simple_decompress(octets)
    return numbers
