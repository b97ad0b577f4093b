"""The pages of the first set-up, below /admin/setup/. Afterwards they lead to the log-in."""

from django.contrib import admin
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accesslist.backends import may_set_up, setup_token_take
from accesslist.login.console import FirstRunForm, SetupTokenForm
from accesslist.projects.changes import installation_set_up
from accesslist.users.store import any_user_exists
from opsapi import clock
from opsapi.api.addresses import remote_address
from opsapi.api.errors import ApiError
from opsapi.console.forms import OpenForm
from opsapi.console.login_policy import login_policy
from opsapi.console.site import name_actor, refuse_hosts_of_others

_TITLE = "Set up Ops API"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup_page(request: HttpRequest) -> HttpResponse:
    """The form of the first user and project, for visitors who may set up the installation."""
    refuse_hosts_of_others(request)
    if any_user_exists():
        return _ended(request)
    if not may_set_up(request):
        return _token_page(request, SetupTokenForm(), 200 if request.method != "POST" else 403)
    if request.method != "POST":
        return _form_page(request, FirstRunForm())
    form = FirstRunForm(request.POST)
    return _set_up(request, form) if form.is_valid() else _form_page(request, form)


@never_cache
@require_POST
def token_page(request: HttpRequest) -> HttpResponse:
    """Accept the token, and lead to the form."""
    refuse_hosts_of_others(request)
    if any_user_exists():
        return _ended(request)
    form = SetupTokenForm(request.POST)
    try:
        if form.is_valid() and not setup_token_take(request, form.cleaned_data["token"]):
            form.add_error(
                "token", "This is not the token. Copy the whole link that the server printed last."
            )
    except ApiError as refusal:
        form.add_refusal(refusal)
        page = _token_page(request, form, refusal.status)
        for name, value in refusal.headers.items():
            page[name] = value
        return page
    return redirect("setup") if form.is_valid() else _token_page(request, form, 403)


def _set_up(request: HttpRequest, form: FirstRunForm) -> HttpResponse:
    try:
        user = installation_set_up(
            new=form.new_user,
            project=form.new_project,
            kept_days=form.kept_days,
            remote_address=remote_address(request),
            now=clock.now(),
        )
    except ApiError as refusal:
        form.add_refusal(refusal)
        return _form_page(request, form)
    if user is None:
        return _ended(request)
    request.session.flush()  # as at a log-in: others may know its key
    login(request, user)
    name_actor(request)
    response = redirect("mail_server")
    login_policy().let_in(request, response, {})
    return response


def _ended(request: HttpRequest) -> HttpResponse:
    """The log-in; for a visitor who sent a form too late, the reason."""
    if request.method != "POST":
        return redirect("admin:login")
    return _page(request, "console/setup_ended.html", None, 409)


def _form_page(request: HttpRequest, form: OpenForm) -> HttpResponse:
    return _page(request, "console/setup.html", form, 200)


def _token_page(request: HttpRequest, form: OpenForm, status: int) -> HttpResponse:
    return _page(request, "console/setup_token.html", form, status)


def _page(request: HttpRequest, template: str, form: OpenForm | None, status: int) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": _TITLE, "form": form}
    return TemplateResponse(request, template, context, status=status)


urlpatterns = [
    path("", setup_page, name="setup"),
    path("token/", token_page, name="setup_token"),
]
