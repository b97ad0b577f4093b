"""A day of made-up measurements: the same numbers in every run, with the shapes of reported metrics."""

import math
import random
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

MINUTES = 1440
HOSTS = 100
_Shape = Callable[[random.Random], list[float]]


def _memory(chance: random.Random) -> list[float]:
    value, found = chance.randrange(10_000, 50_000), []
    for _ in range(MINUTES):
        value += chance.choice((0, 0, 0, 0, 1, 2, -1))
        found.append(float(value))
    return found


def _free_bytes(chance: random.Random) -> list[float]:
    value, found = chance.randrange(10**11, 10**12), []
    for _ in range(MINUTES):
        value -= chance.randrange(0, 4096) * 4096
        found.append(float(value))
    return found


def _connections(chance: random.Random) -> list[float]:
    value, found = chance.randrange(20, 400), []
    for _ in range(MINUTES):
        value = max(0, value + chance.randrange(-3, 4))
        found.append(float(value))
    return found


def _mostly_zero(chance: random.Random) -> list[float]:
    return [float(chance.random() < 0.02 and chance.randrange(1, 5)) for _ in range(MINUTES)]


def _constant(chance: random.Random) -> list[float]:
    return [float(chance.randrange(1, 10**6))] * MINUTES


def _rate(chance: random.Random) -> list[float]:
    """Differences of a counter by the seconds between two rounds of the agent."""
    mean = chance.uniform(5, 5000)
    return [
        int(chance.gauss(mean, mean / 20) * 60) / (60 + chance.uniform(-0.02, 0.02)) for _ in range(MINUTES)
    ]


def _percentage(chance: random.Random) -> list[float]:
    value, found = chance.uniform(5, 80), []
    for _ in range(MINUTES):
        value = min(100, max(0, value + chance.gauss(0, 0.8)))
        found.append(round(value, 2))
    return found


_SHAPES: Mapping[_Shape, int] = {
    _memory: 4,
    _free_bytes: 2,
    _connections: 3,
    _mostly_zero: 3,
    _constant: 1,
    _rate: 5,
    _percentage: 2,
}
METRICS = sum(_SHAPES.values())


def measured_day(hosts: int = HOSTS, *, rounded: bool = False) -> Iterator[list[NDArray[np.float64]]]:
    """The metrics of each host, with a value for each minute.

    `rounded`: the rates have five digits, and at most three decimals.
    """
    chance = random.Random(7)
    for _ in range(hosts):
        series = [(shape, shape(chance)) for shape, number in _SHAPES.items() for _ in range(number)]
        yield [
            np.array([_rounded(value) for value in values] if rounded and shape is _rate else values)
            for shape, values in series
        ]


def _rounded(value: float) -> float:
    return round(value, min(3, 4 - math.floor(math.log10(value)))) if value else value
