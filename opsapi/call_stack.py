"""Room on Python's call stack, so that calls need no memory of the system.

CPython keeps the frames of functions in chunks of 16 KiB. A call that does not fit maps a new chunk, and its
return unmaps it. So a loop whose calls cross the end of a chunk takes up to a hundred times longer, and the
number of its callers decides about that. (`push_chunk` and `_PyThreadState_PopFrame` in CPython's
`Python/pystate.c`, 3.11 and later.)
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

WORDS = 2**16
"""The size of a frame that takes a chunk of a MiB, because chunks are doubled until a frame fits. Half of it
is free: for more frames than Python's limit of recursion allows."""


def with_room(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return the function, with room on the call stack for all calls that it makes in its thread.

    The room is address space: only pages that frames use take memory.
    """

    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        return function(*args, **kwargs)

    run.__code__ = run.__code__.replace(co_stacksize=WORDS)
    return update_wrapper(run, function)
