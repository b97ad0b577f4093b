"""The log-in: username and password, then a code for users with a second factor. It needs a project.

Between the two steps, the session contains only the user who entered the right password, for minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.http import urlencode

from opsapi import clock
from opsapi.api.links import PUBLIC
from opsapi.console.forms import VERBATIM, themed
from opsapi.console.login_policy import Attempt, LoginRefusedError, RefusalCode, login_policy
from opsapi.setup_link import CREATE_KEY, first_project_call, first_user_call


class LoginForm(AdminAuthenticationForm):
    """Username and password; the same error whichever is wrong."""

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": "Incorrect username or password.",
    }

    request: HttpRequest
    attempt: Attempt

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            themed(field)

    def clean(self) -> dict[str, Any]:
        """Counts the attempt before the password is checked."""
        if {"username", "password"} <= self.cleaned_data.keys():
            self.attempt = login_policy().admit(self.request, self.cleaned_data["username"])
        return super().clean()


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step to the first log-in."""

    text: str
    command: str = ""


def first_login_context(request: HttpRequest) -> Mapping[str, Any]:
    """The way to the first log-in: the set-up while no user exists, and commands until a project exists."""
    is_empty = not get_user_model()._default_manager.exists()
    return {
        "is_empty": is_empty,
        "may_set_up": is_empty and login_policy().may_set_up(request),
        "first_steps": _steps(request, is_empty) if login_policy().is_closed() else [],
    }


def _steps(request: HttpRequest, is_empty: bool) -> list[FirstStep]:
    """The commands up to the log-in, with the URL of this browser."""
    api = (settings.OPSAPI_PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")) + PUBLIC
    if is_empty:
        text = "Create the first user. You get an API key and a password; both are shown only once."
        first = FirstStep(text, first_user_call(api))
    else:
        first = FirstStep("On the server, create an API key if you have none.", CREATE_KEY)
    return [
        first,
        FirstStep("Create the first project with this key.", first_project_call(api)),
        FirstStep("Log in below as the first user."),
    ]


def set_refusal_status(response: HttpResponse) -> None:
    """Set the status of a refused log-in: 403, or 429 with Retry-After."""
    if not isinstance(response, TemplateResponse):
        return
    form = (response.context_data or {})["form"]
    if not form.is_bound:
        return
    response.status_code = 403
    for error in form.non_field_errors().as_data():
        if error.code == RefusalCode.THROTTLED:
            response.status_code = 429
            response["Retry-After"] = str(error.params["retry_after"])


PENDING_LASTS = timedelta(minutes=5)
"""Time to enter the code after the password; then the session ends."""
_PENDING = "pending"
_MOST_TYPED = 100


class LoginCodeForm(forms.Form):
    """The code, after a correct password."""

    code = forms.CharField(
        max_length=_MOST_TYPED,
        label="Code",
        help_text="A six-digit code from your authenticator, or a recovery code.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, **VERBATIM}),
    )

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        self.request, self.user = request, pending_user(request)
        super().__init__(*args, **options)
        themed(self.fields["code"])

    def clean(self) -> dict[str, Any]:
        """Uses up a correct code."""
        if self.user is None:
            raise ValidationError("The log-in has timed out. Log in again.")
        if "code" in self.cleaned_data:
            self._take(self.cleaned_data["code"])
        return self.cleaned_data

    def _take(self, code: str) -> None:
        try:
            login_policy().take_code(self.request, self.user, code)
        except LoginRefusedError:
            raise
        except ValidationError as wrong:
            self.add_error("code", wrong)

    def get_user(self) -> AbstractBaseUser | None:
        """The user who is logging in."""
        return self.user


class PasswordPage(LoginView):
    """The first step: username and password."""

    authentication_form = LoginForm
    template_name = "admin/login.html"
    next_page = "admin:index"

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, or continue to the second step."""
        user, session = form.get_user(), self.request.session
        # Django would keep the session of the log-in: its key, which others may know, and its time.
        session.flush()
        if not login_policy().wants_code(user):
            answer = super().form_valid(form)
            login_policy().let_in(self.request, answer, form.attempt)
            return answer
        marker = {"user": str(user.pk), "hash": user.get_session_auth_hash(), "attempt": form.attempt}
        session[_PENDING] = marker
        session.set_expiry(clock.now() + PENDING_LASTS)
        query = urlencode({self.redirect_field_name: self.get_success_url()})
        return redirect(f"{reverse('admin:login_code')}?{query}")


class CodePage(LoginView):
    """The second step."""

    authentication_form: Any = LoginCodeForm  # It asks for no username and password.
    template_name = "console/login_code.html"
    next_page = "admin:index"

    def dispatch(self, request: HttpRequest, *args: Any, **path: Any) -> HttpResponse:
        """Only after the first step, which leads to the same page in the end."""
        if pending_user(request) is None:
            going = self.get_redirect_url()
            query = f"?{urlencode({self.redirect_field_name: going})}" if going else ""
            return redirect(reverse("admin:login") + query)
        return super().dispatch(request, *args, **path)  # type: ignore[return-value]  # a page is no stream

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, with a new session key and none of the data of this session."""
        session: Any = self.request.session
        attempt = session[_PENDING]["attempt"]
        # Requests may race with the same marker; its attempt is given back once.
        ended = session.end()
        answer = super().form_valid(form)
        if ended:
            login_policy().let_in(self.request, answer, attempt)
        return answer


def pending_user(request: HttpRequest) -> AbstractBaseUser | None:
    """The user who entered the right password in this session recently, and may still enter."""
    marker = request.session.get(_PENDING)
    if marker is None:
        return None
    user = login_policy().get_user(marker["user"])
    if user is None or not user.is_staff:
        return None
    return user if constant_time_compare(marker["hash"], user.get_session_auth_hash()) else None
