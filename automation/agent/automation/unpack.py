"""Unpacks the archive of a build: regular files and directories, below a new directory, and nothing else.

It does not use the extraction of `tarfile`, which before Python 3.12 follows paths and links wherever they
lead. Archives of MongoDB have no links, so all links are refused.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from automation.agent.automation.build_faults import BuildError, BuildFault, DownloadLimits, require_room
from automation.agent.faults import shown
from automation.agent.files import sync_directory

PROGRAM = PurePosixPath("bin/mongod")
"""The program of a build, below the directory of the build."""
_BLOCK = tarfile.BLOCKSIZE
_LARGEST_READ = 1 << 20
"""Bytes: `tarfile` reads headers of any size into memory."""
_LONGEST_END = 1 << 20
"""Bytes of padding after the end mark of an archive."""


@dataclass(frozen=True)
class _PackedFile:
    """A file of the archive, with its place below the new directory."""

    place: PurePosixPath
    member: tarfile.TarInfo


def unpack(archive: Path, target: Path, limits: DownloadLimits) -> Path:
    """Unpack into a new directory, and return the directory in it that has `bin/mongod`.

    Nothing is written before the whole archive is checked. All files are on the disk when it returns.

    Raises: BuildError: the archive is cut, damaged, unsafe or too large. OSError: a file cannot be written.
    """
    with _readable(), gzip.open(archive) as octets:
        content = _BoundedContent(octets, limits.content)
        with tarfile.open(fileobj=content, mode="r:") as tar:
            directories, files = _checked_members(tar, limits)
            _require_end(content, max(map(_end, tar.getmembers()), default=0))
            root = _root([packed.place for packed in files])
            require_room(target.parent, sum(packed.member.size for packed in files), limits.spare)
            target.mkdir(mode=0o755)
            for directory in sorted(directories):
                (target / directory).mkdir(mode=0o755)
            for packed in files:
                _write(tar, packed.member, target / packed.place)
            for directory in (PurePosixPath(), *directories):
                sync_directory(target / directory)
    return target / root


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    source = tar.extractfile(member)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        if source is not None:
            copyfileobj(source, file, _LARGEST_READ // 4)
        file.flush()
        os.fchmod(file.fileno(), 0o755 if member.mode & 0o100 else 0o644)
        os.fsync(file.fileno())


def _checked_members(
    tar: tarfile.TarFile, limits: DownloadLimits
) -> tuple[set[PurePosixPath], list[_PackedFile]]:
    """The directories and files of the archive. Raises: BuildError: a member is unsafe, or there are many."""
    directories: set[PurePosixPath] = set()
    files: dict[PurePosixPath, _PackedFile] = {}
    for number, member in enumerate(tar, 1):
        if number > limits.members:
            raise BuildError(BuildFault.TOO_LARGE, f"the archive has more than {limits.members} files")
        place = _place(member)
        if member.isdir():
            directories |= {place, *place.parents}
        elif place in files:
            raise _unsafe(member, "is there twice")
        else:
            files[place] = _PackedFile(place, member)
            directories |= set(place.parents)
    directories.discard(PurePosixPath())
    if clash := directories.intersection(files):
        raise _unsafe(files[min(clash)].member, "is a file and a directory")
    return directories, list(files.values())


def _place(member: tarfile.TarInfo) -> PurePosixPath:
    """Where the member belongs, relative to the new directory. Raises: BuildError: nowhere in it."""
    place = PurePosixPath(member.name)
    if member.issym() or member.islnk():
        raise _unsafe(member, "is a link")
    if not (member.isdir() or member.isreg()) or member.issparse():
        raise _unsafe(member, "is neither a regular file nor a directory")
    if place.is_absolute() or ".." in place.parts or not member.name.isprintable():
        raise _unsafe(member, "leads out of the archive, or has a name that cannot be used")
    if member.isreg() and not place.parts:
        raise _unsafe(member, "has no name")
    return place


def _unsafe(member: tarfile.TarInfo, why: str) -> BuildError:
    return BuildError(BuildFault.UNSAFE_MEMBER, f"the archive is refused: {shown(member.name)} {why}")


def _root(places: Sequence[PurePosixPath]) -> PurePosixPath:
    """The directory of the build: the one in which `bin/mongod` is."""
    roots = [place.parents[1] for place in places if place.parts[-2:] == PROGRAM.parts]
    if len(roots) != 1:
        raise BuildError(BuildFault.NO_PROGRAM, f"the archive has {len(roots)} files {PROGRAM}, instead of 1")
    return roots[0]


class _BoundedContent(io.RawIOBase):
    """The content of the archive, as a file of limited size that is read in small parts."""

    def __init__(self, octets: gzip.GzipFile, largest: int) -> None:
        super().__init__()
        self._octets, self._largest = octets, largest

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes. Raises: BuildError."""
        if not 0 <= size <= _LARGEST_READ:
            raise BuildError(BuildFault.DAMAGED, "the archive has a header that is too large")
        self._check(self._octets.tell() + size)
        return self._octets.read(size)

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Go to a position. Raises: BuildError."""
        if whence == os.SEEK_SET:
            self._check(position)
        return self._octets.seek(position, whence)

    def _check(self, position: int) -> None:
        if position > self._largest + _LONGEST_END:
            raise BuildError(
                BuildFault.TOO_LARGE, f"the content of the archive has more than {self._largest} bytes"
            )


def _end(member: tarfile.TarInfo) -> int:
    """The position after the content of the member."""
    return member.offset_data + (-(-member.size // _BLOCK) * _BLOCK if member.isreg() else 0)


def _require_end(content: _BoundedContent, end: int) -> None:
    """Check that the archive has its end mark, and the checksum of its compression.

    `tarfile` accepts an archive that is cut between two members.
    """
    content.seek(end)
    mark = content.read(_BLOCK)
    if len(mark) < _BLOCK:
        raise BuildError(BuildFault.CUT, "the archive is cut: it has no end mark")
    if any(mark):
        raise BuildError(BuildFault.DAMAGED, "the archive is damaged: it has no end mark")
    if len(content.read(_LONGEST_END)) == _LONGEST_END:
        raise BuildError(BuildFault.DAMAGED, "the archive goes on after its end mark")


@contextmanager
def _readable() -> Iterator[None]:
    """Turn errors of reading the archive into failures."""
    try:
        yield
    except EOFError:
        raise BuildError(
            BuildFault.CUT, "the archive is cut: its compressed content ends too early"
        ) from None
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile) as error:
        is_cut = "unexpected end" in str(error)
        fault = BuildFault.CUT if is_cut else BuildFault.DAMAGED
        why = "cut" if is_cut else "damaged, or not a tar archive that is compressed with gzip (.tgz)"
        raise BuildError(fault, f"the archive is {why}") from None
