"""Recognizes complete requests: a request gets a thread only when all of it has arrived.

gunicorn's parser reads the same bytes afterwards and refuses invalid requests. A request that the parser will
refuse therefore counts as complete.

Requests arrive in pieces of any size, down to a byte. However a request is cut, each byte is looked at only a
few times: every search continues where the last one stopped, and a line is read once, when its end arrives.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

KIB = 1024
LONGEST_HEAD = 128 * KIB
# The request line, a header, or the line before a chunk; without its end. gunicorn accepts no higher limit.
LONGEST_LINE = 8190
MOST_FIELDS = 100
LONGEST_TRAILERS = 8 * KIB
# No path accepts more than 16 MiB of body; the rest is for the head and the chunk sizes.
LONGEST_REQUEST = 20 * KIB * KIB
# The cost of a chunk does not depend on its size: a body of one-byte chunks takes seconds to parse.
MOST_CHUNKS = 16_384
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
BODY_BYTES_PER_SECOND = 16 * KIB

_LINE_END = b"\r\n"
_REQUEST_LINE = re.compile(rb"[^\r\n]* HTTP/\d\.\d")
_LENGTH = re.compile(rb"0*\d{1,18}")
_CHUNK_SIZE = re.compile(rb"0*[0-9a-fA-F]{1,15}")
_EXPECT, _FORWARDED_FOR, _HOST = b"expect", b"x-forwarded-for", b"host"
_CONTENT_LENGTH, _TRANSFER_ENCODING = b"content-length", b"transfer-encoding"
_NOTED = frozenset({_EXPECT, _FORWARDED_FOR, _HOST, _CONTENT_LENGTH, _TRANSFER_ENCODING})
_LONGEST_NOTED = max(map(len, _NOTED))


class ArrivalState(StrEnum):
    """How much of a request has arrived. In the states after WHOLE, it is refused without a thread."""

    PART = "part"
    WHOLE = "whole"
    MALFORMED = "malformed"
    OVERSIZED = "oversized"
    LONG_LINE = "a request line that is too long"


class _EarlyError(Exception):
    """The state is known before the end of the request: the request will be refused."""

    def __init__(self, state: ArrivalState) -> None:
        super().__init__(state)
        self.state = state


class Arrival:
    """The received bytes of a request, and the length that they announce."""

    def __init__(self, began: float) -> None:
        """`began`: the start of the wait, in seconds of a monotonic clock."""
        self.data = bytearray()
        self._began = began
        # The line that is being read begins here. A chunk's line may lie ahead of the received bytes.
        self._line_at = 0
        # Up to here, the line has no end.
        self._searched = 0
        self._has_request_line = False
        self._is_current = False
        self._fields: dict[bytes, list[bytes]] = {}
        self._expectations: list[slice] = []
        self._fields_left = MOST_FIELDS
        self._body_at = 0
        self._end: int | None = None
        self._chunks = 0
        self._trailers_at = 0

    def add(self, piece: bytes) -> ArrivalState:
        """Add the next bytes, and return how much of the request has arrived."""
        self.data += piece
        try:
            arrived = bool(self._body_at or self._read_head()) and self._read_body()
        except _EarlyError as early:
            return early.state
        return ArrivalState.WHOLE if arrived else ArrivalState.PART

    def take_expectation(self) -> bool:
        """Whether the client waits for "100 Continue". Removes the header, so that it is answered once."""
        if not self._body_at or not self._is_current or not self._expectations:
            return False
        before = len(self.data)
        self._remove(self._expectations)
        self._expectations = []
        removed = before - len(self.data)
        self._body_at -= removed
        self._line_at -= removed
        self._searched -= removed
        if self._trailers_at:
            self._trailers_at -= removed
        if self._end is not None:
            self._end -= removed
        return True

    def forwarded_for(self) -> str:
        """Return the value of X-Forwarded-For; values of repeated headers are joined by commas."""
        values = self._fields.get(_FORWARDED_FOR, []) if self._body_at else []
        return b",".join(values).decode("latin-1")

    def deadline(self) -> float:
        """Return the time at which to give up, on the clock of `began`. Larger bodies get more time."""
        if not self._body_at:
            return self._began + HEAD_SECONDS
        return self._began + BODY_SECONDS + len(self.data) / BODY_BYTES_PER_SECOND

    def _read_head(self) -> bool:
        """Whether the head has arrived. Raises _EarlyError: the request will be refused."""
        while line := self._next_head_line():
            is_empty = line.start == line.stop
            if not self._has_request_line:
                # The parser skips an empty line before the request line (RFC 9112 2.2).
                if not is_empty or line.start:
                    self._note_request_line(bytes(self.data[line]))
            elif is_empty:
                self._body_at = self._line_at
                self._note_body()
                return True
            else:
                self._count_field()
                self._note_field(line)
        return False

    def _next_head_line(self) -> slice | None:
        too_long = ArrivalState.OVERSIZED if self._has_request_line else ArrivalState.LONG_LINE
        return self._next_line(0, LONGEST_HEAD, too_long)

    def _read_body(self) -> bool:
        """Whether the body has arrived. Raises _EarlyError: the request will be refused."""
        if self._end is not None:
            return len(self.data) >= self._end
        if len(self.data) > LONGEST_REQUEST:
            raise _EarlyError(ArrivalState.WHOLE)  # The application refuses its length.
        return bool(self._trailers_at or self._read_chunks()) and self._read_trailers()

    def _read_chunks(self) -> bool:
        """Whether the last chunk has arrived (RFC 9112 7.1)."""
        while line := self._next_line(self._line_at, LONGEST_REQUEST, ArrivalState.MALFORMED):
            digits = bytes(self.data[line]).split(b";", 1)[0].rstrip()
            if not _CHUNK_SIZE.fullmatch(digits):
                raise _EarlyError(ArrivalState.WHOLE)
            size = int(digits, 16)
            if size == 0:
                self._trailers_at = self._line_at
                self._fields_left = MOST_FIELDS
                return True
            self._line_at += size + len(_LINE_END)
            self._searched = self._line_at
            self._chunks += 1
            if self._chunks > MOST_CHUNKS:
                raise _EarlyError(ArrivalState.MALFORMED)
        return False

    def _read_trailers(self) -> bool:
        """Whether the end of the trailers has arrived."""
        while line := self._next_line(self._trailers_at, LONGEST_TRAILERS, ArrivalState.OVERSIZED):
            if line.start == line.stop:
                return True
            self._count_field()
        return False

    def _next_line(self, section: int, longest_section: int, too_long: ArrivalState) -> slice | None:
        """Return the place of the next line, without its end, and move on to the line after it.

        Return None if its end has not arrived. `section`: where the part of the request begins to which it
        belongs, such as the head. This part has a maximum length.

        Raises: _EarlyError: the line or the section is `too_long`, or the line ends with LF alone.
        """
        begin, line_feed = self._line_at, self.data.find(b"\n", self._searched)
        end = line_feed if line_feed >= 0 else len(self.data)
        if end - begin > LONGEST_LINE + 1 or end - section >= longest_section:
            raise _EarlyError(too_long)
        if line_feed < 0:
            self._searched = max(begin, end)
            return None
        if not self.data.endswith(b"\r", begin, end):
            raise _EarlyError(ArrivalState.MALFORMED)  # For the client the line is complete, for no parser.
        self._line_at = self._searched = end + 1
        return slice(begin, end - 1)

    def _remove(self, lines: Iterable[slice]) -> None:
        """Remove lines, in their order, with a single copy."""
        data, kept_to = bytearray(), 0
        with memoryview(self.data) as view:
            for line in lines:
                data += view[kept_to : line.start]
                kept_to = line.stop
            data += view[kept_to:]
        self.data = data

    def _note_request_line(self, line: bytes) -> None:
        if not _REQUEST_LINE.match(line):
            raise _EarlyError(ArrivalState.WHOLE)
        self._has_request_line = True
        self._is_current = line.endswith(b"HTTP/1.1")

    def _count_field(self) -> None:
        if not self._fields_left:
            raise _EarlyError(ArrivalState.OVERSIZED)
        self._fields_left -= 1

    def _note_field(self, line: slice) -> None:
        """Keep the value of a header on which the arrival, or the fairness between callers, depends."""
        colon = self.data.find(b":", line.start, line.stop)
        if colon < 0 or colon - line.start > _LONGEST_NOTED:
            return
        name = bytes(self.data[line.start : colon]).lower()
        if name not in _NOTED:
            return
        value = bytes(self.data[colon + 1 : line.stop])
        self._fields.setdefault(name, []).append(value)
        if name == _EXPECT and value.strip(b" \t").lower() == b"100-continue":
            self._expectations.append(slice(line.start, self._line_at))

    def _note_body(self) -> None:
        """Find out how the length of the body is given (RFC 9112 6.3)."""
        if self._is_current and _HOST not in self._fields:
            raise _EarlyError(ArrivalState.MALFORMED)  # RFC 9112 3.2; the parser accepts it.
        lengths = self._fields.get(_CONTENT_LENGTH, [])
        codings = self._fields.get(_TRANSFER_ENCODING, [])
        if len(lengths) + bool(codings) > 1:
            raise _EarlyError(ArrivalState.WHOLE)  # Ambiguous length: the parser refuses it.
        if codings:
            self._note_coding(codings[-1])
        else:
            self._note_length(lengths[0] if lengths else b"0")

    def _note_coding(self, codings: bytes) -> None:
        if codings.split(b",")[-1].strip(b" \t").lower() != b"chunked":
            raise _EarlyError(ArrivalState.WHOLE)  # Unknown length: the parser refuses it.

    def _note_length(self, value: bytes) -> None:
        digits = value.strip(b" \t")
        if not _LENGTH.fullmatch(digits):
            raise _EarlyError(ArrivalState.WHOLE)  # Refused by the parser, or as too large.
        self._end = self._body_at + int(digits)
        if self._end > LONGEST_REQUEST:
            raise _EarlyError(ArrivalState.WHOLE)  # Refused by its length, before the body is read.
