"""Who may log in to the console (decisions 3 "console")."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accesslist.models import Project, User, username_key
from accesslist.throttles import hit
from opsapi import clock
from opsapi.api.addresses import client_address

LOGIN_WINDOW = timedelta(minutes=5)


class OperatorBackend(BaseBackend):
    """Global Owners, once a project exists; attempts are counted by name and by address."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> User | None:
        """The user, when the password is right and they may enter; None otherwise, after the same work.

        Raises:
            PermissionDenied: too many attempts in LOGIN_WINDOW.
        """
        if username is None or password is None:
            return None
        _count_attempt(request, username)
        user = User.objects.filter(username_key=username_key(username)).first()
        if user is None:
            User().set_password(password)
            return None
        right = user.check_password(password)
        return user if right and user.is_staff and Project.objects.exists() else None

    def get_user(self, user_id: str) -> User | None:
        """The user of a session; one who lost the role is logged out by the console's own check."""
        return User.objects.filter(pk=user_id).first()


def _count_attempt(request: HttpRequest | None, username: str) -> None:
    address = client_address(request) if request else None
    now = clock.now()
    for bucket in (f"login name {username_key(username)[:150]}", f"login address {address}"):
        if hit(bucket, limit=settings.OPSAPI_LOGIN_ATTEMPTS, window=LOGIN_WINDOW, now=now):
            raise PermissionDenied("too many attempts to log in")
