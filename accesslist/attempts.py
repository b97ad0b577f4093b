"""Limits of console log-in attempts.

A browser that has logged in with the name before has its own counter (`accesslist.devices`). Attempts of
other browsers are counted by address and, with a far higher limit, by name, so that somebody who keeps trying
a name does not lock out its owner.

An attempt is counted before the password is checked, so that parallel attempts cannot exceed the limit. A
successful attempt is given back.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest

from accesslist.devices import known_device
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.rules.usernames import username_digest
from accesslist.throttles import give_back, hit
from opsapi import clock
from opsapi.api.addresses import client_address, counted_range
from opsapi.console.login_policy import Attempt, LoginRefusedError, RefusalCode

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
    place = f"login address {counted_range(address)}" if address else f"login without address {name}"
    # Six digits are easier to guess than a password, and few callers get this far.
    return [place, f"login code {name}" if after_password else f"{_NAME}{name}"]


def _limit(bucket: str) -> int:
    attempts: int = settings.OPSAPI_LOGIN_ATTEMPTS
    return attempts * NAME_FACTOR if bucket.startswith(_NAME) else attempts
