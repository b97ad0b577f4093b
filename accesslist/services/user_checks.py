"""What a username and a password have to be (decisions 3), and who resets them."""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accesslist.models import User, username_key
from accesslist.rules.administering import resetter_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.roles import INSTALLATION, Grant, satisfies

_LONGEST_KEY = 600


def check_username(username: str) -> None:
    """Refuse a name that OPSAPI_USERNAME_VALIDATION does not let pass, or that is too long.

    Raises:
        ApiError: INVALID_USERNAME.
    """
    # A few characters become many under NFKC; the unique index has to hold the result.
    if len(username_key(username)) > _LONGEST_KEY:
        raise _bad_username("it is too long in its canonical form")
    rule = settings.OPSAPI_USERNAME_VALIDATION
    if rule == "loose" and "." not in username.partition("@")[2]:
        raise _bad_username("it must hold an @ and a dot after it (OPSAPI_USERNAME_VALIDATION=loose)")
    if rule == "strict" and as_email(username) is None:
        raise _bad_username("it must be an e-mail address (OPSAPI_USERNAME_VALIDATION=strict)")


def as_email(username: str) -> str | None:
    """The name, when it is an e-mail address: it then serves as one."""
    try:
        validate_email(username)
    except ValidationError:
        return None
    return username


def check_password(password: str, user: User) -> None:
    """Refuse a password that Django's validators do not let pass.

    Raises:
        ApiError: WEAK_PASSWORD.
    """
    try:
        validate_password(password, user)
    except ValidationError as error:
        fault = BadField("password", ErrorCode.WEAK_PASSWORD, " ".join(error.messages))
        raise ApiError.of_fields([fault]) from None


def check_resets(user: User, by: Sequence[Grant]) -> None:
    """Who may give a user back access to their account could log in as them: their teams' roles count too.

    Raises:
        ApiError: USER_UNAUTHORIZED.
    """
    needed = resetter_of(user.grants_held)
    if not satisfies(by, needed, INSTALLATION):
        raise ApiError(ErrorCode.USER_UNAUTHORIZED, needed.value)


def _bad_username(reason: str) -> ApiError:
    return ApiError.of_fields([BadField("username", ErrorCode.INVALID_USERNAME, reason)])
