"""The one place where an exception becomes an answer, inside DRF and outside of it."""

import logging
import sys
from typing import Any, TypeGuard

from django.core.exceptions import DisallowedHost, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.response import Response

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, unavailable
from opsapi.api.renderers import render
from opsapi.faults import first_line
from opsapi.postgresql.faults import database_fault

logger = logging.getLogger("opsapi.errors")

_UNAUTHORIZED_CONTENT_TYPE = "application/json;charset=ISO-8859-1"


def as_api_error(error: Exception, request: HttpRequest) -> ApiError:
    """Turn any exception into a refusal; the trace of an unexpected error is only in the log."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Http404):
        return ApiError(ErrorCode.RESOURCE_NOT_FOUND, request.path)
    if isinstance(error, SuspiciousOperation):
        fault = BadField("query", ErrorCode.INVALID_QUERY_PARAMETER, "has too many parameters")
        return ApiError.of_fields([fault])
    if failure := database_fault(error):
        logger.error("the database failed: %s", first_line(error))
        return unavailable(failure.sentence)
    request_id = getattr(request, "request_id", "-")
    logger.error("unexpected error", exc_info=error, extra={"request_id": request_id})
    return ApiError(ErrorCode.UNEXPECTED_ERROR, request_id)


def is_unavailable(error: BaseException | None) -> TypeGuard[Exception]:
    """Whether the database cannot be used right now: the same request may succeed later."""
    return database_fault(error) is not None


def answer_error(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: the error document with its status and headers."""
    refusal = as_api_error(error, context["request"]._request)
    headers = {**getattr(context["view"], "error_headers", {}), **refusal.headers}
    content_type = _UNAUTHORIZED_CONTENT_TYPE if refusal.status == 401 else None
    return Response(refusal.document(), refusal.status, headers=headers, content_type=content_type)


def plain_answer(refusal: ApiError) -> HttpResponse:
    """The same answer where no DRF view is involved."""
    return HttpResponse(
        render(refusal.document()),
        status=refusal.status,
        headers=refusal.headers,
        content_type="application/json",
    )


def bad_request(
    request: HttpRequest,  # noqa: ARG001 - Django hands both over
    exception: Exception | None = None,
) -> HttpResponse:
    """Django's 400: a Host header that is no host of ours, a form too large, and their like."""
    field, message = "request", "was refused before it was processed"
    if isinstance(exception, DisallowedHost):
        field, message = "Host", "is not an allowed host of this installation (OPSAPI_ALLOWED_HOSTS)"
    fault = BadField(field, ErrorCode.INVALID_ATTRIBUTE, message)
    return plain_answer(ApiError.of_fields([fault]))


def not_found(
    request: HttpRequest,
    exception: Exception | None = None,  # noqa: ARG001 - Django hands it over
) -> HttpResponse:
    """Django's 404 for paths that no route knows."""
    return plain_answer(ApiError(ErrorCode.RESOURCE_NOT_FOUND, request.path))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's 500; 503 where a middleware, such as that of sessions, found the database away.

    Django calls this while it handles the exception, whose trace it logs unless it was logged already.
    """
    error = sys.exc_info()[1]
    if is_unavailable(error):
        answer = plain_answer(as_api_error(error, request))
        answer._has_been_logged = True  # type: ignore[attr-defined]  # how Django knows
        return answer
    return plain_answer(ApiError(ErrorCode.UNEXPECTED_ERROR, getattr(request, "request_id", "-")))
