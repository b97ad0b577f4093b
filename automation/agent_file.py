"""The agent as a single file: a zip archive that Python runs (PEP 441), with all its dependencies.

It is built from the installed packages. The same versions produce the same bytes everywhere: names are
sorted, times are fixed, and nothing is compressed, because compression differs between libraries.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath
from typing import Any

from opsapi import VERSION
from opsapi.program import FILES

NAME = "opsapi-agent.pyz"

_ROOT = Path(__file__).parents[1]
_PLATFORM = (
    "automation/__init__.py",
    "automation/addresses.py",
    "automation/labels.py",
    "automation/moments.py",
    "automation/sections.py",
    "opsapi/__init__.py",
    "opsapi/hostnames.py",
    "opsapi/redaction.py",
)
"""Modules of the platform that the agent imports; import contracts enforce the list."""
_PACKAGES = ("agent", "plan")
"""The packages of `automation` that the file contains as a whole."""
_LIBRARIES = {"pymongo": ("bson", "pymongo"), "dnspython": ("dns",), "tomli": ("tomli",)}
"""The packages that the agent needs, by distribution. Pure Python only, so that it runs on every machine."""
_NEWER = "python311"
_NEEDING_NEWER = frozenset({"dnspython"})
"""Distributions that need Python 3.11. They are in a directory of their own, so that an older Python does not
find them: there, the agent uses the package of the system, if it is installed."""
_SHEBANG = b"#!/usr/bin/env python3\n"
_START = b"""import sys

if sys.version_info < (3, 9):
    sys.exit("opsapi-agent needs Python 3.9 or newer; this is " + sys.version.split()[0])
if sys.version_info >= (3, 11):
    sys.path.insert(1, sys.path[0] + "/python311")

from automation.agent.__main__ import main

sys.exit(main())
"""
_MOMENT = (1980, 1, 1, 0, 0, 0)
"""The earliest time in a zip archive."""
_READABLE = 0o100644 << 16


@dataclass(frozen=True)
class AgentFile:
    """The bytes of the file, and their SHA-256 in hexadecimal."""

    octets: bytes
    sha256: str


@lru_cache(maxsize=1)
def agent_file() -> AgentFile:
    """The file of this version, built on the first call.

    Raises: OSError, PackageNotFoundError: a part is not installed.
    """
    archive_file = io.BytesIO()
    archive_file.write(_SHEBANG)
    with zipfile.ZipFile(archive_file, "w", zipfile.ZIP_STORED) as archive:
        for name, octets in sorted(_parts()):
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.create_system, entry.external_attr = 3, _READABLE
            archive.writestr(entry, octets)
    octets = archive_file.getvalue()
    return AgentFile(octets, hashlib.sha256(octets).hexdigest())


def agent_file_facts() -> Mapping[str, Any]:
    """The version, checksum and size of the file, as the API gives them.

    Raises: as `agent_file`.
    """
    file = agent_file()
    return {"version": VERSION, "sha256": file.sha256, "size": len(file.octets)}


def _parts() -> Iterator[tuple[str, bytes]]:
    """Names and contents of the archive."""
    yield "__main__.py", _START
    yield "LICENSES/opsapi.txt", (FILES / "LICENSE").read_bytes()
    own = [_ROOT / name for name in _PLATFORM]
    packages_of_agent = [_ROOT / "automation" / name for name in _PACKAGES]
    for path in [*own, *(path for package in packages_of_agent for path in package.rglob("*.py"))]:
        yield path.relative_to(_ROOT).as_posix(), path.read_bytes()
    for library, packages in _LIBRARIES.items():
        yield from _library(library, packages)


def _library(library: str, packages: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    installed = distribution(library)
    version = installed.version
    for file in installed.files or ():
        path = PurePosixPath(file)
        if path.suffix == ".py" and path.parts[0] in packages:
            place = PurePosixPath(_NEWER) if library in _NEEDING_NEWER else PurePosixPath()
            yield str(place / path), file.read_binary()
        elif path.parts[0].endswith(".dist-info") and path.name.upper().startswith(("LICEN", "NOTICE")):
            yield f"LICENSES/{library}-{version}-{path.name}.txt", file.read_binary()
