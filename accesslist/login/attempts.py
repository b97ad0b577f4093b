"""Limits of console log-in attempts, and the browsers that have logged in before (OWASP, "device cookies").

A browser that has logged in with the name before has its own counter, by a signed cookie that does not log
anybody in. Attempts of other browsers are counted by address and, with a far higher limit, by name, so that
somebody who keeps trying a name does not lock out its owner.

An attempt is counted before the password is checked, so that parallel attempts cannot exceed the limit. A
successful attempt is given back.
"""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.throttles import give_back, hit
from accesslist.users.rules import username_digest
from opsapi import clock
from opsapi.api.addresses import client_address, counted_range
from opsapi.console.login_policy import Attempt, LoginRefusedError, RefusalCode
from opsapi.page_paths import CONSOLE_PATH

COOKIE = "opsapi_device"
DEVICE_LASTS = timedelta(days=90)
"""How long a browser is remembered after its last log-in."""
_SALT = "accesslist.devices"  # cookies outlive the names of modules


def known_device(request: HttpRequest, username: str) -> str | None:
    """The ID of the browser if it has logged in with this name before, otherwise None."""
    cookie = request.get_signed_cookie(COOKIE, default="", salt=_SALT, max_age=DEVICE_LASTS)
    device, _, name = (cookie or "").partition(".")
    return device if name == username_digest(username) else None


def device_remember(request: HttpRequest, response: HttpResponse) -> None:
    """Set the cookie of the user who logged in.

    A browser that already has it keeps its ID and its counter.
    """
    username = request.user.get_username()
    device = known_device(request, username) or secrets.token_hex(16)
    response.set_signed_cookie(
        COOKIE,
        f"{device}.{username_digest(username)}",
        salt=_SALT,
        max_age=DEVICE_LASTS,
        path=CONSOLE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


LOGIN_WINDOW = timedelta(minutes=5)
NAME_FACTOR = 10
"""Limit of failures of a name from all addresses together, as a multiple of OPSAPI_LOGIN_ATTEMPTS."""
_NAME = "login name "


def attempt_take(request: HttpRequest, username: str, *, after_password: bool = False) -> Attempt:
    """Take an attempt from the browser's counter, or from the counters of the address and the name.

    `after_password`: the caller gave the right password and may be guessing the code.

    Raises:
        LoginRefusedError: as many as allowed failed in LOGIN_WINDOW; then no counter changes.
    """
    counted_attempts: Attempt = {}
    for bucket in _buckets(request, username, after_password=after_password):
        counted = hit(bucket, limit=_limit(bucket), window=LOGIN_WINDOW, now=clock.now())
        if counted.wait is not None:
            attempt_give_back(counted_attempts)
            raise _refused(counted.wait)
        counted_attempts[bucket] = counted.started.isoformat()
    return counted_attempts


def attempt_give_back(attempt: Attempt) -> None:
    """Give the attempt back: it succeeded, or nothing was checked."""
    for bucket, started in attempt.items():
        give_back(bucket, started=datetime.fromisoformat(started), limit=_limit(bucket))


def _refused(wait: int) -> LoginRefusedError:
    count_failure(FailedAuthentication.THROTTLED)
    message = f"Too many log-in attempts. Try again in {wait} seconds."
    return LoginRefusedError(message, RefusalCode.THROTTLED, wait)


def _buckets(request: HttpRequest, username: str, *, after_password: bool) -> list[str]:
    """Buckets, the address first: a refused address creates no rows of names.

    Names are hashed because people type passwords into the wrong field, and operators can read the rows.
    """
    if device := known_device(request, username):
        return [f"login device {device}"]
    name = username_digest(username)
    address = client_address(request)
    origin = f"login address {counted_range(address)}" if address else f"login without address {name}"
    # Six digits are easier to guess than a password, and few callers get this far.
    return [origin, f"login code {name}" if after_password else f"{_NAME}{name}"]


def _limit(bucket: str) -> int:
    attempts: int = settings.OPSAPI_LOGIN_ATTEMPTS
    return attempts * NAME_FACTOR if bucket.startswith(_NAME) else attempts
