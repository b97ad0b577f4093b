"""Packages of servers that tests start: downloaded once, held against checksums, kept in the user's cache.

They are for tests only, and never part of what the project hands out.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

CACHE = Path("~/.cache/opsapi-tests").expanduser()


def kept(name: str, make: Callable[[Path], Path]) -> Path:
    """The directory kept under this name; `make` creates it, in a directory it is given, if it is missing."""
    place = CACHE / name
    if not place.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as directory:
            made = make(Path(directory))
            with suppress(OSError):  # others may have done the same
                made.rename(place)
    return place


def download_wheel(directory: Path, requirement: str, sha256: str, *options: str) -> Path:
    """A wheel of the package index, such as `name==1.0`; `options` are of `pip download`."""
    wanted = directory / "wheel.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    only = ["--only-binary", ":all:", "--require-hashes", "--dest", str(directory), "-r", str(wanted)]
    subprocess.run([*command, *only, *options], check=True)
    (wheel,) = directory.glob("*.whl")
    return _checked(wheel, sha256)


def download_npm(directory: Path, package: str, sha256: str) -> Path:
    """The archive of a package of npm, such as `@scope/name@1.0.0`; nothing of it is run."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(directory), package]
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    (archive,) = directory.glob("*.tgz")
    return _checked(archive, sha256)


def _checked(file: Path, sha256: str) -> Path:
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    assert found == sha256, f"{file.name} has the checksum {found}"
    return file
