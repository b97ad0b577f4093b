"""The limit of open files: a MongoDB server needs one connection, a PostgreSQL server two."""

from __future__ import annotations

import contextlib
import resource


def allow_most_files() -> None:
    """Raise the limit of open files, often 1024, as far as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # The system allows less than it reports.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
