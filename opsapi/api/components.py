"""What the OpenAPI document says once and refers to: headers, refusals, how callers authenticate."""

from collections.abc import Iterable, Sequence
from typing import Any

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField

ERROR_SCHEMA = "#/components/schemas/ErrorDocument"
_COMMON = ("X-Request-ID", "Strict-Transport-Security")
_SUCCESS = ("X-Vendor-Service-Version", *_COMMON)
_OF_REFUSALS = {401: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After",), 503: ("Retry-After",)}
_SOME_ID = "0123456789abcdef01234567"

HEADERS: dict[str, Any] = {
    "X-Vendor-Service-Version": {
        "description": "Which build answers.",
        "schema": {"type": "string", "pattern": r"^gitHash=[0-9a-f]{40}; versionString=\S+$"},
    },
    "X-Request-ID": {
        "description": "Names this request in the log: the caller's own, when it has this form.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$"},
    },
    "Strict-Transport-Security": {"schema": {"type": "string", "const": "max-age=300"}},
    "WWW-Authenticate": {
        "description": "The digest challenge; `stale=true` asks for the same request with this nonce.",
        "schema": {"type": "string", "pattern": '^Digest realm="Ops Public API", '},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "Allow": {"description": "The methods there are, by comma.", "schema": {"type": "string"}},
}

SECURITY = {
    "digest": {
        "type": "http",
        "scheme": "digest",
        "description": "HTTP Digest (RFC 7616 with MD5, qop auth): the user name is the public key of an API "
        "key, the password its private key. Every client library that knows digest does it unasked.",
    },
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "HTTP Basic (RFC 7617), for scrapers alone: user name and password of the project's "
        "SCRAPER integration, sent unasked.",
    },
}
"""How callers authenticate; views name what they take."""

_REFUSALS: dict[int, tuple[str, str, ApiError]] = {
    400: (
        "BadRequest",
        "Something in the request is wrong; `badFields` names every wrong field or query parameter.",
        ApiError.of_fields(
            [BadField("pageNum", ErrorCode.INVALID_QUERY_PARAMETER, "must be a whole number from 1")]
        ),
    ),
    401: ("Unauthorized", "No, or no valid, credentials.", ApiError(ErrorCode.UNAUTHORIZED)),
    403: ("Forbidden", "The caller may not.", ApiError(ErrorCode.USER_UNAUTHORIZED, "GROUP_READ_ONLY")),
    404: (
        "NotFound",
        "Nothing has this name or id, or it has not the form of one.",
        ApiError(ErrorCode.GROUP_NOT_FOUND, _SOME_ID),
    ),
    405: (
        "MethodNotAllowed",
        "The path exists and has no such method: any path answers so.",
        ApiError(ErrorCode.METHOD_NOT_ALLOWED, "PUT", "GET, HEAD"),
    ),
    409: (
        "Conflict",
        "What is stored does not allow it; nothing was changed.",
        ApiError(ErrorCode.GROUP_ALREADY_EXISTS, "payments"),
    ),
    413: ("TooLarge", "The body is too large.", ApiError(ErrorCode.REQUEST_TOO_LARGE, str(2 * 1024 * 1024))),
    415: (
        "UnsupportedMediaType",
        "The body is not sent as JSON.",
        ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE),
    ),
    422: (
        "UnprocessableContent",
        "The Idempotency-Key belongs to another body; nothing was changed.",
        ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, "8e03978e-40d5-43dd-bc93-6894a57f9324"),
    ),
    429: (
        "TooManyRequests",
        "Too many requests: Retry-After says when to try again.",
        ApiError(ErrorCode.RATE_LIMITED, "42"),
    ),
    500: ("Unexpected", "Our fault; the log has more.", ApiError(ErrorCode.UNEXPECTED_ERROR, "9f3c0a77")),
    503: (
        "Unavailable",
        "Not right now.",
        ApiError(ErrorCode.SERVICE_UNAVAILABLE, "the database cannot be reached"),
    ),
}


def success_headers() -> dict[str, Any]:
    """The headers of every success, by reference."""
    return _headers(_SUCCESS)


def refusal_headers(status: int) -> dict[str, Any]:
    """The headers of a refusal, by reference."""
    return _headers((*_COMMON, *_OF_REFUSALS.get(status, ())))


def refusal(status: int, codes: Sequence[ErrorCode]) -> dict[str, str]:
    """A reference to the shared refusal of this status, told which codes it can have here."""
    return {"$ref": f"#/components/responses/{_REFUSALS[status][0]}", "description": ", ".join(codes)}


def responses() -> dict[str, Any]:
    """The shared refusals, each with its headers and an example."""
    return {
        name: {
            "description": description,
            "headers": refusal_headers(status),
            "content": {
                "application/json": {"schema": {"$ref": ERROR_SCHEMA}, "example": error.document()},
            },
        }
        for status, (name, description, error) in _REFUSALS.items()
    }


def _headers(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
