"""Attempts to show who one is, by name and by address: those that fail count (decisions 3 "throttles").

An attempt is taken before anything is checked, so that however many come at once, no more are checked than
the limit allows; one that succeeds is given back.
"""

import hashlib
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_network

from django.conf import settings
from django.http import HttpRequest

from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.models import username_key
from accesslist.throttles import give_back, hit
from opsapi import clock
from opsapi.api.addresses import Address, client_address
from opsapi.console.doorkeeper import Attempt, LoginRefusedError, RefusalCode

LOGIN_WINDOW = timedelta(minutes=5)
# Whoever has one IPv6 address has at least so large a network of them.
_IPV6_PREFIX = 64


def attempt_take(request: HttpRequest, username: str) -> Attempt:
    """Take one attempt of those left to the name and to the address.

    Raises:
        LoginRefusedError: OPSAPI_LOGIN_ATTEMPTS failed in LOGIN_WINDOW; then none is taken.
    """
    taken: Attempt = {}
    for bucket in _buckets(client_address(request), username):
        counted = hit(bucket, limit=settings.OPSAPI_LOGIN_ATTEMPTS, window=LOGIN_WINDOW, now=clock.now())
        if counted.wait is not None:
            attempt_give_back(taken)
            raise _refused(counted.wait)
        taken[bucket] = counted.started.isoformat()
    return taken


def attempt_give_back(attempt: Attempt) -> None:
    """Count it no longer: it succeeded, or nothing was checked."""
    for bucket, started in attempt.items():
        give_back(bucket, started=datetime.fromisoformat(started), limit=settings.OPSAPI_LOGIN_ATTEMPTS)


def _refused(wait: int) -> LoginRefusedError:
    count_failure(FailedAuthentication.THROTTLED)
    message = f"Too many attempts to log in. Try again in {wait} seconds."
    return LoginRefusedError(message, RefusalCode.THROTTLED, wait)


def _buckets(address: Address | None, username: str) -> list[str]:
    """The address comes first: one that is refused leaves no rows of names.

    Names are hashed: people type passwords into the wrong field, and rows can be read.
    """
    name = hashlib.sha256(username_key(username).encode()).hexdigest()[:32]
    return [*([f"login address {_place(address)}"] if address else []), f"login name {name}"]


def _place(address: Address) -> str:
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)
