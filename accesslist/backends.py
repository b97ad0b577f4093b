"""Decides whether a user may log in to the console. Nobody can before the first project exists."""

from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from accesslist.attempts import attempt_give_back, attempt_take
from accesslist.devices import device_remember
from accesslist.first_run.access import may_set_up
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.models import Project, User, username_key
from accesslist.principal import UserPrincipal
from accesslist.selectors.second_factors import has_second_factor
from accesslist.services.second_factors import second_factor_use
from opsapi import clock
from opsapi.api.addresses import client_address
from opsapi.api.errors import ApiError
from opsapi.console.login_policy import Attempt, LoginPolicy, LoginRefusedError, RefusalCode


class OperatorBackend(LoginPolicy):
    """Log-in for users with any role that can read; failed attempts count (`attempts`)."""

    def is_closed(self) -> bool:
        """Refuse all log-ins while no project exists."""
        return not Project.objects.exists()

    def may_set_up(self, request: HttpRequest) -> bool:
        """See `accesslist.first_run.access`."""
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

    def wants_code(self, user: User) -> bool:
        """Whether the user has a second factor."""
        return has_second_factor(user.id)

    def take_code(self, request: HttpRequest, user: User, code: str) -> None:
        """See `opsapi.console.login_policy.LoginPolicy`. A wrong code counts like a wrong password."""
        attempt = attempt_take(request, user.username, after_password=True)
        address = client_address(request)
        actor = UserPrincipal(user, str(address) if address else None).actor()
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
    user = User.objects.filter(username_key=username_key(username)).first()
    if user is None:
        User().set_password(password)
        return None
    return user if user.check_password(password) and user.is_staff else None
