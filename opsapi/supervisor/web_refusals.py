"""Error responses for requests that do not reach the application, in the format of all errors."""

import json
import secrets
from http import HTTPStatus

from gunicorn.http import errors

from opsapi.api.catalogue import ErrorCode
from opsapi.api.content_security import STRICT, header_line
from opsapi.api.errors import ApiError, BadField

_OF_PARSER = {
    errors.LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    errors.LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
    errors.UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
}
_HEAD = (
    "HTTP/1.1 {status} {reason}\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: {length}\r\n"
    "Strict-Transport-Security: max-age=300\r\n"
    "Content-Security-Policy: {policy}\r\n"
    "X-Request-ID: {request_id}\r\n"
    "\r\n"
)


def status_of(error: Exception) -> HTTPStatus:
    """Return the status for an error: 4xx if gunicorn's parser refused the request, otherwise 500."""
    theirs = isinstance(error, errors.ParseException)
    # The application tried to send these.
    if not theirs or isinstance(error, (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName)):
        return HTTPStatus.INTERNAL_SERVER_ERROR
    return _OF_PARSER.get(type(error), HTTPStatus.BAD_REQUEST)


def refusal(status: HTTPStatus) -> bytes:
    """Return the bytes of the response, which contain no part of the request."""
    request_id = secrets.token_hex(8)
    document = {**_error(status, request_id).document(), "error": status.value, "reason": status.phrase}
    body = json.dumps(document)
    head = _HEAD.format(
        status=status.value,
        reason=status.phrase,
        length=len(body),
        policy=header_line(STRICT),
        request_id=request_id,
    )
    return (head + body).encode()


def _error(status: HTTPStatus, request_id: str) -> ApiError:
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        return ApiError(ErrorCode.SERVICE_UNAVAILABLE, "too many requests are waiting")
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        return ApiError(ErrorCode.UNEXPECTED_ERROR, request_id)
    message = f"was refused before it was processed ({status.phrase})"
    return ApiError.of_fields([BadField("request", ErrorCode.INVALID_ATTRIBUTE, message)])
