"""Who may log in to the console (contract 4.2 rule 2; decisions 3 "console")."""

import hashlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.models import Project, User, username_key
from accesslist.throttles import hit
from opsapi import clock
from opsapi.api.addresses import client_address
from opsapi.console.login import Doorkeeper, LoginRefusedError, RefusalCode

LOGIN_WINDOW = timedelta(minutes=5)


class OperatorBackend(Doorkeeper):
    """Global Owners, once a project exists; attempts are counted by name and by address."""

    def is_closed(self) -> bool:
        """Nobody logs in while no project exists."""
        return not Project.objects.exists()

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> User | None:
        """The user, when the password is right and they may enter; None otherwise, after the same work.

        Raises:
            LoginRefusedError: too many attempts in LOGIN_WINDOW, or no project exists.
        """
        if username is None or password is None:
            return None
        _count_attempt(request, username)
        if self.is_closed():
            raise LoginRefusedError(
                "Nobody can log in while no project exists. Make the first one as shown below.",
                RefusalCode.NO_PROJECT,
            )
        user = _known(username, password)
        if user is None:
            count_failure(FailedAuthentication.CONSOLE_CREDENTIALS)
        return user

    def get_user(self, user_id: str) -> User | None:
        """The user of a session; one who lost the role is kept out by the console's own check."""
        return User.objects.filter(pk=user_id).first()


def _known(username: str, password: str) -> User | None:
    user = User.objects.filter(username_key=username_key(username)).first()
    if user is None:
        User().set_password(password)
        return None
    return user if user.check_password(password) and user.is_staff else None


def _count_attempt(request: HttpRequest | None, username: str) -> None:
    now = clock.now()
    limit = settings.OPSAPI_LOGIN_ATTEMPTS
    waits = [hit(bucket, limit=limit, window=LOGIN_WINDOW, now=now) for bucket in _buckets(request, username)]
    wait = max(wait or 0 for wait in waits)
    if wait:
        count_failure(FailedAuthentication.THROTTLED)
        raise LoginRefusedError(
            f"Too many attempts to log in. Try again in {wait} seconds.", RefusalCode.THROTTLED, wait
        )


def _buckets(request: HttpRequest | None, username: str) -> list[str]:
    """Names are hashed: people type passwords into the wrong field, and rows can be read."""
    name = hashlib.sha256(username_key(username).encode()).hexdigest()[:32]
    address = client_address(request) if request else None
    return [f"login name {name}", *([f"login address {address}"] if address else [])]
