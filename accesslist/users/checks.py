"""The rules for usernames and passwords, and who may reset a password or second factor."""

import secrets
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accesslist.roles.rules import resetter_of
from accesslist.users.models import User
from accesslist.users.rules import character_fault, username_key
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, needs_role
from opsapi.roles import INSTALLATION, Grant, satisfies

_LONGEST_KEY = 600
_PASSWORD_BYTES = 16
_DRAWS = 100


def username_fault(username: str) -> BadField | None:
    """Why a username cannot be used: its characters, its length, or OPSAPI_USERNAME_VALIDATION."""
    if reason := character_fault(username):
        return _bad_username(reason)
    # A few characters become many under NFKC; the unique index has to hold the result.
    if len(username_key(username)) > _LONGEST_KEY:
        return _bad_username("it is too long in its canonical form")
    rule = settings.OPSAPI_USERNAME_VALIDATION
    if rule == "loose" and "." not in username.partition("@")[2]:
        return _bad_username("it must contain an @ with a dot after it (OPSAPI_USERNAME_VALIDATION=loose)")
    if rule == "strict" and as_email(username) is None:
        return _bad_username("it must be an e-mail address (OPSAPI_USERNAME_VALIDATION=strict)")
    return None


def as_email(username: str) -> str | None:
    """Return the name if it is an e-mail address, for use as the user's address; otherwise None."""
    try:
        validate_email(username)
    except ValidationError:
        return None
    return username


def password_fault(password: str, user: User) -> BadField | None:
    """Why Django's validators refuse a password for this user."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        return BadField("password", ErrorCode.WEAK_PASSWORD, " ".join(error.messages))
    return None


def random_password(user: User) -> str:
    """Return a random password of 22 characters (128 bits) for the user, which Django's validators accept.

    They refuse passwords with many letters of a name, so a random password can be refused by chance.

    Raises:
        ApiError: WEAK_PASSWORD, if none of 100 random passwords is accepted.
    """
    for _ in range(_DRAWS):
        password = secrets.token_urlsafe(_PASSWORD_BYTES)
        if password_fault(password, user) is None:
            return password
    raise ApiError.of_field(
        "password", ErrorCode.WEAK_PASSWORD, f"each of {_DRAWS} random passwords resembles a name of the user"
    )


def check_password(password: str, user: User) -> None:
    """Refuse a password that Django's validators reject.

    Raises:
        ApiError: WEAK_PASSWORD.
    """
    if fault := password_fault(password, user):
        raise ApiError.of_fields([fault])


def check_new_user(password: str, user: User) -> None:
    """Refuse an invalid name or a weak password.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD; `badFields` contains both faults.
    """
    faults = [username_fault(user.username), password_fault(password, user)]
    if bad := [fault for fault in faults if fault]:
        raise ApiError.of_fields(bad)


def check_resets(user: User, by: Sequence[Grant]) -> None:
    """Refuse callers who may not reset the user's log-in; roles of the user's teams count, too.

    Raises:
        ApiError: USER_UNAUTHORIZED.
    """
    needed = resetter_of(user.grants_held)
    if not satisfies(by, needed, INSTALLATION):
        raise needs_role([needed])


def _bad_username(reason: str) -> BadField:
    return BadField("username", ErrorCode.INVALID_USERNAME, reason)
