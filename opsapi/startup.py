"""How a process of the platform starts: what it imports stays, so nothing looks for garbage meanwhile."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Import what the process needs within this: it takes a sixth less time.

    Each collection afterwards passes over what was imported (gc.freeze).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
