"""The file that runs, and the file next to it that may replace it.

A new file has another name until it has sent a report, so the program's name is always of a file that works:
the old file or the new one, whenever the machine stops.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from automation.agent.files import UNFINISHED, move, write_whole

LARGEST_BYTES = 50_000_000
NEW, OLD = ".new", ".old"
"""Suffixes of the file that is tried, and of the file that ran before the present file."""

_OTHERS_WRITE = 0o002
_PERMISSIONS = 0o777


class Program:
    """A single-file agent, with the interpreter and the arguments that run it."""

    def __init__(self, path: Path, arguments: Sequence[str], interpreter: Sequence[str]) -> None:
        """`interpreter` is Python with its own options; `arguments` are of the program."""
        self.path = path
        self.new_path, self.old_path = path.with_name(path.name + NEW), path.with_name(path.name + OLD)
        self._arguments, self._interpreter = arguments, interpreter

    def fault(self) -> str:
        """Why the file cannot be replaced; empty if it can be."""
        directory = self.path.parent
        try:
            status, above = self.path.stat(), directory.stat()
        except OSError as error:
            return f"{self.path} cannot be read: {error.strerror}"
        if not stat.S_ISREG(status.st_mode):
            return f"{self.path} is not a regular file"
        if above.st_mode & _OTHERS_WRITE:
            return f"every user can write the directory {directory}"
        if not os.access(directory, os.W_OK | os.X_OK):
            return f"the agent's user cannot write the directory {directory}"
        return ""

    def command(self, *more: str, is_new: bool = False) -> list[str]:
        """The command line of the program, or of the new file, with more arguments."""
        path = self.new_path if is_new else self.path
        return [*self._interpreter, str(path), *self._arguments, *more]

    def is_file(self, sha256: str) -> bool:
        """Whether the program on the disk has this SHA-256, in hexadecimal. Raises: OSError."""
        return has_sha256(_read(self.path), sha256)

    def keep_new(self, octets: bytes) -> None:
        """Write the new file, with the mode of the program. Raises: OSError."""
        write_whole(self.new_path, octets, mode=self._mode())

    def has_new(self, sha256: str) -> bool:
        """Whether the new file has this SHA-256, in hexadecimal."""
        try:
            return has_sha256(_read(self.new_path), sha256)
        except OSError:
            return False

    def take_new(self) -> None:
        """Keep a copy of the program, then put the new file in its place. Raises: OSError: it stays."""
        # A copy, and no link: a user may not link a file of another user.
        old = _read(self.path)
        if old != _read(self.new_path):  # Another agent with the same file has replaced it.
            write_whole(self.old_path, old, mode=self._mode())
        move(self.new_path, self.path)

    def _mode(self) -> int:
        return self.path.stat().st_mode & _PERMISSIONS

    def forget_new(self) -> None:
        """Remove the new file, which never ran or did not work."""
        for path in (self.new_path, self.new_path.with_name(self.new_path.name + UNFINISHED)):
            with contextlib.suppress(OSError):
                path.unlink()


def has_sha256(octets: bytes, sha256: str) -> bool:
    """Whether octets have this SHA-256, in hexadecimal."""
    return hmac.compare_digest(hashlib.sha256(octets).hexdigest(), sha256)


def running_program(arguments: Sequence[str]) -> Program | None:
    """The program that runs, with its arguments; None if it is not a single file, but installed."""
    archive = getattr(getattr(__spec__, "loader", None), "archive", None)
    if archive is None or not sys.executable:
        return None
    # `python3 -I file.pyz --once`: the options of Python are before the program. Since Python 3.10.
    line = getattr(sys, "orig_argv", sys.argv)
    options = line[1 : max(1, len(line) - len(sys.argv))]
    return Program(Path(archive).resolve(), arguments, [sys.executable, *options])


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_BYTES + 1)
