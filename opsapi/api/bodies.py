"""Request bodies, read strictly, and documents as JSON: compact or pretty, with or without an envelope."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, rate_limited
from opsapi.wire_json import JsonObject, read_json, write_json

_MIB = 1024 * 1024
LARGE_BODY = _MIB
"""Bodies with more bytes are large: parsed, they take many times their size."""
_BUSY_RETRY_SECONDS = 1
_KEPT = "kept_body"
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_ONLY = 16 + zlib.MAX_WBITS
_PIECE = 64 * 1024
_MOST_MEMBERS = 16
"""The maximum number of gzip members (RFC 1952 2.2). Some programs write several members. Each member takes
time, whatever its size."""


class LargeBodies:
    """Limits the large bodies that this process reads at the same time to OPSAPI_MAX_BODIES_MB.

    A project gets half of it, so other projects have room. A larger body of a project counts as half.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._bytes: Counter[str] = Counter()

    @contextmanager
    def taking(self, size: int, *, group_id: str = "") -> Iterator[None]:
        """Run the block with a body of `size` bytes, which is of a project unless `group_id` is empty.

        Raises: ApiError: RATE_LIMITED with Retry-After, if the other large bodies leave no room.
        """
        if size <= LARGE_BODY:
            yield
            return
        size = self._take(size, group_id)
        try:
            yield
        finally:
            with self._lock:
                self._bytes -= Counter({group_id: size})

    def _take(self, size: int, group_id: str) -> int:
        """Return the room that the body takes."""
        most = settings.OPSAPI_MAX_BODIES_MB
        half = most * _MIB // 2
        size = min(size, half) if group_id else size
        with self._lock:
            held, own = self._bytes.total(), self._bytes[group_id]
            is_much = bool(group_id) and own + size > half
            if is_much or (held and held + size > most * _MIB):
                of_project = f"{most // 2} MB of large bodies of a project"
                words = of_project if is_much else f"{most} MB of large bodies"
                raise rate_limited(
                    _BUSY_RETRY_SECONDS,
                    note=f"At most {words} are processed at the same time. "
                    "The setting is OPSAPI_MAX_BODIES_MB.",
                )
            self._bytes[group_id] += size
        return size


LARGE_BODIES = LargeBodies()
"""The large bodies of this process."""


class StrictJSONParser(BaseParser):
    """The parser of bodies, for DRF and the OpenAPI document."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> JsonObject:
        return read_json_object(stream.read())


def is_compressed(request: HttpRequest, *, may_be: bool) -> bool:
    """Whether the body is compressed with gzip. `may_be`: whether the endpoint accepts this.

    Raises: ApiError: UNSUPPORTED_MEDIA_TYPE for another coding, with the accepted codings (RFC 9110 15.5.16).
    """
    codings = [name.strip().lower() for name in request.headers.get("Content-Encoding", "").split(",")]
    applied = [name for name in codings if name not in {"", "identity"}]
    if not applied:
        return False
    if may_be and len(applied) == 1 and applied[0] in _GZIP:
        return True
    accepted = "gzip, identity" if may_be else "identity"
    note = f"Its Content-Encoding must be {'gzip, or left out' if may_be else 'left out'}."
    raise ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE, headers={"Accept-Encoding": accepted}, note=note)


def gunzip(body: bytes, limit: int) -> bytes:
    """Return the decompressed body of at most `limit` bytes. The caller holds its share of LARGE_BODIES.

    Raises: ApiError: REQUEST_TOO_LARGE; INVALID_JSON, if the body is not one complete gzip stream.
    """
    return b"".join(_gunzipped(body, limit))


def gunzipped_size(body: bytes, limit: int) -> int:
    """Return the size of the decompressed body without holding it in memory. Raises ApiError: as `gunzip`."""
    return sum(map(len, _gunzipped(body, limit)))


def _gunzipped(body: bytes, limit: int) -> Iterator[bytes]:
    left, size = memoryview(body), 0
    for _ in range(_MOST_MEMBERS):
        member: Any = zlib.decompressobj(wbits=_GZIP_ONLY)
        while left and not member.eof:
            given, left = left[:_PIECE], left[_PIECE:]
            piece = _inflated(member, given)
            while piece:
                size += len(piece)
                if size > limit:
                    note = "The limit applies to the decompressed body."
                    raise ApiError(ErrorCode.REQUEST_TOO_LARGE, str(limit), note=note)
                yield piece
                # A full piece can leave output that needs no more input.
                is_more = len(piece) == _PIECE or member.unconsumed_tail
                piece = _inflated(member, member.unconsumed_tail) if is_more else b""
            if member.eof:
                left = memoryview(body)[len(body) - len(left) - len(member.unused_data) :]
        if not member.eof:
            raise ApiError(ErrorCode.INVALID_JSON, "the gzip data is incomplete")
        if not left:
            return
    raise ApiError(ErrorCode.INVALID_JSON, f"it has more than {_MOST_MEMBERS} gzip members")


def _inflated(member: Any, piece: bytes | memoryview) -> bytes:
    try:
        return bytes(member.decompress(piece, _PIECE))
    except zlib.error:
        reason = "Content-Encoding is gzip, but a part of the body is not gzip data"
        raise ApiError(ErrorCode.INVALID_JSON, reason) from None


def check_media_type(request: HttpRequest) -> None:
    """Require `application/json`, in UTF-8 if a charset is named. Raises ApiError: UNSUPPORTED_MEDIA_TYPE."""
    charset = (request.content_params or {}).get("charset", "utf-8").lower()
    if request.content_type != "application/json" or charset not in {"utf-8", "utf8"}:
        raise ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE)


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Return the body of at most `limit` bytes, also of a chunked request.

    The request keeps the body, because it may be repeated (`opsapi.api.middleware.TransientFaults`).

    Raises: ApiError: REQUEST_TOO_LARGE, before anything is parsed; INVALID_JSON for an incomplete body.
    """
    if (kept := getattr(request, _KEPT, None)) is not None:
        return bytes(kept)
    environ = request.META
    chunked = not environ.get("CONTENT_LENGTH") and environ.get("wsgi.input_terminated")
    if int(environ.get("CONTENT_LENGTH") or 0) > limit:
        raise ApiError(ErrorCode.REQUEST_TOO_LARGE, str(limit))
    try:
        body: bytes = environ["wsgi.input"].read(limit + 1) if chunked else request.read()
    except OSError:
        raise ApiError(ErrorCode.INVALID_JSON, "the body is incomplete") from None
    if len(body) > limit:
        raise ApiError(ErrorCode.REQUEST_TOO_LARGE, str(limit))
    setattr(request, _KEPT, body)
    return body


def read_json_object(body: bytes) -> JsonObject:
    """Return the JSON object in the body. Raises ApiError: INVALID_JSON with the fault."""
    document = _read_json(body)
    if not isinstance(document, dict):
        raise ApiError(ErrorCode.INVALID_JSON, "it must be a JSON object")
    return document


def read_json_array(body: bytes) -> list[Any]:
    """Return the JSON array in the body, for routes that accept several documents.

    Raises: ApiError: INVALID_JSON with the fault.
    """
    documents = _read_json(body)
    if not isinstance(documents, list):
        raise ApiError(ErrorCode.INVALID_JSON, "it must be a JSON array")
    return documents


def _read_json(body: bytes) -> Any:
    try:
        return read_json(body)
    except ValueError as error:
        raise ApiError(ErrorCode.INVALID_JSON, str(error)) from None


def render(document: object, *, pretty: bool = False) -> bytes:
    """Return the document as UTF-8 JSON."""
    return write_json(document, pretty=pretty)


def enveloped(document: Any, status: int, *, lists: bool) -> JsonObject:
    """Return the document with its `status`, for clients that cannot read the status of a response.

    A list gets `status` next to its results; any other document becomes `content`. `lists`: the action
    answers with a list.
    """
    if lists and "results" in document:
        return {"status": status, **document}
    return {"status": status, "content": document}


class DocumentRenderer(BaseRenderer):
    """The only renderer. The view puts `pretty` into the context of the response."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the bytes of the document; a response without a document has no body."""
        if data is None:
            return b""
        return self.write(data, pretty=bool(renderer_context and renderer_context.get("pretty")))

    @staticmethod
    def write(document: Any, *, pretty: bool) -> bytes:
        return render(document, pretty=pretty)


class OneRepresentation(BaseContentNegotiation):
    """Always the same representation, for any Accept header: every client must be able to read errors."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
