"""The console log-in, which is closed until a project exists."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from opsapi.api.links import PUBLIC
from opsapi.console.forms import themed
from opsapi.console.login_policy import Attempt, RefusalCode, login_policy
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
        first = FirstStep("On the server, create an API key, unless you have one.", CREATE_KEY)
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
