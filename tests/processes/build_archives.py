"""Archives of database builds, packed by tests as MongoDB packs its own."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

TOP = "mongodb-linux-x86_64"
"""The directory that an archive has for its build."""


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]], level: int = 1) -> bytes:
    """An archive with these members; at level 0, large files are packed and unpacked fast."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for member, octets in members:
            member.size = len(octets)
            tar.addfile(member, io.BytesIO(octets))
    return gzip.compress(content.getvalue(), level, mtime=0)


def member(name: str, kind: bytes = tarfile.REGTYPE, mode: int = 0o755, link: str = "") -> tarfile.TarInfo:
    """The header of a member; `link` is where a link leads."""
    header = tarfile.TarInfo(name)
    header.type, header.mode, header.linkname = kind, mode, link
    return header


def packed_build(program: bytes, level: int = 1) -> bytes:
    """The archive of a build: a licence, the program, and another program that does nothing."""
    return packed(
        [
            (member(TOP, tarfile.DIRTYPE), b""),
            (member(f"{TOP}/LICENSE", mode=0o644), b"a licence\n"),
            (member(f"{TOP}/bin/mongod"), program),
            (member(f"{TOP}/bin/mongos"), b"#!/bin/sh\n"),
        ],
        level,
    )


def script(commit: str, version: str = "6.0.5", modules: str = "", more: str = "") -> bytes:
    """A program that says its version as mongod does; `more` are lines of shell before that."""
    info = (
        f'{{\\n    "version": "{version}",\\n    "gitVersion": "{commit}",\\n    "modules": [{modules}]\\n}}'
    )
    return f"#!/bin/sh\n{more}\nprintf 'db version v{version}\\nBuild Info: {info}\\n'\n".encode()


def file_url(directory: Path, octets: bytes, name: str = "archive.tgz") -> str:
    """The URL of a new file with this content."""
    path = directory / name
    path.write_bytes(octets)
    return path.as_uri()
