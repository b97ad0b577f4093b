"""Who decides on entering the console: the authentication backend, which `accesslist` supplies."""

from enum import StrEnum
from typing import Any

from django.contrib.auth import get_backends
from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.http import HttpRequest, HttpResponse

Attempt = dict[str, str]
"""An attempt that was taken: where it was counted, and since when. A session can hold it."""


class RefusalCode(StrEnum):
    """Why a log-in was refused, apart from what was typed."""

    NO_PROJECT = "no_project"
    THROTTLED = "throttled"


class LoginRefusedError(ValidationError):
    """A log-in refused for a reason that may be told; the page shows it."""

    def __init__(self, message: str, code: RefusalCode, retry_after: int | None = None) -> None:
        super().__init__(message, code=code.value, params={"retry_after": retry_after})
        self.retry_after = retry_after


class Doorkeeper(BaseBackend):
    """An authentication backend that knows when nobody may log in at all, and of second factors."""

    def is_closed(self) -> bool:
        """Whether the console is closed to everybody for now."""
        raise NotImplementedError

    def admit(self, request: HttpRequest, username: str) -> Attempt:
        """Take an attempt to log in, before anything is checked; it counts unless `let_in` gives it back.

        Raises:
            LoginRefusedError: there were too many, or nobody may log in at all.
        """
        raise NotImplementedError

    def let_in(self, request: HttpRequest, response: HttpResponse, attempt: Attempt) -> None:
        """Give an attempt back, and let the answer remember the browser: the whole log-in succeeded."""
        raise NotImplementedError

    def wants_code(self, user: Any) -> bool:
        """Whether the user has to give a code beside the password."""
        raise NotImplementedError

    def take_code(self, request: HttpRequest, user: Any, code: str) -> None:
        """Use up the user's code.

        Raises:
            ValidationError: it is not right; LoginRefusedError after too many attempts.
        """
        raise NotImplementedError


def doorkeeper() -> Doorkeeper:
    """The one of this installation."""
    for backend in get_backends():
        if isinstance(backend, Doorkeeper):
            return backend
    raise ImproperlyConfigured("AUTHENTICATION_BACKENDS names no Doorkeeper")
