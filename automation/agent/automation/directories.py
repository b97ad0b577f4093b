"""The directories below which the operator allows the agent to write and to start programs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def real_place(path: Path, allowed: Iterable[Path]) -> Path | None:
    """The path without symbolic links, if it is an allowed directory or below one; otherwise None.

    A relative path is never allowed.
    """
    if not path.is_absolute():
        return None
    place = Path(os.path.realpath(path))
    roots = (Path(os.path.realpath(root)) for root in allowed if root.is_absolute())
    return place if any(root == place or root in place.parents for root in roots) else None
