"""The console's site: who may enter, what is logged, what Django's admin offers and we do not."""

from collections.abc import Iterator
from functools import update_wrapper
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver

from opsapi.api.errors import ApiError
from opsapi.console.login import LoginForm, first_steps, is_closed, tell_status

# Each would write beside the services.
_LEFT_OUT = frozenset({"password_change", "password_change_done", "view_on_site"})


class ConsoleSite(AdminSite):
    """The console. Global Owners may enter (`User.is_staff`), once a project exists (`login`)."""

    site_title = site_header = "Ops"
    index_title = "Overview"
    site_url = None
    enable_nav_sidebar = False
    login_form = LoginForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Asked on every request, so that a session ends with the role."""
        return bool(request.user.is_active and request.user.is_staff)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Without the pages that write past the services."""
        return [url for url in super().get_urls() if getattr(url, "name", None) not in _LEFT_OUT]

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The login page; while the console is closed it shows the way to the first log-in."""
        steps = first_steps(request) if is_closed() else []
        response = super().login(request, {**(extra_context or {}), "first_steps": steps})
        _name_actor(request)
        tell_status(response)
        return response

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Every page but the login: checked, logged with its user, a service's refusal told as a message."""
        inner = super().admin_view(view, cacheable)

        def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            _refuse_nul(request, kwargs)
            _name_actor(request)
            try:
                response: HttpResponse = inner(request, *args, **kwargs)
            except ApiError as refusal:
                if request.method != "POST":
                    raise
                messages.error(request, refusal.document()["detail"])
                return redirect(request.get_full_path())
            return response

        return update_wrapper(page, inner)


def _name_actor(request: HttpRequest) -> None:
    if request.user.is_authenticated:
        request.actor_name = request.user.get_username()  # type: ignore[attr-defined]  # read by the request log


def _refuse_nul(request: HttpRequest, path: dict[str, Any]) -> None:
    """No text in PostgreSQL holds a NUL, so nothing has such an id or value."""
    if any("\0" in text for text in _texts(request, path)):
        raise Http404("a NUL character")


def _texts(request: HttpRequest, path: dict[str, Any]) -> Iterator[str]:
    yield from (value for value in path.values() if isinstance(value, str))
    for parameters in (request.GET, request.POST):
        for name, values in parameters.lists():
            yield name
            yield from (value for value in values if isinstance(value, str))
