"""Reads the head of an HTTP response so that its status line decides, whatever follows."""

import errno
import io
import re
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

_LINE_LIMIT = 65_536
_HEAD_LIMIT = 262_144
"""Limits in bytes, for the status line and for the header fields of a response."""
INTERIM_LIMIT = 262_144
"""The maximum number of bytes of interim responses (1xx) that are skipped (RFC 9110 15.2)."""
_KEPT_AT_MOST = 50
_STATUS_LINE = re.compile(rb"HTTP/(?P<version>\d(?:\.\d)?)[ \t]+(?P<status>\d{3})(?=\s|$)")
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection"})
_USED = frozenset({b"retry-after", b"content-type", b"content-encoding", b"keep-alive"})
_SAID = frozenset({b"proxy-status", b"x-squid-error"})
"""Header fields in which proxies say why they refused a request (RFC 9209; Squid)."""
_READ_AT_MOST = 2_000
_UNPRINTABLE = re.compile(rb"[^\x21-\x7e]+")
_Fields = list[tuple[bytes, bytes]]
"""Header fields with their lower-case names."""
_NOTHING_FOLLOWS = b"Content-Length: 0\r\nConnection: close\r\n"


class OnlyInterimError(HTTPException):
    """There are only interim responses, and too many."""


class CutOffAfterInterimError(OnlyInterimError, ConnectionAbortedError):
    """The connection ended, or the time was over, after interim responses."""


class StatusFirst(HTTPResponse):
    """A response whose status line decides.

    `http.client` refuses a response with more than 100 header fields, or whose head is broken or cut off. But
    the receiver has decided when it sends the status line: a request that it accepted must not be repeated.
    Header fields that the platform does not use are skipped.
    """

    def begin(self) -> None:
        """Read the head. Raises HTTPException or OSError: there is no status line."""
        if getattr(self, "headers", None) is not None:
            return  # The head was read already.
        source = self.fp
        self.fp = io.BufferedReader(io.BytesIO(_head(source)))
        try:
            super().begin()
        finally:
            self.fp = source


@dataclass(frozen=True, slots=True)
class ProxyAnswer:
    """The answer of a proxy to CONNECT: the status, the reason phrase and some header fields."""

    status: int
    phrase: bytes
    fields: _Fields

    @property
    def is_taken(self) -> bool:
        return 200 <= self.status <= 299

    def said(self, source: io.BufferedIOBase) -> list[str]:
        """Return the texts of a refusal, each a line of at most 2,000 characters. They can show secrets.

        It reads the start of a plain text.
        """
        parts = [self.phrase, *(field for name, field in self.fields if name in _SAID)]
        if any(name == b"content-type" and b"text/plain" in field.lower() for name, field in self.fields):
            with suppress(OSError):  # The status and the phrase are known.
                parts.append(source.read1(_READ_AT_MOST))
        parts = [_UNPRINTABLE.sub(b" ", part[:_READ_AT_MOST]).strip() for part in parts]
        return [part.decode("ascii") for part in parts if part]


def proxy_answer(source: io.BufferedIOBase) -> ProxyAnswer:
    """Read the head of the answer to CONNECT, past interim responses.

    Raises: ConnectionError: the connection ended before the answer. HTTPException: this is no HTTP response.
    """
    line, match, fields, is_whole = _final_head(source, _USED | _SAID)
    if not line.endswith(b"\n"):
        raise ConnectionAbortedError(errno.ECONNABORTED, "the proxy closed the connection")
    if match is None:
        raise HTTPException("no status line")
    answer = ProxyAnswer(int(match["status"]), line[match.end() :], fields)
    if answer.is_taken and not is_whole:
        raise ConnectionAbortedError(errno.ECONNABORTED, "the proxy did not finish its answer")
    return answer


def _head(source: io.BufferedIOBase) -> bytes:
    """Read the head of the first response that is not interim, and return the part that is used."""
    line, match, fields, is_whole = _final_head(source, _FRAMING | _USED)
    if match is None:
        return line  # http.client says what is wrong with it
    version = b"1.1" if match["version"] == b"1.1" else b"1.0"
    start = b"HTTP/%s %s \r\n" % (version, match["status"])
    is_framed = is_whole and _has_one_length(fields)
    used = [field for name, field in fields if is_framed or name not in _FRAMING]
    return b"".join([start, *used, b"" if is_framed else _NOTHING_FOLLOWS, b"\r\n"])


def _final_head(
    source: io.BufferedIOBase, used: AbstractSet[bytes]
) -> tuple[bytes, re.Match[bytes] | None, _Fields, bool]:
    """Read past interim responses, whatever their number: the deadline of the connection limits their time.

    Return the next status line, its match (None if it is no status line), the header fields of these names,
    and whether the head is whole.

    Raises: OnlyInterimError: there are only interim responses. OSError: there is no response.
    """
    left = INTERIM_LIMIT
    while left > 0:
        line = _start_of_head(source, is_first=left == INTERIM_LIMIT)
        match = _STATUS_LINE.match(line)
        if match is None:
            return line, None, [], False
        fields, is_whole, size = _fields(source, used)
        if not match["status"].startswith(b"1"):
            return line, match, fields, is_whole
        left -= len(line) + size
    raise OnlyInterimError("no final response")


def _start_of_head(source: io.BufferedIOBase, *, is_first: bool) -> bytes:
    """Return the next line; empty if it `is_first` and the connection has ended.

    Raises: CutOffAfterInterimError: there is no line after interim responses. OSError: no first line can be
    read.
    """
    try:
        line = source.readline(_LINE_LIMIT)
    except OSError as error:
        if is_first:
            raise
        raise CutOffAfterInterimError(error.errno or errno.ECONNABORTED, str(error)) from None
    if not line and not is_first:
        raise CutOffAfterInterimError(errno.ECONNABORTED, "closed after interim responses")
    return line


def _has_one_length(fields: _Fields) -> bool:
    """Whether the fields do not contradict each other about the length of the body (RFC 9112 6.3)."""
    lengths = {field.partition(b":")[2].strip() for name, field in fields if name == b"content-length"}
    return len(lengths) <= 1 and all(length.isdigit() for length in lengths)


def _fields(source: io.BufferedIOBase, used: AbstractSet[bytes]) -> tuple[_Fields, bool, int]:
    """Return the header fields of these names, whether the head is whole, and its size."""
    fields: _Fields = []
    size = 0
    while size < _HEAD_LIMIT:
        try:
            line = source.readline(_HEAD_LIMIT - size)
        except OSError:  # The connection is lost, or the time is over: the status is known.
            break
        size += len(line)
        if line in {b"\r\n", b"\n"}:
            return fields, True, size
        if not line.endswith(b"\n"):
            break
        name = line.partition(b":")[0].strip().lower()
        if b"\r" in line.rstrip(b"\r\n"):  # http.client would read several fields in it.
            continue
        if name in used and len(fields) < _KEPT_AT_MOST:
            fields.append((name, line.rstrip(b"\r\n") + b"\r\n"))
    return fields, False, size
