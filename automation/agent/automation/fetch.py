"""Downloads a file of any server, or of the disk, bounded in size and time.

The server gets no credentials but the user and the password of the URL itself, and not after a redirect.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import stat
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable
from urllib.parse import SplitResult, unquote, urlsplit

from automation.agent.automation.build_faults import (
    BuildError,
    BuildFault,
    DownloadLimits,
    require_room,
)
from automation.agent.client import TIMEOUT_SECONDS, Connections, failure_words

_PART = 1 << 18
_MOST_REDIRECTS = 5
_KINDS = "a complete http, https or file URL"


@dataclass(frozen=True)
class _Address:
    """A URL without its user, and the header that carries the user and the password; empty without them."""

    url: str
    scheme: str
    path: str
    authorization: str


def fetch(url: str, target: Path, limits: DownloadLimits, monotonic: Callable[[], float]) -> str:
    """Download into a new file, and return the SHA-256 of its content in hexadecimal.

    Raises: BuildError: the file may have a part of the content.
    """
    address = _read_address(url)
    end = monotonic() + limits.seconds

    def check_time() -> None:
        if monotonic() > end:
            raise BuildError(BuildFault.TOO_SLOW, f"the download took longer than {limits.seconds:.0f} s")

    with (
        _opened_file(address) if address.scheme == "file" else _opened(address, limits, check_time) as source
    ):
        return _save(source, target, limits, check_time)


@dataclass(frozen=True)
class _Source:
    """An open download; `length` is the number of its bytes, None if the server does not say it."""

    read: Callable[[int], bytes]
    length: int | None


def _save(source: _Source, target: Path, limits: DownloadLimits, check_time: Callable[[], None]) -> str:
    if (source.length or 0) > limits.archive:
        raise _too_large(limits)
    require_room(target.parent, source.length or 0, limits.spare)
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while part := source.read(_PART):
            check_time()
            size += len(part)
            if size > limits.archive:
                raise _too_large(limits)
            digest.update(part)
            file.write(part)
    check_time()
    if source.length is not None and size < source.length:
        raise BuildError(BuildFault.CUT, f"the download ended after {size} of {source.length} bytes")
    return digest.hexdigest()


def _too_large(limits: DownloadLimits) -> BuildError:
    return BuildError(BuildFault.TOO_LARGE, f"the archive is larger than {limits.archive} bytes")


def _read_address(url: str) -> _Address:
    """The parts of a URL. Raises: BuildError: agents do not use it."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise BuildError(BuildFault.ADDRESS, f"the URL is not {_KINDS}") from None
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise BuildError(BuildFault.ADDRESS, "the URL has characters that are not allowed in a URL")
    path = unquote(parts.path)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"} and path.startswith("/"):
        return _Address(url, parts.scheme, path, "")
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise BuildError(BuildFault.ADDRESS, f"the URL is not {_KINDS}")
    place = parts.netloc.rpartition("@")[2]
    plain = parts._replace(netloc=place, fragment="").geturl()
    return _Address(plain, parts.scheme, path, _basic(parts))


def _basic(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


@contextmanager
def _opened_file(address: _Address) -> Iterator[_Source]:
    # Without O_NONBLOCK, a pipe would block until somebody writes to it.
    descriptor = os.open(address.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BuildError(BuildFault.ADDRESS, "the file URL names no regular file")
        yield _Source(file.read, status.st_size)


class _FewRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https URLs without a user, and from https to https only."""

    max_redirections = _MOST_REDIRECTS

    def redirect_request(self, req: urllib.request.Request, fp: Any, *rest: Any) -> Any:
        """The request that follows. Raises: BuildError: the server redirects to a URL that is refused."""
        try:
            _check_redirect(req.type, rest[-1])
        except BuildError:
            fp.close()
            raise
        return super().redirect_request(req, fp, *rest)


def _check_redirect(scheme: str | None, url: str) -> None:
    """Check the URL to which the server of another URL redirects. Raises: BuildError."""
    address = _read_address(url)
    if address.scheme == "file" or address.authorization:
        raise BuildError(BuildFault.ADDRESS, "the server redirects to a URL that agents do not use")
    if scheme == "https" and address.scheme != "https":
        raise BuildError(BuildFault.ADDRESS, "the server redirects from https to http")


@contextmanager
def _opened(address: _Address, limits: DownloadLimits, check_time: Callable[[], None]) -> Iterator[_Source]:
    request = urllib.request.Request(address.url)  # noqa: S310 - _read_address allows http and https
    if address.authorization:
        request.add_unredirected_header("Authorization", address.authorization)
    connections = Connections()
    opener = urllib.request.build_opener(_FewRedirects, connections)
    # A socket time-out applies to each wait, and headers take many waits.
    timer = threading.Timer(limits.seconds, connections.cut)
    timer.daemon = True
    timer.start()
    try:
        with _network(check_time):
            reply = opener.open(request, timeout=TIMEOUT_SECONDS)
        with reply:
            if reply.status != 200:
                raise BuildError(BuildFault.HTTP_STATUS, f"the server answers {reply.status}")
            yield _Source(_reader(reply, check_time), _length(reply))
    finally:
        timer.cancel()


def _reader(reply: Any, check_time: Callable[[], None]) -> Callable[[int], bytes]:
    def read(size: int) -> bytes:
        with _network(check_time):
            part: bytes = reply.read1(size)
        return part

    return read


def _length(reply: Any) -> int | None:
    text = reply.headers.get("Content-Length") or ""
    return int(text[:20]) if text.isascii() and text.isdigit() else None


@contextmanager
def _network(check_time: Callable[[], None]) -> Iterator[None]:
    """Turn errors of the network into failures."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise BuildError(BuildFault.HTTP_STATUS, f"the server answers {error.code}") from None
    except http.client.IncompleteRead:
        check_time()
        raise BuildError(BuildFault.CUT, "the connection closed before the end of the file") from None
    except http.client.InvalidURL:  # Its message has the URL.
        raise BuildError(BuildFault.ADDRESS, f"the URL is not {_KINDS}") from None
    except (OSError, http.client.HTTPException) as error:
        check_time()
        raise BuildError(BuildFault.UNREACHABLE, f"no answer: {failure_words(error)}") from None
