"""Rows of readings in the binary form of PostgreSQL: heads and arrays of numbers, as columns. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from automation.measurements.packing import Column, Times

_HEAD: Final = np.dtype([("reported", ">i8"), ("report", ">i2"), ("age", ">i2"), ("length", ">i4")])
_MICROSECONDS_TO_2000: Final = 946_684_800_000_000
_ARRAY_HEAD: Final = 20
"""The bytes of an array before its elements. An array without elements has fewer."""
_LENGTH: Final = 4
_NULL: Final = -1


def read_rows(heads: bytes, bodies: bytes) -> tuple[Times, Mapping[int, Column]]:
    """Read the rows of a source as PostgreSQL sends them: their times, and the columns of their arrays."""
    head = np.frombuffer(heads, _HEAD)
    times = Times(
        head["reported"].astype(np.int64) + _MICROSECONDS_TO_2000,
        head["report"].astype(np.int16),
        head["age"].astype(np.int16),
    )
    lengths = head["length"].astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    parts: dict[int, list[Column]] = {}
    body = np.frombuffer(bodies, np.uint8)
    for places, arrays in _alike(body, starts, lengths):
        for metric, start in _elements(arrays[0]):
            values = np.ascontiguousarray(arrays[:, start : start + 8]).view(">f8").ravel()
            parts.setdefault(metric, []).append(Column(places, values.astype(np.float64)))
    return times, {metric: _together(columns) for metric, columns in parts.items()}


def _alike(
    body: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
    """The places and bytes of arrays that have elements at the same positions: most rows are alike."""
    left = np.flatnonzero(lengths > _ARRAY_HEAD)
    while len(left):
        length = lengths[left[0]]
        same = left[lengths[left] == length]
        arrays = body[starts[same, None] + np.arange(length)]
        fixed = _fixed(arrays[0])
        alike = (arrays[:, fixed] == arrays[0, fixed]).all(axis=1)
        yield same[alike], arrays[alike]
        left = np.setdiff1d(left, same[alike], assume_unique=True)


def _elements(array: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    """The number of the metric of each value in an array, and the position of the value."""
    start = _ARRAY_HEAD
    octets = array.tobytes()
    number = 0
    while start < len(octets):
        number += 1
        length = int.from_bytes(octets[start : start + _LENGTH], signed=True)
        start += _LENGTH
        if length != _NULL:
            yield number, start
            start += length


def _fixed(array: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The positions in an array that do not belong to a value."""
    fixed = np.ones(len(array), np.bool_)
    for _, start in _elements(array):
        fixed[start : start + 8] = False
    return np.flatnonzero(fixed)


def _together(columns: Sequence[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    places = np.concatenate([column.places for column in columns])
    order: Any = np.argsort(places)
    return Column(places[order], np.concatenate([column.values for column in columns])[order])
