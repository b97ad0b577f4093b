"""Decides who may enter the console: the authentication backend, which `accesslist` supplies."""

from enum import StrEnum
from typing import Any

from django.contrib.auth import get_backends
from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.http import HttpRequest, HttpResponse

Attempt = dict[str, str]
"""A counted attempt: its counter and window. A session can store it."""


class RefusalCode(StrEnum):
    """Why a log-in was refused, other than wrong input."""

    NO_PROJECT = "no_project"
    THROTTLED = "throttled"


class LoginRefusedError(ValidationError):
    """A log-in refused for a reason that the page can show."""

    def __init__(self, message: str, code: RefusalCode, retry_after: int | None = None) -> None:
        super().__init__(message, code=code.value, params={"retry_after": retry_after})
        self.retry_after = retry_after


class LoginPolicy(BaseBackend):
    """An authentication backend that can close the console and knows second factors."""

    def is_closed(self) -> bool:
        """Whether the console is closed to everybody at the moment."""
        raise NotImplementedError

    def may_set_up(self, request: HttpRequest) -> bool:
        """Whether the visitor may create the first user, while there is none."""
        raise NotImplementedError

    def admit(self, request: HttpRequest, username: str) -> Attempt:
        """Count an attempt before anything is checked; `let_in` gives it back.

        Raises: LoginRefusedError: too many attempts, or nobody may log in.
        """
        raise NotImplementedError

    def let_in(self, request: HttpRequest, response: HttpResponse, attempt: Attempt) -> None:
        """Give the attempt back after a complete log-in, and remember the browser."""
        raise NotImplementedError

    def first_page(self, request: HttpRequest) -> str | None:
        """The URL of the page that the user must complete before any other; None if there is none."""
        raise NotImplementedError

    def wants_code(self, user: Any) -> bool:
        """Whether the user must enter a code after the password."""
        raise NotImplementedError

    def take_code(self, request: HttpRequest, user: Any, code: str) -> None:
        """Use up a code of the user.

        Raises: ValidationError: wrong code; LoginRefusedError: too many attempts.
        """
        raise NotImplementedError


def login_policy() -> LoginPolicy:
    """The backend of this installation."""
    for backend in get_backends():
        if isinstance(backend, LoginPolicy):
            return backend
    raise ImproperlyConfigured("AUTHENTICATION_BACKENDS names no LoginPolicy")
