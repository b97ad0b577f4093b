"""Calls that start together, or while another waits, each on a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection, transaction

from opsapi.sql import fetch_rows
from tests.eventually import eventually

T = TypeVar("T")
THREADS = 10

# Of this session's locks alone: other tests run next to these, on the same server.
_WAITING_FOR_US = """
    SELECT EXISTS (
        SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
    )
"""


def at_once(call: Callable[[int], T]) -> list[T]:
    """What THREADS calls answer; each is handed its number. Needs a transactional database."""
    barrier = Barrier(THREADS)

    def run(number: int) -> T:
        barrier.wait()
        return on_own_connection(lambda: call(number))

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def while_it_waits(call: Callable[[], T], then: Callable[[], object]) -> T:
    """What the call answers, in a thread, when `then` is done once the call waits for this transaction."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            then()
            answer = pool.submit(on_own_connection, call)
            eventually(somebody_waits)
        return answer.result()


def in_other_session(call: Callable[[], T]) -> T:
    """What the call answers on another connection, in a thread, while this transaction stays as it is."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(on_own_connection, call).result()


def on_own_connection(call: Callable[[], T]) -> T:
    """What the call answers in a thread, whose connection is closed after it."""
    try:
        return call()
    finally:
        connection.close()


def somebody_waits() -> bool:
    """Whether another session waits for a lock that this one holds."""
    [(found,)] = fetch_rows(_WAITING_FOR_US)
    return bool(found)
