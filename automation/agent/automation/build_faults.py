"""Why a build of the database is not on the machine, and the limits of a download."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from automation.agent.faults import printable
from opsapi.redaction import redact_urls

_LONGEST = 500
_MEGABYTE = 1 << 20


class BuildFault(str, Enum):
    """The kind of a failure."""

    NO_BUILD = "NO_BUILD"
    """The version has no build for this machine."""
    SEVERAL_BUILDS = "SEVERAL_BUILDS"
    """Several different builds are for this machine."""
    INVALID_BUILD = "INVALID_BUILD"
    """A value of the build cannot be used."""
    DIRECTORY = "DIRECTORY"
    """The download directory is not one in which the operator allows the agent to write."""
    ADDRESS = "ADDRESS"
    """The URL, or one to which it redirects, is not one that agents use."""
    UNREACHABLE = "UNREACHABLE"
    HTTP_STATUS = "HTTP_STATUS"
    TOO_SLOW = "TOO_SLOW"
    TOO_LARGE = "TOO_LARGE"
    CUT = "CUT"
    """The archive ends too early."""
    CHECKSUM = "CHECKSUM"
    DAMAGED = "DAMAGED"
    """The file is not an archive, or a part of it is wrong."""
    UNSAFE_MEMBER = "UNSAFE_MEMBER"
    """A member of the archive leads out of its directory, or is neither a file nor a directory."""
    NO_PROGRAM = "NO_PROGRAM"
    """The archive has no bin/mongod, or several."""
    NOT_RUNNABLE = "NOT_RUNNABLE"
    """The program does not say its version."""
    OTHER_COMMIT = "OTHER_COMMIT"
    OTHER_VERSION = "OTHER_VERSION"
    OTHER_MODULES = "OTHER_MODULES"
    DISK_FULL = "DISK_FULL"
    FILES = "FILES"
    """A file or directory cannot be read or written."""
    BUSY = "BUSY"
    """Another agent downloads into the same directory."""

    @property
    def is_passing(self) -> bool:
        """Whether a later try can succeed without a change of the document or of the machine."""
        return self in _PASSING


_PASSING = frozenset({BuildFault.BUSY, BuildFault.UNREACHABLE, BuildFault.TOO_SLOW, BuildFault.CUT})


class BuildError(Exception):
    """A build is not there; `fault` is the kind of the failure, and the message says why, without secrets."""

    def __init__(self, fault: BuildFault, why: str) -> None:
        """Store the message without secrets of URLs and unprintable characters."""
        super().__init__(printable(redact_urls(why), _LONGEST) or fault.value)
        self.fault = fault


@dataclass(frozen=True)
class DownloadLimits:
    """Bounds of a download: bytes of the archive and of its content, files, and seconds.

    `spare` are bytes of the disk that stay free.
    """

    archive: int = 2_000_000_000
    content: int = 8_000_000_000
    members: int = 10_000
    seconds: float = 1800.0
    spare: int = 100 * _MEGABYTE


def file_error(error: OSError) -> BuildError:
    """The failure that an error of the file system means."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return BuildError(BuildFault.DISK_FULL, "the disk is full")
    return BuildError(BuildFault.FILES, f"a file cannot be read or written: {error.strerror}")


def require_room(directory: Path, needed: int, spare: int) -> None:
    """Check that the disk has room for so many bytes. Raises: BuildError: it has not. OSError."""
    free = shutil.disk_usage(directory).free
    if needed + spare > free:
        megabytes = f"{(needed + spare) / _MEGABYTE:.0f} MB are needed, {free / _MEGABYTE:.0f} MB are free"
        raise BuildError(BuildFault.DISK_FULL, f"the disk has too little room: {megabytes}")
