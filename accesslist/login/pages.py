"""The account page of the console: what users do to their own account, below /admin/account/."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import segno
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache

from accesslist.login.attempts import attempt_give_back, attempt_take
from accesslist.login.changes import (
    recovery_codes_renew,
    second_factor_begin,
    second_factor_confirm,
    second_factor_remove,
    user_password_change,
    user_sessions_end,
    user_time_zone_set,
)
from accesslist.login.console import (
    CodeForm,
    DetailsForm,
    FirstCodeForm,
    OwnPasswordForm,
    PasswordForm,
    TimeZoneForm,
)
from accesslist.login.store import factor_state
from accesslist.users.changes import user_details_change
from accesslist.users.models import User
from accesslist.users.store import own_role_rows
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.console.actions import operator_of
from opsapi.console.forms import ConsoleForm
from opsapi.console.login_policy import LoginRefusedError
from opsapi.first_rows import first_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAction:
    """An action of users on their own account, with its own page.

    `service` takes the values of the form, and can return new recovery codes; only this response shows them.
    `ends_sessions`: it ends all sessions of the user; this browser stays logged in. `proof` is the field that
    proves the identity of the user, if any: a wrong value counts as a failed log-in. `done` is the message on
    the page that `leads_to` names.
    """

    title: str
    text: str
    label: str
    service: Callable[..., Any]
    ends_sessions: bool = False
    done: str = ""
    form: type[ConsoleForm] = ConsoleForm
    proof: str = ""
    danger: bool = False
    template: str = "console/account_action.html"
    leads_to: str = "account"


CHANGE_PASSWORD = AccountAction(
    title="Change your password",
    text="This ends your sessions in other browsers.",
    label="Change password",
    done="Your password has been changed.",
    form=PasswordForm,
    proof="oldPassword",
    service=user_password_change,
    ends_sessions=True,
)
END_SESSIONS = AccountAction(
    title="End your other sessions",
    text="You are logged out everywhere else. You stay logged in here.",
    label="End other sessions",
    done="Your other sessions have ended.",
    service=user_sessions_end,
    ends_sessions=True,
)
CHANGE_DETAILS = AccountAction(
    title="Your details",
    text="Alerts that go to you are sent to the e-mail address or the mobile number.",
    label="Save",
    done="Your details have been saved.",
    form=DetailsForm,
    service=user_details_change,
)
SET_TIME_ZONE = AccountAction(
    title="Time zone",
    text="The console shows times in this zone, and reads the times that you type in it.",
    label="Save",
    done="Your time zone has been saved.",
    form=TimeZoneForm,
    service=user_time_zone_set,
)
BEGIN = AccountAction(
    title="Set up a second factor",
    text="After your password, the log-in page also asks for a code from your authenticator app. Your "
    "password alone is no longer enough.",
    label="Continue",
    form=OwnPasswordForm,
    proof="password",
    service=second_factor_begin,
    leads_to="account_setup",
)
CONFIRM = AccountAction(
    title="Set up a second factor",
    text="",
    label="Turn on",
    form=FirstCodeForm,
    proof="code",
    service=second_factor_confirm,
    ends_sessions=True,
    template="console/account_setup.html",
)
RENEW_CODES = AccountAction(
    title="Create new recovery codes",
    text="Your current recovery codes stop working.",
    label="Create new codes",
    form=CodeForm,
    proof="code",
    service=recovery_codes_renew,
)
REMOVE = AccountAction(
    title="Remove the second factor",
    text="Anybody who knows your password can then log in as you.",
    label="Remove second factor",
    done="The second factor has been removed. You now log in with your password only.",
    form=CodeForm,
    proof="code",
    service=second_factor_remove,
    danger=True,
)


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
    leads_to = "admin:index" if _password_given(request) else action.leads_to
    result = _proved(request, action, form) if action.proof else _run(request, action, form)
    if isinstance(result, list):
        return _page(request, "console/recovery_codes.html", "Your recovery codes", codes=result)
    if action.done:
        messages.success(request, action.done)
    return redirect(leads_to)


def _proved(request: HttpRequest, action: AccountAction, form: ConsoleForm) -> Any:
    """Run the action. Only a wrong proof counts as a failed log-in; other errors do not."""
    attempt = attempt_take(request, request.user.get_username(), after_password=True)
    try:
        result = _run(request, action, form)
    except ApiError as refusal:
        if all(bad.field != action.proof for bad in refusal.bad_fields):
            attempt_give_back(attempt)
        raise
    attempt_give_back(attempt)
    return result


def _run(request: HttpRequest, action: AccountAction, form: ConsoleForm) -> Any:
    actor = operator_of(request).actor()
    result = action.service(**form.values, actor=actor, now=clock.now())
    if action.ends_sessions:
        user = result if isinstance(result, User) else User.objects.get(pk=actor.id)
        update_session_auth_hash(request, user)
    return result


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
        "password_given": _password_given(request),
        "session_hours": settings.OPSAPI_SESSION_HOURS,
        "session_idle": settings.OPSAPI_SESSION_IDLE_MINUTES,
    }
    return TemplateResponse(request, template, {**shared, **context})


def _password_given(request: HttpRequest) -> bool:
    """Whether the user must change the password first (`LoginPolicy.first_page`)."""
    return bool(getattr(request.user, "password_given", False))


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


def _of_console(route: str, view: Callable[[HttpRequest], HttpResponse], name: str) -> URLPattern:
    guarded: Callable[..., HttpResponse] = admin.site.admin_view(view)
    return path(route, guarded, name=name)


urlpatterns = [
    _of_console("", overview, "account"),
    _of_console("details/", page(CHANGE_DETAILS), "account_details"),
    _of_console("password/", page(CHANGE_PASSWORD), "account_password"),
    _of_console("sessions/", page(END_SESSIONS), "account_sessions"),
    _of_console("time-zone/", page(SET_TIME_ZONE), "account_time_zone"),
    _of_console("second-factor/", page(BEGIN), "account_second_factor"),
    _of_console("second-factor/setup/", setup_page, "account_setup"),
    _of_console("second-factor/recovery-codes/", page(RENEW_CODES), "account_recovery_codes"),
    _of_console("second-factor/remove/", page(REMOVE), "account_remove_second_factor"),
]
