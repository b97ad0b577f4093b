"""Error responses, in DRF views and outside of them: every exception becomes an error document here."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.response import Response

from opsapi.api.bodies import render
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, unavailable
from opsapi.logs import first_line
from opsapi.postgresql.faults import database_fault

logger = logging.getLogger("opsapi.errors")

Page = Callable[[HttpRequest], HttpResponseBase]

_READING = ("GET", "HEAD")
_UNAUTHORIZED_CONTENT_TYPE = "application/json;charset=ISO-8859-1"


def as_api_error(error: Exception, request: HttpRequest) -> ApiError:
    """Return the error for any exception. The trace of an unexpected exception is only in the log."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Http404):
        return ApiError(ErrorCode.RESOURCE_NOT_FOUND, request.path)
    if isinstance(error, SuspiciousOperation):
        message = f"must have at most {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS} parameters"
        return ApiError.of_field("query", ErrorCode.INVALID_QUERY_PARAMETER, message)
    if failure := database_fault(error):
        logger.error("the database failed: %s", first_line(error))
        return unavailable(failure.sentence)
    request_id = getattr(request, "request_id", "-")
    logger.error("unexpected error", exc_info=error, extra={"request_id": request_id})
    return ApiError(ErrorCode.UNEXPECTED_ERROR, request_id)


def answer_error(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: return the error document with its status and headers."""
    refusal = as_api_error(error, context["request"]._request)
    headers = {**getattr(context["view"], "error_headers", {}), **refusal.headers}
    content_type = _UNAUTHORIZED_CONTENT_TYPE if refusal.status == 401 else None
    return Response(refusal.document(), refusal.status, headers=headers, content_type=content_type)


def plain_answer(refusal: ApiError) -> HttpResponse:
    """Return the error document outside of DRF views."""
    return HttpResponse(
        render(refusal.document()),
        status=refusal.status,
        headers=refusal.headers,
        content_type="application/json",
    )


def bad_request(
    request: HttpRequest,  # noqa: ARG001 - Django passes both
    exception: Exception | None = None,
) -> HttpResponse:
    """Django's handler for 400: a Host header that is not allowed, a form that is too large."""
    field, message = "request", "was refused before it was processed"
    if isinstance(exception, DisallowedHost):
        field, message = "Host", "is not an allowed host of this installation (OPSAPI_ALLOWED_HOSTS)"
    return plain_answer(ApiError.of_field(field, ErrorCode.INVALID_ATTRIBUTE, message))


def not_found(
    request: HttpRequest,
    exception: Exception | None = None,  # noqa: ARG001 - Django passes it
) -> HttpResponse:
    """Django's handler for 404: a path without a route."""
    return plain_answer(ApiError(ErrorCode.RESOURCE_NOT_FOUND, request.path))


def only_read(page: Page) -> Page:
    """Allow GET and HEAD only. The page needs no CSRF protection, because it changes nothing."""

    @wraps(page)
    def answer(request: HttpRequest) -> HttpResponseBase:
        if request.method in _READING:
            return page(request)
        allowed = ", ".join(_READING)
        code = ErrorCode.METHOD_NOT_ALLOWED
        return plain_answer(ApiError(code, request.method or "", allowed, headers={"Allow": allowed}))

    return csrf_exempt(answer)
