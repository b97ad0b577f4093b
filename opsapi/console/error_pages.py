"""The error pages of the console (400, 403, 404, 500 and 503), each with links to other pages.

Paths outside the console keep the error documents of `opsapi.api.handler`. Logged-in users see the error in
the console's frame. Other visitors, and all users if the platform fails, see a page that needs neither the
database nor a session.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from django.contrib import admin
from django.core.exceptions import DisallowedHost, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views import defaults

from opsapi.api import handler
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.actions import operator_of
from opsapi.console.theme import UNFOLD
from opsapi.page_paths import CONSOLE_PATH
from opsapi.roles import ROLE_WORDS, Role, Scope


class RoleNeededError(PermissionDenied):
    """The operator lacks a role for a page: one of `roles`, in `scope` if a single scope is known."""

    def __init__(self, roles: Sequence[Role], scope: Scope | None = None) -> None:
        super().__init__(" or ".join(roles))
        self.roles, self.scope = roles, scope


class MissingError(Http404):
    """The page does not exist; `links` lead to related pages."""

    def __init__(self, text: str, *links: tuple[str, str]) -> None:
        super().__init__(text)
        self.text, self.links = text, links


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """An error page: what happened, what to do, and where to go (`links`: URL and label)."""

    status: int
    title: str
    text: str
    advice: str = ""
    links: Sequence[tuple[str, str]] = ()
    headers: dict[str, str] = field(default_factory=dict)


_UNREADABLE = ErrorPage(
    status=400,
    title="This request can't be read",
    text="The address or the form has a value that the console doesn't know, or your session has ended.",
    advice="Follow the links of the console instead of a saved or edited address.",
)
_UNKNOWN_HOST = ErrorPage(
    status=400,
    title="Unknown host name",
    text="The console isn't served under this host name.",
    advice="An administrator of the server can allow the name with OPSAPI_ALLOWED_HOSTS.",
)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400: unknown parameters, an ended session, or a Host header that is not allowed."""
    if not _is_console(request):
        return handler.bad_request(request, exception)
    return _answer(request, _UNKNOWN_HOST if isinstance(exception, DisallowedHost) else _UNREADABLE)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the required role and its scope, as far as known."""
    if not _is_console(request):
        return defaults.permission_denied(request, exception)
    needed = exception if isinstance(exception, RoleNeededError) else None
    page = ErrorPage(
        status=403,
        title="You don't have access to this",
        text=_needed(request, needed) if needed else "Your roles don't allow this.",
        advice=_advice(needed),
        links=[(reverse("account"), "Your account")],
    )
    return _answer(request, page)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - Django hands it over
    """403: a form from another site, or from before a log-in."""
    page = ErrorPage(
        status=403,
        title="This form can't be sent",
        text="Nothing was changed. The form is from before your last log-in, or from another site.",
        advice="Go back, reload the page and send the form again. Your browser has to accept cookies.",
    )
    return _answer(request, page)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: the missing page, and related pages."""
    if not _is_console(request):
        return handler.not_found(request, exception)
    missing = exception if isinstance(exception, MissingError) else None
    page = ErrorPage(
        status=404,
        title="Page not found",
        text=missing.text if missing else "The console has no page at this address.",
        advice="It may have been deleted, or your roles may not let you see it." if missing else "",
        links=missing.links if missing else (),
    )
    return _answer(request, page)


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to an exception of a middleware, or of a view that is not DRF's.

    500 with the request ID of the log, in which an unexpected error is; 503 if the database failed.
    """
    return answer_of(request, handler.as_api_error(cast(Exception, sys.exception()), request))


def answer_of(request: HttpRequest, error: ApiError) -> HttpResponse:
    """The answer for an error: a page in the console, an error document elsewhere."""
    if not _is_console(request):
        return handler.plain_answer(error)
    if error.status >= 500:
        return _answer(request, _failed(request, error))
    titles = {403: "You don't have access to this", 404: "Page not found"}
    title = titles.get(error.status, "This can't be done")
    advice = _advice(RoleNeededError(error.roles)) if error.code is ErrorCode.USER_UNAUTHORIZED else ""
    text = error.document()["detail"]
    page = ErrorPage(status=error.status, title=title, text=text, advice=advice, headers=error.headers)
    return _answer(request, page)


def _failed(request: HttpRequest, error: ApiError) -> ErrorPage:
    again = [(request.get_full_path(), "Try again")] if request.method in {"GET", "HEAD"} else []
    request_id = getattr(request, "request_id", "-")
    if error.code is ErrorCode.SERVICE_UNAVAILABLE:
        title, text = "The console is unavailable", error.document()["detail"]
    else:
        title, text = (
            "Something went wrong",
            ("The console failed to answer. This is an error of the platform."),
        )
    return ErrorPage(
        status=error.status,
        title=title,
        text=text,
        advice=f"Try again in a moment. If it happens again, give the request ID {request_id} to an "
        "administrator of the server, who can look up the cause in the log.",
        links=again,
        headers=error.headers,
    )


def _needed(request: HttpRequest, error: RoleNeededError) -> str:
    return f"You need the role {_names(*error.roles)}, or a role that includes it, {_place(request, error)}."


def _advice(error: RoleNeededError | None) -> str:
    return f"Ask {_giver(error)} for the role. Your account lists the roles you have."


def _giver(error: RoleNeededError | None) -> str:
    """Who can give the required role."""
    if error is None or not error.roles:
        return "an owner"
    if (error.scope and error.scope.group_id) or all(role.is_group for role in error.roles):
        return f"a user with the role {_names(Role.GROUP_OWNER)}"
    if all(role.is_global for role in error.roles):
        return f"a user with the role {_names(Role.GLOBAL_OWNER)}, who runs this installation,"
    return f"a user with the role {_names(Role.ORG_OWNER)}"


def _names(*roles: Role) -> str:
    """The roles as pages write them: `Reader (GROUP_READ_ONLY) or Operator (GROUP_MONITORING_ADMIN)`."""
    return " or ".join(f"{ROLE_WORDS[role].name} ({role})" for role in roles)


def _place(request: HttpRequest, error: RoleNeededError) -> str:
    """The scope of the required role, in words."""
    if error.scope and error.scope.group_id:
        groups = operator_of(request).groups(ids=[error.scope.group_id])
        return f"in the project {groups[0].name}" if groups else "in this project"
    if error.scope and error.scope.org_id:
        return "in this organization"
    if all(role.is_global for role in error.roles):
        return "in the whole installation"
    return "in a project" if all(role.is_group for role in error.roles) else "in an organization"


def _is_console(request: HttpRequest) -> bool:
    return request.path_info.startswith(CONSOLE_PATH)


def _has_frame(request: HttpRequest) -> bool:
    """Whether the page can show the navigation: for logged-in users under an allowed host name."""
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return hasattr(request, "user") and admin.site.has_permission(request)


def _answer(request: HttpRequest, page: ErrorPage) -> HttpResponse:
    links = [*page.links, (reverse("admin:index"), "Go to the start page")]
    context = {"page": page, "links": links, "title": page.title}
    if page.status < 500 and _has_frame(request):
        page_context = {**admin.site.each_context(request), **context}
        text = render_to_string("console/error.html", page_context, request=request)
    else:
        # Without the request, because its context processors would read the session.
        text = render_to_string("console/error_alone.html", {**context, "site_title": UNFOLD["SITE_TITLE"]})
    headers = {**page.headers, "Cache-Control": "no-store"}
    return HttpResponse(text, status=page.status, headers=headers)
