"""The project that an operator works with: in the URL of lists (`project`), and remembered in the session."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import urlencode

from opsapi.console.sessions import REFRESH_HEADER

PARAMETER = "project"
_MODEL = "accesslist.project"


def project_rows(request: HttpRequest) -> Any:
    """The projects that the operator can see."""
    admins = admin.site._registry.values()
    pages: Any = next(pages for pages in admins if pages.opts.label_lower == _MODEL)
    return pages.get_queryset(request)


def chosen_project(request: HttpRequest) -> Any:
    """Return the project of the URL, otherwise the remembered one; None for all projects."""
    chosen = request.GET.get(PARAMETER, request.session.get(PARAMETER, ""))
    return project_rows(request).filter(pk=chosen).first() if chosen else None


def remember_project(request: HttpRequest) -> None:
    """Keep the project of the URL for the next lists; an empty one means all projects."""
    if PARAMETER not in request.GET or request.method != "GET" or REFRESH_HEADER in request.headers:
        return
    chosen = request.GET[PARAMETER]
    if chosen == request.session.get(PARAMETER, ""):
        return
    if not chosen:
        del request.session[PARAMETER]
    elif project_rows(request).filter(pk=chosen).exists():
        request.session[PARAMETER] = chosen


def to_chosen_project(request: HttpRequest) -> HttpResponseRedirect | None:
    """Redirect a list to the remembered project, unless its URL names a project."""
    named = {PARAMETER, "group__id__exact"} & request.GET.keys()
    if named or request.method != "GET" or PARAMETER not in request.session:
        return None
    project = chosen_project(request)
    if project is None:  # it was deleted, or the operator no longer has a role in it
        del request.session[PARAMETER]
        return None
    query = urlencode([*request.GET.lists(), (PARAMETER, project.pk)], doseq=True)
    return redirect(f"{request.path}?{query}")
