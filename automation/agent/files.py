"""How many files may be open: a connection to each server is one of them, to a PostgreSQL server two."""

from __future__ import annotations

import contextlib
import resource


def allow_most_files() -> None:
    """Raise the limit of open files, often 1024, as far as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # a system that allows less than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
