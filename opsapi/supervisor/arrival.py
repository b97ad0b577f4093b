"""Recognizes complete requests: a request gets a thread only when all of it has arrived.

gunicorn's parser reads the same bytes afterwards and refuses invalid requests. A request that the parser will
refuse therefore counts as complete.
"""

import re
from enum import StrEnum

KIB = 1024
LONGEST_HEAD = 128 * KIB
# No path accepts more than 16 MiB of body; the rest is for the head and the chunk sizes.
LONGEST_REQUEST = 20 * KIB * KIB
LONGEST_CHUNK_LINE = 8190
# The cost of a chunk does not depend on its size: a body of one-byte chunks takes seconds to parse.
MOST_CHUNKS = 16_384
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
BODY_BYTES_PER_SECOND = 16 * KIB

_HEAD_END = b"\r\n\r\n"
_BARE_END = re.compile(rb"\n\r?\n")
_REQUEST_LINE = re.compile(rb"[^\r\n]* HTTP/\d\.\d")
_HOST = re.compile(rb"(?im)^host:")
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,18})[ \t]*\r$")
_CHUNKED = re.compile(rb"(?im)^transfer-encoding:[^\r\n]*\r$")
_CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_FORWARDED_FOR = re.compile(rb"(?im)^x-forwarded-for:([^\r\n]*)")
_EXPECT = re.compile(rb"(?im)^expect:[ \t]*100-continue[ \t]*\r\n")


class ArrivalState(StrEnum):
    """How much of a request has arrived."""

    PART = "part"
    WHOLE = "whole"
    MALFORMED = "malformed"
    OVERSIZED = "oversized"


class Arrival:
    """The received bytes of a request, and the length that they announce."""

    def __init__(self, began: float) -> None:
        """`began`: the start of the wait, in seconds of a monotonic clock."""
        self.data = bytearray()
        self._began = began
        self._body_at = 0
        self._end: int | None = None
        self._chunk_at = 0
        self._chunks = 0

    def add(self, piece: bytes) -> ArrivalState:
        """Add the next bytes, and return how much of the request has arrived."""
        searched = max(0, len(self.data) - len(_HEAD_END) + 1)
        self.data += piece
        if not self._body_at:
            verdict = self._read_head(searched)
            if verdict is not None:
                return verdict
        if len(self.data) > LONGEST_REQUEST:
            return ArrivalState.WHOLE
        arrived = self._chunks_arrived() if self._end is None else len(self.data) >= self._end
        if self._chunks > MOST_CHUNKS:
            return ArrivalState.MALFORMED
        return ArrivalState.WHOLE if arrived else ArrivalState.PART

    def take_expectation(self) -> bool:
        """Whether the client waits for "100 Continue". Removes the header, so that it is answered once."""
        head = bytes(self.data[: self._body_at])
        without, found = _EXPECT.subn(b"", head)
        if not found or not head.split(b"\r\n", 1)[0].endswith(b"HTTP/1.1"):
            return False
        self.data[: self._body_at] = without
        removed = len(head) - len(without)
        self._body_at -= removed
        self._chunk_at -= removed
        self._end = None if self._end is None else self._end - removed
        return True

    def forwarded_for(self) -> str:
        """Return the value of X-Forwarded-For; values of repeated headers are joined by commas."""
        return b",".join(_FORWARDED_FOR.findall(self.data[: self._body_at])).decode("latin-1")

    def deadline(self) -> float:
        """Return the time at which to give up, on the clock of `began`. Larger bodies get more time."""
        if not self._body_at:
            return self._began + HEAD_SECONDS
        return self._began + BODY_SECONDS + len(self.data) / BODY_BYTES_PER_SECOND

    def _read_head(self, searched: int) -> ArrivalState | None:
        """Return the state that follows from the head; None if the body decides."""
        end = self.data.find(_HEAD_END, searched)
        if end < 0:
            return self._headless(searched)
        self._body_at = self._chunk_at = end + len(_HEAD_END)
        head = bytes(self.data[: end + 2])
        if head.split(b"\r\n", 1)[0].endswith(b"HTTP/1.1") and not _HOST.search(head):
            return ArrivalState.MALFORMED  # RFC 9112 3.2; the parser accepts it.
        lengths, chunked = _LENGTH.findall(head), _CHUNKED.search(head)
        if len(lengths) + bool(chunked) > 1:
            return ArrivalState.WHOLE  # Ambiguous length: the parser refuses it.
        if not chunked:
            self._end = self._body_at + (int(lengths[0]) if lengths else 0)
            if self._end > LONGEST_REQUEST:
                return ArrivalState.WHOLE  # Refused by its length, before the body is read.
        return None

    def _headless(self, searched: int) -> ArrivalState:
        if _BARE_END.search(self.data, searched):
            return ArrivalState.MALFORMED  # Lines without CR: complete for the client, never for the parser.
        if len(self.data) > LONGEST_HEAD:
            return ArrivalState.OVERSIZED
        has_line = b"\r\n" in self.data
        return ArrivalState.WHOLE if has_line and not _REQUEST_LINE.match(self.data) else ArrivalState.PART

    def _chunks_arrived(self) -> bool:
        """Whether the last chunk has arrived (RFC 9112 7.1). Continues where the last call stopped."""
        while (line_end := self.data.find(b"\r\n", self._chunk_at)) >= 0:
            digits = bytes(self.data[self._chunk_at : line_end]).split(b";")[0].rstrip()
            if not _CHUNK_SIZE.fullmatch(digits):
                return True  # The parser refuses it.
            size = int(digits, 16)
            if size == 0:
                return self.data.find(_HEAD_END, line_end) >= 0
            self._chunk_at = line_end + 2 + size + 2
            self._chunks += 1
            if self._chunks > MOST_CHUNKS:
                return False
        return len(self.data) - self._chunk_at > LONGEST_CHUNK_LINE
