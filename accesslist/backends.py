"""Decides who may log in to the console, and who may set up an installation without users."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accesslist.login.attempts import attempt_give_back, attempt_take, device_remember
from accesslist.login.changes import second_factor_use
from accesslist.login.store import has_second_factor
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.principal import UserPrincipal
from accesslist.projects.models import Project
from accesslist.throttles import throttle
from accesslist.users.models import User
from accesslist.users.rules import username_key
from opsapi import clock
from opsapi.api.addresses import (
    address_of,
    client_address,
    counted_range,
    is_forwarded,
    peer_address,
    remote_address,
)
from opsapi.api.errors import ApiError
from opsapi.console.login_policy import Attempt, LoginPolicy, LoginRefusedError, RefusalCode
from opsapi.setup_link import is_setup_token


class OperatorBackend(LoginPolicy):
    """Log-in for users with any role that can read; failed attempts count (`attempts`)."""

    def is_closed(self) -> bool:
        """Refuse all log-ins while no project exists."""
        return not Project.objects.exists()

    def may_set_up(self, request: HttpRequest) -> bool:
        """See `accesslist.backends`."""
        return may_set_up(request)

    def admit(self, request: HttpRequest, username: str) -> Attempt:
        """See `opsapi.console.login_policy.LoginPolicy`."""
        if self.is_closed():
            raise LoginRefusedError(
                "You can log in once a project exists. Create the first project as shown below.",
                RefusalCode.NO_PROJECT,
            )
        return attempt_take(request, username)

    def let_in(self, request: HttpRequest, response: HttpResponse, attempt: Attempt) -> None:
        """See `opsapi.console.login_policy.LoginPolicy`. From now on, the browser has its own counter."""
        attempt_give_back(attempt)
        device_remember(request, response)

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> User | None:
        """The user, if the password is right and the user may enter; otherwise None, after the same work."""
        if username is None or password is None:
            return None
        user = _known(username, password)
        if user is None:
            count_failure(FailedAuthentication.CONSOLE_CREDENTIALS)
        return user

    def first_page(self, request: HttpRequest) -> str | None:
        """The form of a new password, for users whose password somebody else set. The log-out stays open."""
        change = reverse("account_password")
        if not getattr(request.user, "password_given", False):
            return None
        return None if request.path_info in {change, reverse("admin:logout")} else change

    def wants_code(self, user: User) -> bool:
        """Whether the user has a second factor."""
        return has_second_factor(user.id)

    def take_code(self, request: HttpRequest, user: User, code: str) -> None:
        """See `opsapi.console.login_policy.LoginPolicy`. A wrong code counts like a wrong password."""
        attempt = attempt_take(request, user.username, after_password=True)
        actor = UserPrincipal(user, remote_address(request)).actor()
        try:
            second_factor_use(user_id=user.id, code=code, actor=actor, now=clock.now())
        except ApiError as refusal:
            count_failure(FailedAuthentication.SECOND_FACTOR)
            raise ValidationError(refusal.bad_fields[0].message) from None
        attempt_give_back(attempt)

    def get_user(self, user_id: str) -> User | None:
        """The user of a session. The console's own check refuses users who have lost their roles."""
        return User.objects.filter(pk=user_id).first()


def _known(username: str, password: str) -> User | None:
    user = user_with_password(username, password)
    return user if user and user.is_staff else None


def user_with_password(username: str, password: str) -> User | None:
    """The user, if the password is right, also without roles; otherwise None, after the same work."""
    user = User.objects.filter(username_key=username_key(username)).first()
    if user is None:
        User().set_password(password)
        return None
    return user if user.check_password(password) else None


_TOKEN_LASTS = timedelta(hours=1)
_HAS_TOKEN = "setup_token"  # noqa: S105 - a name


def may_set_up(request: HttpRequest) -> bool:
    """Whether the visitor may create the first user, while there is none."""
    return _is_local(request) or request.session.get(_HAS_TOKEN, False)


def setup_token_take(request: HttpRequest, token: str) -> bool:
    """Let the session of the visitor set up the installation, if the token is right.

    Raises:
        ApiError: RATE_LIMITED, after OPSAPI_LOGIN_ATTEMPTS attempts of an address in a minute.
    """
    bucket = f"setup token {counted_range(client_address(request))}"
    throttle(bucket, settings.OPSAPI_LOGIN_ATTEMPTS, clock.now())
    if not is_setup_token(token):
        count_failure(FailedAuthentication.CONSOLE_CREDENTIALS)
        return False
    # A new key: others may know the old key of the session.
    request.session.flush()
    request.session[_HAS_TOKEN] = True
    request.session.set_expiry(clock.now() + _TOKEN_LASTS)
    return True


def _is_local(request: HttpRequest) -> bool:
    """Whether the browser runs on this machine.

    Behind a proxy on this machine everybody has a loopback address, so no sign of a proxy is accepted, and
    OPSAPI_INVITATION_ONLY=false leaves only the token. A name that resolves to loopback may belong to a
    stranger's page (DNS rebinding), so the name must be local.
    """
    if not settings.OPSAPI_INVITATION_ONLY:
        return False
    address = peer_address(request)
    if address is None or not address.is_loopback:
        return False
    if is_forwarded(request) or settings.OPSAPI_TRUSTED_PROXIES or settings.OPSAPI_PUBLIC_URL:
        return False
    name = urlsplit(f"//{request.get_host()}").hostname or ""
    named = address_of(name)
    return name == "localhost" or (named is not None and named.is_loopback)
