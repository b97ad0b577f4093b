"""A clock of the day that a test steps, for the processes of an installation. It needs a C compiler."""

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("clock.c")


class SteppedClock:
    """The clock of all processes that are started with its `environment`."""

    def __init__(self, directory: Path) -> None:
        """Skips the test, saying why, where there is no compiler."""
        self._step, library = directory / "step", directory / "clock.so"
        self.step(0)
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("the clock of a process is stepped by a library, which needs a C compiler")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"], check=True)
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "OPSAPI_TEST_CLOCK": str(self._step),
        }

    def step(self, seconds: int) -> None:
        """Set the clock this many seconds ahead of the real clock, or behind it."""
        mode = "r+b" if self._step.exists() else "wb"  # the processes have mapped the file
        with self._step.open(mode) as file:
            file.write(struct.pack("l", seconds))
