"""The packed form of the rollups of a source and a day: a block in which each metric has a part. Pure.

A block begins with a table: the number of its parts and patterns, the length of each pattern, then metric,
pattern and length of each part. A pattern has the buckets and their counts; usually all metrics share one.
A part has the minimums, the distances to the maximums, and the means as sixty-thirds of these distances, as
integers of the same width.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from automation.measurements.points import Doubles, Integers, Points

LEVELS: Final = 63
"""A mean is stored as one of this many equal parts of the distance from the minimum to the maximum."""
WHOLE_DIGITS: Final = 5
"""Significant digits of minimum and maximum, if all numbers of the part are whole."""
DIGITS: Final = 4
"""Significant digits of minimum and maximum otherwise."""

_HEAD: Final = np.dtype("<u2")
_TABLE: Final = np.dtype([("metric", "<u2"), ("pattern", "<u2"), ("length", "<u2")])
_DELTAS, _WIDTH = 0x80, 0x7F
_AS_DOUBLES: Final = 127
"""Instead of an exponent: numbers that are too large, too small or too far apart."""
_SMALLEST, _LARGEST = 1e-12, 1e15
_EXACT: Final = 2**53
_WEIGHTS: Final = 1 << np.arange(62, -1, -1, dtype=np.int64)
_TENS: Final = 10.0 ** np.arange(23)


def packed_points(columns: Mapping[int, Points], *, begin: int, span: int) -> bytes:
    """Pack the points of each metric. `begin`: the second from which buckets of `span` seconds count."""
    patterns: dict[bytes, int] = {}
    rows: list[tuple[int, int, int]] = []
    parts: list[bytes] = []
    for metric, points in sorted(columns.items()):
        places = (points.buckets - begin) // span
        pattern = len(points).to_bytes(2, "little") + _packed(places) + _packed(points.counts)
        part = _packed_part(points)
        rows.append((metric, patterns.setdefault(pattern, len(patterns)), len(part)))
        parts.append(part)
    head = np.array([len(rows), len(patterns), *map(len, patterns)], _HEAD).tobytes()
    return b"".join([head, np.array(rows, _TABLE).tobytes(), *patterns, *parts])


def unpacked_points(
    block: bytes, metrics: Collection[int], *, begin: int, span: int
) -> Iterator[tuple[int, Points]]:
    """Unpack the points of these metrics."""
    number, pattern_count = np.frombuffer(block, _HEAD, 2).tolist()
    lengths = np.frombuffer(block, _HEAD, pattern_count, 2 * _HEAD.itemsize).tolist()
    place = (2 + pattern_count) * _HEAD.itemsize
    table = np.frombuffer(block, _TABLE, number, place).tolist()
    place += number * _TABLE.itemsize
    patterns = []
    for length in lengths:
        patterns.append(_unpacked_pattern(block[place : place + length]))
        place += length
    for metric, pattern, length in table:
        if metric in metrics:
            places, counts = patterns[pattern]
            means, minimums, maximums = _unpacked_part(block, place, len(places))
            yield metric, Points(begin + places * span, counts, means, minimums, maximums)
        place += length


@lru_cache(maxsize=512)
def _unpacked_pattern(pattern: bytes) -> tuple[Integers, Integers]:
    """Buckets and counts. Most blocks have the same."""
    length = int.from_bytes(pattern[:2], "little")
    places, end = _unpacked(pattern, 2, length)
    counts, _ = _unpacked(pattern, end, length)
    return places, counts


def _packed_part(points: Points) -> bytes:
    rounded = _rounded(np.concatenate([points.minimums, points.maximums]))
    if rounded is None:
        octets = (column.tobytes() for column in (points.means, points.minimums, points.maximums))
        return b"".join([_AS_DOUBLES.to_bytes(1), *octets])
    exponent, integers = rounded
    lowest, highest = integers[: len(points)], integers[len(points) :]
    distances = points.maximums - points.minimums
    differs = highest > lowest
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        shares = np.rint((points.means - points.minimums) / distances * LEVELS)
    levels = np.clip(shares[differs], 0, LEVELS).astype(np.int64)
    return exponent.to_bytes(1, signed=True) + _packed(lowest) + _packed(highest - lowest) + _packed(levels)


def _unpacked_part(block: bytes, place: int, length: int) -> tuple[Doubles, Doubles, Doubles]:
    """Means, minimums and maximums."""
    exponent = int.from_bytes(block[place : place + 1], signed=True)
    place += 1
    if exponent == _AS_DOUBLES:
        means, minimums, maximums = np.frombuffer(block, np.float64, 3 * length, place).reshape(3, length)
        return means, minimums, maximums
    lowest, place = _unpacked(block, place, length)
    distances, place = _unpacked(block, place, length)
    differs = np.flatnonzero(distances)
    levels, _ = _unpacked(block, place, len(differs))
    minimums, maximums = _scaled(lowest, exponent), _scaled(lowest + distances, exponent)
    shares = np.zeros(length)
    shares[differs] = levels / LEVELS
    means = minimums + (maximums - minimums) * shares
    return np.minimum(means, maximums), minimums, maximums


def _rounded(values: Doubles) -> tuple[int, Integers] | None:
    """A power of ten, and how many of it each value is after rounding. None if integers do not fit."""
    there = values != 0
    sizes = np.abs(values[there])
    if not len(sizes):
        return 0, np.zeros(len(values), np.int64)
    if sizes.min() < _SMALLEST or sizes.max() > _LARGEST:
        return None
    first_digits = np.floor(np.log10(sizes)).astype(np.int64)
    if np.array_equal(values, np.rint(values)):
        exponents = np.maximum(first_digits - WHOLE_DIGITS + 1, 0)
    else:
        exponents = first_digits - DIGITS + 1
    tens = _TENS[np.abs(exponents)]
    integers = np.rint(np.where(exponents < 0, values[there] * tens, values[there] / tens)).astype(np.int64)
    # Zeros at the end are left out.
    while (ends := integers % 10 == 0).any():
        integers, exponents = np.where(ends, integers // 10, integers), exponents + ends
    exponent = int(exponents.min())
    tens = _TENS[np.minimum(exponents - exponent, len(_TENS) - 1)]
    if exponent < 1 - len(_TENS) or np.any(np.abs(integers) * tens >= _EXACT):
        return None
    found = np.zeros(len(values), np.int64)
    found[there] = integers * tens.astype(np.int64)
    return exponent, found


def _scaled(integers: Integers, exponent: int) -> Doubles:
    tens = _TENS[abs(exponent)]
    scaled: Doubles = integers / tens if exponent < 0 else integers * tens
    return scaled


def _packed(integers: Integers) -> bytes:
    """Integers, or their differences, as distances from the smallest: all as wide as the largest."""
    if not len(integers):
        return b""
    plain = _narrow(integers)
    if len(integers) == 1:
        return b"".join([plain[0].to_bytes(1), *plain[1:]])
    deltas = _narrow(np.diff(integers))
    first = _number(int(integers[0]))
    if len(deltas[1]) + len(deltas[2]) + len(first) < len(plain[1]) + len(plain[2]):
        return b"".join([(deltas[0] | _DELTAS).to_bytes(1), first, *deltas[1:]])
    return b"".join([plain[0].to_bytes(1), *plain[1:]])


def _unpacked(block: bytes, place: int, length: int) -> tuple[Integers, int]:
    """The integers, and the place after them."""
    if not length:
        return np.empty(0, np.int64), place
    mode = block[place]
    width, is_deltas = mode & _WIDTH, bool(mode & _DELTAS)
    place += 1
    first = 0
    if is_deltas:
        first, place = _read_number(block, place)
        length -= 1
    smallest, place = _read_number(block, place)
    size = (length * width + 7) // 8
    if width:
        octets = np.frombuffer(block, np.uint8, size, place)
        bits = np.unpackbits(octets, count=length * width).reshape(length, width)
        integers = bits @ _WEIGHTS[-width:] + smallest
    else:
        integers = np.full(length, smallest, np.int64)
    if is_deltas:
        integers = np.cumsum(np.concatenate([[first], integers]))
    return integers, place + size


def _narrow(integers: Integers) -> tuple[int, bytes, bytes]:
    """The width in bits, the smallest integer, and the distances from it."""
    smallest = int(integers.min())
    distances = integers - smallest
    width = int(distances.max()).bit_length()
    if not width:
        return 0, _number(smallest), b""
    bits: NDArray[Any] = distances[:, None] >> np.arange(width - 1, -1, -1) & 1
    return width, _number(smallest), np.packbits(bits.astype(np.uint8)).tobytes()


def _number(number: int) -> bytes:
    """A number as its length in bytes and its bytes."""
    octets = number.to_bytes((number.bit_length() + 8) // 8, "little", signed=True)
    return len(octets).to_bytes(1) + octets


def _read_number(block: bytes, place: int) -> tuple[int, int]:
    end = place + 1 + block[place]
    return int.from_bytes(block[place + 1 : end], "little", signed=True), end
