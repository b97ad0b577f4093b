"""Room on the call stack: see `opsapi.call_stack`."""

import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from opsapi.call_stack import with_room

CALLS = 200
DEPTHS = range(0, 400, 2)
"""More calls than end a chunk of the stack."""


def _called() -> None:
    pass


def _calling() -> None:
    _called()


def _pages_of_calls(depth: int) -> int:
    """The pages that the system gives to calls which return at once, in a function this deep."""
    if depth:
        return _pages_of_calls(depth - 1)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        _calling()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def _most_pages() -> int:
    return max(map(_pages_of_calls, DEPTHS))


def _in_a_thread(function: Callable[[], int]) -> int:
    """Its result, without the room of the test's own thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result()


def test_calls_at_the_end_of_a_chunk_take_new_memory_each_time() -> None:
    assert _in_a_thread(_most_pages) >= CALLS


def test_calls_with_room_take_no_new_memory_at_any_depth() -> None:
    assert _in_a_thread(with_room(_most_pages)) < CALLS
