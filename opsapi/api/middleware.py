"""Middleware of all requests: ID, log line, metrics, common headers, and repetition after database faults."""

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from opsapi.api.addresses import client_address, forwarded_value
from opsapi.api.handler import as_api_error
from opsapi.api.links import AGENTS, API_BASES, DISCOVERY, PUBLIC
from opsapi.console.error_pages import answer_of
from opsapi.metric_series import counter
from opsapi.postgresql.base import this_connection
from opsapi.postgresql.faults import database_fault

logger = logging.getLogger("opsapi.requests")

Handler = Callable[[HttpRequest], HttpResponse]
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_HSTS = "max-age=300"
# Responses below these paths are for a single caller, can contain new private keys, and change at any time.
_NEVER_STORED = (PUBLIC, DISCOVERY, AGENTS, "/health/", "/metrics")
_COUNTED_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUESTS = counter(
    "opsapi_http_requests",
    "Requests that reached the application, by method and status class.",
    "method",
    "status",
)


def request_log(get_response: Handler) -> Handler:
    """Give each request an ID, and write its log line: ID, actor, method, path, status, milliseconds."""

    def handle(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request.request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)  # type: ignore[attr-defined]  # Django's request is open for such attributes
        started = time.perf_counter()
        response = get_response(request)
        response["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]  # set above
        logger.info(
            "%s %s %s",
            request.method,
            request.path,
            response.status_code,
            extra={
                "request_id": request.request_id,  # type: ignore[attr-defined]  # set above
                "actor": getattr(request, "actor_name", None) or "-",
                "address": str(client_address(request) or "-"),
                "ms": round((time.perf_counter() - started) * 1000, 1),
            },
        )
        return response

    return handle


def request_count(get_response: Handler) -> Handler:
    """Count requests. Unknown methods share a series, so that callers cannot create series."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        method = request.method if request.method in _COUNTED_METHODS else "other"
        _REQUESTS.labels(method, f"{response.status_code // 100}xx").inc()
        return response

    return handle


def client_scheme(get_response: Handler) -> Handler:
    """Take the request's scheme from a trusted proxy, and let cookies that leave by TLS return by TLS only.

    If a proxy ends TLS, links, the CSRF check and cookies use the scheme of the client's request.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        forwarded = forwarded_value(request, "X-Forwarded-Proto").lower()
        if forwarded in {"http", "https"}:
            request.META["wsgi.url_scheme"] = forwarded
        response = get_response(request)
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response

    return handle


def response_headers(get_response: Handler) -> Handler:
    """Set the headers of every response and its length. Remove the body of responses to HEAD."""
    version = f"gitHash={settings.OPSAPI_BUILD}; versionString={settings.OPSAPI_VERSION}"

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Strict-Transport-Security"] = _HSTS
        if response.status_code < 400:
            response["X-Vendor-Service-Version"] = version
        if request.path_info.startswith(_NEVER_STORED):
            response.headers.setdefault("Cache-Control", "no-store")
        if not response.streaming and response.status_code not in {204, 304}:
            response["Content-Length"] = str(len(response.content))
            if request.method == "HEAD":
                response.content = b""
        return response

    return handle


def trailing_slash(get_response: Handler) -> Handler:
    """Accept every API path with and without a trailing slash, without a redirect.

    A slash that was sent as %2F belongs to the name at the end of the path.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        path, sent = request.path_info, str(request.META.get("RAW_URI", request.path_info))
        if path.endswith("/") and path.startswith(API_BASES) and sent.partition("?")[0].endswith("/"):
            request.path_info = path[:-1]
        return get_response(request)

    return handle


class TransientFaults:
    """Repeats a request that met a transient database fault before it wrote; answers 503 without a database.

    Transient faults: a dead connection, a deadlock, a revocation between authentication and write. The
    platform repeats the request, because a client cannot know whether anything was written.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, and repeat it as often as its fault allows. The request keeps its body."""
        database, repeated = this_connection(), 0
        while True:
            database.forget()
            response = self.get_response(request)
            if database.wrote or repeated >= database.repeats:
                return response
            repeated += 1
            logger.info(
                "a transient database fault occurred before anything was written: the request is repeated"
            )

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer database faults outside of the API's own views; other exceptions take their usual way."""
        if database_fault(exception):
            return answer_of(request, as_api_error(exception, request))
        return None
