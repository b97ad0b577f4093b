"""The key file of servers of this machine."""

from __future__ import annotations

import hmac
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from automation.agent.automation.failures import MoveFailed
from automation.agent.files import move
from automation.plan.values import KeyFile

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LARGEST = 16_384


def seen_key_file(place: Path, key: str) -> KeyFile | None:
    """What the file at this place is for a server with this key; None if it cannot be read."""
    try:
        status = place.lstat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with place.open("rb") as file:
            known_key = b"".join(file.read(_LARGEST).split())
    except FileNotFoundError:
        return KeyFile.MISSING
    except OSError:
        return None
    if not hmac.compare_digest(known_key, key.encode()):
        return KeyFile.DIFFERENT
    # A server refuses a key file that others can read.
    return KeyFile.MISSING if status.st_mode & _OTHERS else KeyFile.SAME


def write_key_file(place: Path, key: str) -> None:
    """Write the key file as a whole, for this user only. It takes the place of the agent's own file only.

    Raises: MoveFailed: another file is there, or somebody else can write the directory. OSError.
    """
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = place.parent.stat()
    if directory.st_uid not in {os.geteuid(), 0} or directory.st_mode & 0o022:
        raise MoveFailed(f"{place.parent}, the directory of the key file, must be written by its user only")
    with suppress(FileNotFoundError):
        status = place.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise MoveFailed(f"{place}, the key file, is not a file of the agent's user")
    # A name of its own: agents of several machines can share the directory.
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        move(unfinished, place)
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise
