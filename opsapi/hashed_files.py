"""Static files whose names contain a checksum of their content, so that browsers keep them for a year.

A process reads, compresses and names a file when a page first links to it, and keeps the result in memory. So
no step of the installation and no directory is needed, and all machines with the same version use the same
names.
"""

import gzip
import hashlib
import posixpath
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage

_TEXTS = frozenset({".css", ".html", ".js", ".json", ".svg", ".txt", ".xml"})
_HASHED = re.compile(r"(?P<start>.+)\.[0-9a-f]{12}(?P<end>\.[^./]+)")
# A relative address in a style sheet; not of another style sheet.
_ADDRESS = re.compile(rb"""url\(\s*(["']?)(?![a-z]+:|[/#])([^"')?#\s]+?)(?<!\.css)(?=["')?#])""")


@dataclass(frozen=True, slots=True)
class HashedFile:
    """`content` is compressed if `is_compressed`; `digest` is the checksum in the name."""

    path: str
    name: str
    digest: str
    content: bytes
    is_compressed: bool


class HashedFiles(StaticFilesStorage):
    """The storage of `{% static %}`. It links to hashed names and writes nothing."""

    def url(self, name: str | None, force: bool = False) -> str:
        """Return the URL of the file with its hashed name. ValueError if the file does not exist."""
        file = hashed_file(str(name))
        if file is None:
            raise ValueError(f"the static file {name} does not exist")
        return super().url(file.name)


def is_text(path: str) -> bool:
    """Whether compression makes the file smaller; fonts and pictures are compressed already."""
    return posixpath.splitext(path)[1] in _TEXTS


def plain_name(name: str) -> str | None:
    """Return the name without its checksum; None if it contains no checksum."""
    match = _HASHED.fullmatch(name)
    return match["start"] + match["end"] if match else None


@cache
def hashed_file(name: str) -> HashedFile | None:
    """Return the file of a plain name, as it was when the process first needed it; None if it does not exist.

    Call it only with names that the platform knows: it keeps the results.
    """
    path = finders.find(name)
    if path is None:
        return None
    content = Path(path).read_bytes()
    if name.endswith(".css"):
        content = _with_hashed_addresses(content, posixpath.dirname(name))
    digest = hashlib.sha256(content).hexdigest()[:12]
    start, end = posixpath.splitext(name)
    packed = gzip.compress(content, mtime=0) if is_text(name) else content
    return HashedFile(path, f"{start}.{digest}{end}", digest, packed, is_text(name))


def _with_hashed_addresses(sheet: bytes, directory: str) -> bytes:
    def changed(match: re.Match[bytes]) -> bytes:
        target = hashed_file(posixpath.normpath(posixpath.join(directory, match[2].decode())))
        if target is None:
            return match[0]
        return b"url(" + match[1] + posixpath.relpath(target.name, directory or ".").encode()

    return _ADDRESS.sub(changed, sheet)
