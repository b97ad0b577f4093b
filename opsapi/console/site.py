"""The console site: its start page, its log-in, and which parts of the admin of Django are left out."""

import hashlib
from collections.abc import Iterator
from functools import update_wrapper
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, URLResolver, path
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe
from unfold.sites import UnfoldAdminSite

from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import operator_of
from opsapi.console.changelist import Autocomplete
from opsapi.console.display import EMPTY, Context
from opsapi.console.error_pages import MissingError, answer_of
from opsapi.console.login import CodePage, PasswordPage, first_login_context, set_refusal_status
from opsapi.console.login_policy import login_policy
from opsapi.console.model_admin import live_context
from opsapi.console.navigation import EntryLink, Navigation, help_url
from opsapi.console.palette import palette
from opsapi.console.project_choice import chosen_project, remember_project
from opsapi.console.sitemap import HOME
from opsapi.console.widgets import Chart, Notice, Panel, TileMap, checklists, overview, project_notices


def overview_context(request: HttpRequest) -> Context:
    """Return the context of the template: the widgets for this operator, and the time."""
    now, operator = clock.now(), operator_of(request)
    visible_scope, project = operator.visible_scope(), chosen_project(request)
    if project is not None:
        visible_scope = VisibleScope(group_ids=frozenset({project.pk}))
    parts = [part for contribute in overview() for part in contribute(visible_scope, now)]
    panels = sorted((part for part in parts if isinstance(part, Panel)), key=lambda panel: panel.rank)
    return {
        "notices": [*(part for part in parts if isinstance(part, Notice)), *project_notices(operator)],
        "checklists": checklists(operator),
        "maps": [part for part in parts if isinstance(part, TileMap)],
        "panels": panels,
        "charts": [part for part in parts if isinstance(part, Chart)],
        "summary": ", ".join(f"{panel.unit}: {panel.number}" for panel in panels if panel.is_counted),
        "live": {**live_context(request), "has_own_parts": True},
        "time_zone": operator.time_zone,
    }


@require_safe
def overview_widgets(request: HttpRequest) -> HttpResponse:
    """The widgets alone, for the script of the page; 304 if it has the same widgets."""
    context = overview_context(request)
    response = render(request, "console/overview.html", context)
    response["Cache-Control"] = "no-store"
    # The first tag has the time.
    _, _, widgets = response.content.partition(b">")
    content = widgets + context["live"]["needs"].encode()
    tag = response["ETag"] = quote_etag(hashlib.sha256(content).hexdigest()[:32])
    return get_conditional_response(request, etag=tag, response=response) or response


# These would bypass the services, or show data without a permission check.
_LEFT_OUT = frozenset({"password_change", "password_change_done", "view_on_site", "search"})


class ConsoleSite(UnfoldAdminSite):  # type: ignore[misc]  # the theme is not typed
    """The console.

    Users with any role that can read may enter (`User.is_staff`), once a project exists (`login`).
    """

    index_title = HOME.title
    site_url = None

    def has_permission(self, request: HttpRequest) -> bool:
        """Checked on every request, so that a session ends with the role."""
        return bool(request.user.is_active and request.user.is_staff)

    def each_context(self, request: HttpRequest) -> Context:
        """The context of every page."""
        context, admins = super().each_context(request), self._registry.values()
        own = {"empty_value": EMPTY, "help_url": help_url(request, admins)}
        if not self.has_permission(request):
            return {**context, **own}
        navigation = Navigation(request, admins)
        return {
            **context,
            **own,
            "tabs": navigation.tabs(),
            "crumbs": navigation.crumbs(),
            "chosen_project": chosen_project(request),
            "time_zone": operator_of(request).time_zone,
        }

    def get_sidebar_list(self, request: HttpRequest) -> list[EntryLink]:
        """The entries of the navigation."""
        return Navigation(request, self._registry.values()).entries()

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Without the pages that bypass the services."""
        offered = [url for url in super().get_urls() if getattr(url, "name", None) not in _LEFT_OUT]
        parts = path("overview/", self.admin_view(overview_widgets), name="overview")
        search = path("palette/", self.admin_view(self.palette), name="palette")
        return [search, path("login/code/", self.login_code, name="login_code"), parts, *offered]

    def index(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The overview."""
        context = {**overview_context(request), **(extra_context or {})}
        return cast(HttpResponse, super().index(request, context))

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """The console's own search, which limits its input."""
        return cast(HttpResponse, Autocomplete.as_view(admin_site=self)(request))

    def palette(self, request: HttpRequest) -> HttpResponse:
        """The search of the whole console."""
        return require_safe(palette)(request, list(self._registry.values()))

    def login(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The login page; while the console is closed it shows the way to the first log-in."""
        refuse_hosts_of_others(request)
        if request.method == "GET" and self.has_permission(request):
            page = PasswordPage()
            page.setup(request)
            return redirect(page.get_success_url())
        context = {**(extra_context or {}), **first_login_context(request)}
        return self._login_step(request, PasswordPage, context)

    def login_code(self, request: HttpRequest) -> HttpResponse:
        """The second step, for users with a second factor."""
        refuse_hosts_of_others(request)
        return self._login_step(request, CodePage, {})

    def _login_step(self, request: HttpRequest, page: type[LoginView], context: Context) -> HttpResponse:
        shared = {**self.each_context(request), "title": "Log in", "app_path": request.get_full_path()}
        response: Any = page.as_view(extra_context={**shared, **context})(request)
        name_actor(request)
        set_refusal_status(response)
        return cast(HttpResponse, response)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wraps every page except the log-in: checks, logs with the user, and shows refusals as messages."""
        inner = super().admin_view(view, cacheable)

        def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            refuse_hosts_of_others(request)
            _refuse_nul(request, kwargs)
            name_actor(request)
            if first := login_policy().first_page(request):
                return redirect(first)
            if self.has_permission(request):
                remember_project(request)
            try:
                response: HttpResponse = inner(request, *args, **kwargs)
            except ApiError as refusal:
                if request.method != "POST":
                    return answer_of(request, refusal)
                messages.error(request, refusal.document()["detail"])
                return redirect(request.get_full_path())
            return response

        return update_wrapper(page, inner)


def name_actor(request: HttpRequest) -> None:
    """Name the user in the request log."""
    if request.user.is_authenticated:
        request.actor_name = request.user.get_username()  # type: ignore[attr-defined]  # read by the request log


def refuse_hosts_of_others(request: HttpRequest) -> None:
    """A foreign name may resolve to this server (DNS rebinding); pages under it could read the console."""
    request.get_host()


def _refuse_nul(request: HttpRequest, path: dict[str, Any]) -> None:
    """No text in PostgreSQL contains a NUL, so no row has such an ID or value."""
    if any("\0" in text for text in _texts(request, path)):
        raise MissingError("The address contains an invalid character.")


def _texts(request: HttpRequest, path: dict[str, Any]) -> Iterator[str]:
    yield from (value for value in path.values() if isinstance(value, str))
    for parameters in (request.GET, request.POST):
        for name, values in parameters.lists():
            yield name
            yield from (value for value in values if isinstance(value, str))
