"""Reading a request's body, strictly (decisions 1 "bodies"; findings "Parsing").

The standard parser reads, because it can be made to see what others let pass: duplicate keys,
NaN and Infinity, numbers that overflow. NUL characters and lone surrogates, which PostgreSQL
cannot store, and documents nested too deeply are refused as well.
"""

import json
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.http import HttpRequest
from rest_framework.parsers import BaseParser

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError

MAX_DEPTH = 64
_SURROGATES = range(0xD800, 0xE000)


class StrictJSONParser(BaseParser):
    """What DRF and the schema know of our bodies: they are JSON."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """See `read_json_object`."""
        return read_json_object(stream.read())


def check_media_type(request: HttpRequest) -> None:
    """A body is `application/json`, in UTF-8 when a charset is named.

    Raises:
        ApiError: UNSUPPORTED_MEDIA_TYPE.
    """
    charset = (request.content_params or {}).get("charset", "utf-8").lower()
    if request.content_type != "application/json" or charset not in {"utf-8", "utf8"}:
        raise ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE)


def read_body(request: HttpRequest, limit: int) -> bytes:
    """The body, at most `limit` bytes of it; a chunked one too, whose length nobody has named.

    Raises:
        ApiError: REQUEST_TOO_LARGE, before anything is parsed; INVALID_JSON for one that breaks off.
    """
    environ = request.META
    chunked = not environ.get("CONTENT_LENGTH") and environ.get("wsgi.input_terminated")
    if int(environ.get("CONTENT_LENGTH") or 0) > limit:
        raise ApiError(ErrorCode.REQUEST_TOO_LARGE, str(limit))
    try:
        body: bytes = environ["wsgi.input"].read(limit + 1) if chunked else request.read()
    except OSError:
        raise ApiError(ErrorCode.INVALID_JSON, "the body did not arrive whole") from None
    if len(body) > limit:
        raise ApiError(ErrorCode.REQUEST_TOO_LARGE, str(limit))
    return body


def read_json_object(body: bytes) -> dict[str, Any]:
    """The JSON object in the body.

    Raises:
        ApiError: INVALID_JSON, with what is wrong.
    """
    document = _read_json(body)
    if not isinstance(document, dict):
        raise ApiError(ErrorCode.INVALID_JSON, "it is JSON, but not an object")
    return document


def read_json_array(body: bytes) -> list[Any]:
    """The JSON array in the body, for the few routes that take several documents at once.

    Raises:
        ApiError: INVALID_JSON, with what is wrong.
    """
    documents = _read_json(body)
    if not isinstance(documents, list):
        raise ApiError(ErrorCode.INVALID_JSON, "it is JSON, but not an array")
    return documents


def _read_json(body: bytes) -> Any:
    try:
        document = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
        _check_values(document)
    except UnicodeDecodeError:
        raise ApiError(ErrorCode.INVALID_JSON, "it is not UTF-8") from None
    except RecursionError:
        raise ApiError(ErrorCode.INVALID_JSON, f"it is nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:
        raise ApiError(ErrorCode.INVALID_JSON, str(error)) from None
    return document


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:50]!r} stands there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:50]} is too large")
    return number


def _check_values(document: Any) -> None:
    """Walk the document without recursion: depth, NUL characters, lone surrogates."""
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.keys())
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, str):
                _check_text(value)
        level = below


def _check_text(text: str) -> None:
    if text.isascii():
        if "\0" in text:
            raise ValueError("a text holds a NUL character")
    elif "\0" in text or any(ord(character) in _SURROGATES for character in text):
        raise ValueError("a text holds a NUL character or a lone surrogate")
