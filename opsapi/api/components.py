"""The shared parts of the OpenAPI document, and the errors that an action can return.

The view's `refusals` declare the errors of its services and of `load`, a document's `refusals` the errors of
`check`. All others follow from access, path, parameters and fields.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rest_framework import serializers

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from opsapi.api.permissions import Access, Where
from opsapi.api.query import EVERYWHERE
from opsapi.api.views import ApiViewSet
from opsapi.wire_json import JsonObject

_SCHEMAS = "#/components/schemas/"
ERROR_SCHEMA = f"{_SCHEMAS}ErrorDocument"
_COMMON = ("X-Request-ID", "Strict-Transport-Security")
_SUCCESS = ("X-Vendor-Service-Version", *_COMMON)
_OF_REFUSALS = {401: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After",), 503: ("Retry-After",)}
_SOME_ID = "0123456789abcdef01234567"

HEADERS: JsonObject = {
    "X-Vendor-Service-Version": {
        "description": "The build that answers.",
        "schema": {"type": "string", "pattern": r"^gitHash=[0-9a-f]{40}; versionString=\S+$"},
    },
    "X-Request-ID": {
        "description": "The ID of this request in the log. You can send your own ID in this format.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$"},
    },
    "Strict-Transport-Security": {"schema": {"type": "string", "const": "max-age=300"}},
    "WWW-Authenticate": {
        "description": "The digest challenge. With `stale=true`, repeat the request with this nonce.",
        "schema": {"type": "string", "pattern": '^Digest realm="Ops Public API", '},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
    "Allow": {"description": "The allowed methods, separated by commas.", "schema": {"type": "string"}},
}

SECURITY = {
    "digest": {
        "type": "http",
        "scheme": "digest",
        "description": "HTTP Digest (RFC 7616 with MD5, qop auth). The username is the public key of "
        "an API key, the password is the private key. HTTP client libraries with digest support do the "
        "rest.",
    },
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "HTTP Basic (RFC 7617), for scrapers only: the username and password of the "
        "SCRAPER integration of the project, sent with the first request.",
    },
}
"""Authentication methods; views name the methods that they accept."""

_REFUSALS: dict[int, tuple[str, str, ApiError]] = {
    400: (
        "BadRequest",
        "The request is invalid. `badFields` lists every wrong field or query parameter.",
        ApiError.of_field("pageNum", ErrorCode.INVALID_QUERY_PARAMETER, "must be a whole number from 1"),
    ),
    401: ("Unauthorized", "Missing or invalid credentials.", ApiError(ErrorCode.UNAUTHORIZED)),
    403: (
        "Forbidden",
        "The caller has no permission.",
        ApiError(ErrorCode.USER_UNAUTHORIZED, "GROUP_READ_ONLY"),
    ),
    404: (
        "NotFound",
        "No resource has this name or ID, or the ID has the wrong format.",
        ApiError(ErrorCode.GROUP_NOT_FOUND, _SOME_ID),
    ),
    405: (
        "MethodNotAllowed",
        "The path does not support this method.",
        ApiError(ErrorCode.METHOD_NOT_ALLOWED, "PUT", "GET, HEAD"),
    ),
    409: (
        "Conflict",
        "The request conflicts with the stored state. Nothing was changed.",
        ApiError(ErrorCode.GROUP_ALREADY_EXISTS, "payments"),
    ),
    413: ("TooLarge", "The body is too large.", ApiError(ErrorCode.REQUEST_TOO_LARGE, str(2 * 1024 * 1024))),
    415: (
        "UnsupportedMediaType",
        "The body is not JSON, or has a content coding that the endpoint does not accept.",
        ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE),
    ),
    422: (
        "UnprocessableContent",
        "The Idempotency-Key was used for another body. Nothing was changed.",
        ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, "8e03978e-40d5-43dd-bc93-6894a57f9324"),
    ),
    429: (
        "TooManyRequests",
        "Too many requests. Retry-After says when to try again.",
        ApiError(ErrorCode.RATE_LIMITED, "42"),
    ),
    500: (
        "Unexpected",
        "Unexpected error. The log has the details.",
        ApiError(ErrorCode.UNEXPECTED_ERROR, "9f3c0a77"),
    ),
    503: (
        "Unavailable",
        "The service is temporarily unavailable.",
        ApiError(ErrorCode.SERVICE_UNAVAILABLE, "the database cannot be reached"),
    ),
}


def envelope_of(reference: str) -> tuple[str, JsonObject]:
    """Return the name and the schema of the document of `envelope=true` around the schema `reference`."""
    name = reference.removeprefix(_SCHEMAS).removesuffix("Document")
    schema = {
        "type": "object",
        "description": "The response with `envelope=true`.",
        "properties": {
            "status": {"type": "integer", "description": "The HTTP status."},
            "content": {"$ref": reference},
        },
        "required": ["status", "content"],
    }
    return f"{name}Envelope", schema


def alone_or_enveloped(reference: str) -> JsonObject:
    """Return the schema of a response: the document of the schema `reference`, or its envelope."""
    return {"oneOf": [{"$ref": reference}, {"$ref": f"{_SCHEMAS}{envelope_of(reference)[0]}"}]}


def success_headers() -> JsonObject:
    """Return references to the headers of successful responses."""
    return _headers(_SUCCESS)


def refusal_headers(status: int) -> JsonObject:
    """Return references to the headers of a refusal."""
    return _headers((*_COMMON, *_OF_REFUSALS.get(status, ())))


def refusal(status: int, codes: Sequence[ErrorCode]) -> dict[str, str]:
    """Return a reference to the shared refusal of this status, with the codes that are possible here."""
    return {"$ref": f"#/components/responses/{_REFUSALS[status][0]}", "description": ", ".join(codes)}


def responses() -> JsonObject:
    """Return the shared refusals, each with its headers and an example."""
    return {
        name: {
            "description": description,
            "headers": refusal_headers(status),
            "content": {
                "application/json": {
                    "schema": alone_or_enveloped(ERROR_SCHEMA),
                    "example": error.document(),
                },
            },
        }
        for status, (name, description, error) in _REFUSALS.items()
    }


def _headers(names: Iterable[str]) -> JsonObject:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_ALWAYS = (ErrorCode.UNEXPECTED_ERROR, ErrorCode.SERVICE_UNAVAILABLE)
_OF_CALLERS = (
    ErrorCode.INVALID_AUTHORIZATION_URI,
    ErrorCode.UNAUTHORIZED,
    ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST,
    ErrorCode.RATE_LIMITED,
)
_OF_ROLES = {
    Where.INSTALLATION: (ErrorCode.USER_UNAUTHORIZED,),
    Where.ORG: (ErrorCode.USER_UNAUTHORIZED, ErrorCode.INVALID_ORG_ID, ErrorCode.ORG_NOT_FOUND),
    Where.GROUP: (
        ErrorCode.USER_UNAUTHORIZED,
        ErrorCode.NOT_IN_GROUP,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_NOT_FOUND,
    ),
}
_OF_BODIES = (
    ErrorCode.INVALID_JSON,
    ErrorCode.MISSING_ATTRIBUTE,
    ErrorCode.INVALID_ATTRIBUTE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    ErrorCode.REQUEST_TOO_LARGE,
)


def refusals_of(
    view: ApiViewSet | type[ApiViewSet], action: str, path_parameters: Iterable[str]
) -> Mapping[int, list[ErrorCode]]:
    """Return HTTP status → codes, in the order of the catalogue. 405 belongs to paths, not to actions."""
    codes = {
        *_ALWAYS,
        *_of_access(view.access[action]),
        *_of_path(view.identifiers, path_parameters),
        *(parameter.code for parameter in (*EVERYWHERE, *view.parameters.get(action, ()))),
        *_of_body(view.bodies.get(action)),
        *view.refusals.get(action, ()),
    }
    if view.linked and action in view.answers:
        codes.add(ErrorCode.INVALID_ATTRIBUTE)  # A Host that is not allowed.
    by_status: dict[int, list[ErrorCode]] = {}
    for code in sorted(codes, key=list(ErrorCode).index):
        by_status.setdefault(code.status, []).append(code)
    return by_status


def _of_access(access: Access) -> Iterator[ErrorCode]:
    if access.where is not Where.NOWHERE:
        yield from _OF_CALLERS
    yield from _OF_ROLES.get(access.where, ())


def _of_path(identifiers: Mapping[str, ErrorCode], path_parameters: Iterable[str]) -> Iterator[ErrorCode]:
    """Return the codes for a malformed ID, and for a well-formed ID that does not exist."""
    for name in path_parameters:
        if name in identifiers:
            yield identifiers[name]
            subject = identifiers[name].removeprefix("INVALID_").removesuffix("_ID")
            yield ErrorCode[f"{subject}_NOT_FOUND"]


def _of_body(body: type[Document] | list[type[Document]] | None) -> Iterator[ErrorCode]:
    if body is not None:
        yield from _OF_BODIES
        yield from _of_field(body[0]() if isinstance(body, list) else body())


def _of_field(field: serializers.Field[Any, Any, Any, Any]) -> Iterator[ErrorCode]:
    if field.read_only:
        yield ErrorCode.ATTRIBUTE_READ_ONLY
        return
    codes = ("code", "range_code", *(["missing_code"] if field.required else []))
    named = (getattr(field, name, None) for name in codes)
    yield from (code for code in named if isinstance(code, ErrorCode))
    if isinstance(field, Document):
        yield from field.refusals
        for part in field.fields.values():
            yield from _of_field(part)
    elif isinstance(field, serializers.ListField):
        yield from _of_field(field.child)
