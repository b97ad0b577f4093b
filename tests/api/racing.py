"""Calls that start together, each on a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

T = TypeVar("T")
THREADS = 10


def at_once(call: Callable[[int], T]) -> list[T]:
    """What THREADS calls answer; each is handed its number. Needs a transactional database."""
    barrier = Barrier(THREADS)

    def run(number: int) -> T:
        barrier.wait()
        try:
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))
