"""Logging in to the console (contract 4.2 rule 2; decisions 3 "console")."""

import json
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_backends
from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from opsapi.api.links import PUBLIC

_JSON = "-H 'Content-Type: application/json'"


class RefusalCode(StrEnum):
    """Why a log-in was refused, apart from what was typed."""

    NO_PROJECT = "no_project"
    THROTTLED = "throttled"


class LoginRefusedError(ValidationError):
    """A log-in refused for a reason that may be told; the login page shows it."""

    def __init__(self, message: str, code: RefusalCode, retry_after: int | None = None) -> None:
        super().__init__(message, code=code.value, params={"retry_after": retry_after})


class Doorkeeper(BaseBackend):
    """An authentication backend that knows when nobody may log in at all."""

    def is_closed(self) -> bool:
        """Whether the console is closed to everybody for now."""
        return False


class LoginForm(AdminAuthenticationForm):
    """Name and password; one text for whatever of them is wrong."""

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": "No user with that name and password holds GLOBAL_OWNER.",
    }


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way to the first log-in."""

    text: str
    command: str = ""


def is_closed() -> bool:
    """Whether nobody may log in for now, whatever they type."""
    return any(backend.is_closed() for backend in get_backends() if isinstance(backend, Doorkeeper))


def first_steps(request: HttpRequest) -> list[Step]:
    """From an empty installation to the first log-in, as this browser reaches it."""
    api = (settings.OPSAPI_PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")) + PUBLIC
    user = {"username": "ada", "password": "…", "firstName": "Ada", "lastName": "Lovelace"}
    return [
        Step(
            "Make the first user. The answer holds an API key; its private part is shown this once.",
            f"curl {_JSON} -d '{json.dumps(user, ensure_ascii=False)}' {api}/unauth/users",
        ),
        Step(
            "Make the first project with that key.",
            f"curl --digest --user '<publicKey>:<privateKey>' {_JSON} "
            f"-d '{json.dumps({'name': 'my first project'})}' {api}/groups",
        ),
        Step("Log in here as that user."),
    ]


def tell_status(response: HttpResponse) -> None:
    """Give a refused log-in the status it has elsewhere: 403, or 429 with Retry-After."""
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
