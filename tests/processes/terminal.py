"""A reader's terminal: the blocks of a document are typed into it, one after the other."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.eventually import DEADLINE, eventually


class Terminal:
    """A bash that stops at the first error, its output in a file."""

    def __init__(
        self, directory: Path, *, environment: Mapping[str, str] | None = None, at: Path | None = None
    ) -> None:
        """`directory` is for what it prints, and for temporary files; it begins in the directory `at`."""
        self._output = directory / "terminal.txt"
        with self._output.open("wb") as file:
            self._bash = subprocess.Popen(
                ["bash", "-euo", "pipefail"],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                env={**(os.environ if environment is None else environment), "TMPDIR": str(directory)},
                cwd=at,
                start_new_session=True,
            )
        self._blocks = 0

    @property
    def text(self) -> str:
        """Everything printed until now."""
        return self._output.read_text()

    def run(self, block: str, seconds: float = DEADLINE) -> str:
        """Types a block, waits for its end, and returns what was printed meanwhile."""
        before = len(self.text)
        self._blocks += 1
        mark = f"--- block {self._blocks} ended"
        self._input.write(f"{block}\necho '{mark}'\n")
        self._input.flush()
        eventually(lambda: mark in self.text or self._bash.poll() is not None, seconds, message=block)
        assert mark in self.text, f"{block}\n{self.text}"
        return self.text[before:].replace(f"{mark}\n", "")

    def await_words(self, words: str, before: str) -> None:
        """Until they have been printed behind what was `before`, by what runs in the background."""
        eventually(lambda: words in self.text[len(before) :], message=words)

    def end(self) -> None:
        """Ends the shell and what it started in the background, as closing a terminal does."""
        with contextlib.suppress(ProcessLookupError):  # it ended by itself, at an error
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()
        self._input.close()

    @property
    def _input(self) -> IO[str]:
        assert self._bash.stdin is not None
        return self._bash.stdin
