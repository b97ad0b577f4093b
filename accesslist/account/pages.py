"""The pages of the account: an overview, and a page for each action."""

from collections.abc import Callable, Mapping
from typing import Any

import segno
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache

from accesslist.account.actions import CONFIRM, AccountAction
from accesslist.attempts import attempt_give_back, attempt_take
from accesslist.selectors.second_factors import factor_state
from accesslist.selectors.users import own_role_rows
from opsapi.api.errors import ApiError
from opsapi.console.actions import operator_of
from opsapi.console.forms import ConsoleForm
from opsapi.console.login_policy import LoginRefusedError
from opsapi.first_rows import first_rows

# Cameras need dark on light, also on a dark page, with a margin of four modules.
_SCALE, _BORDER, _DARK, _LIGHT = 5, 4, "#000", "#fff"


@never_cache
def overview(request: HttpRequest) -> HttpResponse:
    """The state of the account, its roles and its actions."""
    roles = first_rows(own_role_rows(_user_id(request)))
    return _page(request, "console/account.html", "Your account", roles=roles)


def page(action: AccountAction) -> Callable[[HttpRequest], HttpResponse]:
    """The page of an action."""

    @never_cache
    def answer(request: HttpRequest) -> HttpResponse:
        operator = operator_of(request)
        if request.method != "POST":
            return _form_page(request, action, action.form(operator=operator))
        form = action.form(request.POST, operator=operator)
        if form.is_valid():
            try:
                return _done(request, action, form)
            except ApiError as refusal:
                form.add_refusal(refusal)
            except LoginRefusedError as refusal:
                form.add_error(None, refusal)
                return _throttled(_form_page(request, action, form), refusal)
        return _form_page(request, action, form)

    return answer


def setup_page(request: HttpRequest) -> HttpResponse:
    """The secret, until the user has entered its first code."""
    if factor_state(_user_id(request)).setup is None:
        return redirect("account_second_factor")
    return page(CONFIRM)(request)


def _done(request: HttpRequest, action: AccountAction, form: ConsoleForm) -> HttpResponse:
    codes = _run(request, action, form)
    if codes is not None:
        return _page(request, "console/recovery_codes.html", "Your recovery codes", codes=codes)
    if action.done:
        messages.success(request, action.done)
    return redirect(action.leads_to)


def _run(request: HttpRequest, action: AccountAction, form: ConsoleForm) -> list[str] | None:
    """Only a wrong proof counts as a failed log-in; other errors do not."""
    if not action.proof:
        return action.run(request, form.cleaned_data)
    attempt = attempt_take(request, request.user.get_username(), after_password=True)
    try:
        codes = action.run(request, form.cleaned_data)
    except ApiError as refusal:
        if all(bad.field != action.proof for bad in refusal.bad_fields):
            attempt_give_back(attempt)
        raise
    attempt_give_back(attempt)
    return codes


def _form_page(request: HttpRequest, action: AccountAction, form: ConsoleForm) -> HttpResponse:
    return _page(request, action.template, action.title, action=action, form=form)


def _throttled(response: HttpResponse, refusal: LoginRefusedError) -> HttpResponse:
    response.status_code = 429
    response["Retry-After"] = str(refusal.retry_after)
    return response


def _page(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    factor = factor_state(_user_id(request))
    shared: Mapping[str, Any] = {
        **admin.site.each_context(request),
        "title": title,
        "factor": factor,
        "qr": _qr_code(factor.setup.uri) if factor.setup else "",
        "back": reverse("account"),
        "session_hours": settings.OPSAPI_SESSION_HOURS,
        "session_idle": settings.OPSAPI_SESSION_IDLE_MINUTES,
    }
    return TemplateResponse(request, template, {**shared, **context})


def _user_id(request: HttpRequest) -> str:
    return str(request.user.pk)


def _qr_code(text: str) -> SafeString:
    """An inline SVG of the text, with a label for screen readers."""
    code = segno.make(text, error="m", micro=False)
    svg = code.svg_inline(scale=_SCALE, border=_BORDER, dark=_DARK, light=_LIGHT, omitsize=True)
    picture = mark_safe(svg)  # noqa: S308 - consists of the modules; the text is not in it
    return format_html(
        '<div class="account-qr" role="img" aria-label="QR code of the key below">{}</div>', picture
    )
