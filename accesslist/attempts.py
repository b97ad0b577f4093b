"""Attempts to log in to the console, and their limits.

A browser that logged in with the name before has a count of its own (`accesslist.devices`). Attempts of other
browsers are counted by address and, with a far higher limit, by name: somebody who keeps trying a name does
not lock its owner out. An attempt is counted before anything is checked, so that however many come at once,
no more are checked than the limits allow. An attempt that succeeds is given back.
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
from opsapi.console.doorkeeper import Attempt, LoginRefusedError, RefusalCode

LOGIN_WINDOW = timedelta(minutes=5)
NAME_FACTOR = 10
"""How many times OPSAPI_LOGIN_ATTEMPTS one name may fail, from all addresses together."""
_NAME = "login name "


def attempt_take(request: HttpRequest, username: str, *, after_password: bool = False) -> Attempt:
    """Take one attempt of those left to the browser, or to the address and the name.

    `after_password`: the caller gave the right password before, and may be guessing at the rest.

    Raises:
        LoginRefusedError: as many as allowed failed in LOGIN_WINDOW; then none is taken.
    """
    taken: Attempt = {}
    for bucket in _buckets(request, username, after_password=after_password):
        counted = hit(bucket, limit=_limit(bucket), window=LOGIN_WINDOW, now=clock.now())
        if counted.wait is not None:
            attempt_give_back(taken)
            raise _refused(counted.wait)
        taken[bucket] = counted.started.isoformat()
    return taken


def attempt_give_back(attempt: Attempt) -> None:
    """Count it no longer: it succeeded, or nothing was checked."""
    for bucket, started in attempt.items():
        give_back(bucket, started=datetime.fromisoformat(started), limit=_limit(bucket))


def _refused(wait: int) -> LoginRefusedError:
    count_failure(FailedAuthentication.THROTTLED)
    message = f"Too many attempts to log in. Try again in {wait} seconds."
    return LoginRefusedError(message, RefusalCode.THROTTLED, wait)


def _buckets(request: HttpRequest, username: str, *, after_password: bool) -> list[str]:
    """The address comes first: one that is refused leaves no rows of names.

    Names are hashed: people type passwords into the wrong field, and rows can be read.
    """
    if device := known_device(request, username):
        return [f"login device {device}"]
    name = username_digest(username)
    address = client_address(request)
    place = f"login address {counted_range(address)}" if address else f"login without address {name}"
    # Six digits are guessed sooner than a password, and few get as far.
    return [place, f"login code {name}" if after_password else f"{_NAME}{name}"]


def _limit(bucket: str) -> int:
    attempts: int = settings.OPSAPI_LOGIN_ATTEMPTS
    return attempts * NAME_FACTOR if bucket.startswith(_NAME) else attempts
