"""The programs of the database on this machine, by version."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from automation.agent.automation.directories import real_place
from automation.agent.automation.failures import MoveFailed
from automation.agent.settings import PREFIX

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_PLACES = ("bin/mongod", "mongod")


class Programs:
    """The programs below a download directory, each in a directory with the name of its version."""

    def __init__(self, base: Path, allowed: Sequence[Path]) -> None:
        self._base, self._allowed = base, allowed

    def present(self, versions: Iterable[str]) -> frozenset[str]:
        """The versions whose program is there."""
        return frozenset(version for version in versions if self.find(version) is not None)

    def find(self, version: str) -> Path | None:
        """The program of a version; None if it is not there, or outside the allowed directories."""
        if not _NAME.fullmatch(version):
            return None
        for name in _PLACES:
            program = self._base / version / name
            if program.is_file() and os.access(program, os.X_OK):
                return real_place(program, self._allowed)
        return None

    def ensure(self, version: str) -> None:
        """Raises: MoveFailed: the program is not there."""
        if self.find(version) is None:
            raise MoveFailed(
                f"version {version} is not there: put its program to {self._base / version / _PLACES[0]}, "
                f"below {PREFIX}AUTOMATION_DIRS"
            )
