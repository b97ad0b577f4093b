"""Large blocks of memory go back to the system when they are free (mallopt(3), M_MMAP_THRESHOLD).

glibc keeps them: once a block of 16 MB was freed, blocks of that size come from the heaps of the threads,
which rarely shrink. A web process of eight threads stayed at four times its size after a few large documents.
"""

import ctypes

_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK = 1024 * 1024

_libc = ctypes.CDLL(None)


def return_large_blocks() -> None:
    """Have each block of a megabyte or more mapped by itself; where the C library cannot, nothing changes."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
