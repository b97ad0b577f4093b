"""Browsers that have logged in before, known by a signed cookie (OWASP, "device cookies").

The cookie does not log anybody in. It gives the failures of its browser their own counter
(`accesslist.attempts`), so that somebody who tries the name from elsewhere does not lock out its owner.
"""

import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accesslist.rules.usernames import username_digest
from opsapi.console.path import CONSOLE_PATH

COOKIE = "opsapi_device"
DEVICE_LASTS = timedelta(days=90)
"""How long a browser is remembered after its last log-in."""
_SALT = "accesslist.devices"


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
