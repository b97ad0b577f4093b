"""Browsers that logged in before: a signed cookie says with which name (OWASP, "device cookies").

The cookie lets nobody in. Its browser's failures have a count of their own (`accesslist.attempts`), so that
somebody who keeps trying the name from elsewhere does not keep its owner out.
"""

import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accesslist.rules.usernames import username_digest
from opsapi.console.path import CONSOLE_PATH

COOKIE = "opsapi_device"
DEVICE_LASTS = timedelta(days=90)
"""So long after its last log-in a browser is known."""
_SALT = "accesslist.devices"


def known_device(request: HttpRequest, username: str) -> str | None:
    """The id of the browser, when it logged in with this name before; None for any other cookie or none."""
    cookie = request.get_signed_cookie(COOKIE, default="", salt=_SALT, max_age=DEVICE_LASTS)
    device, _, name = (cookie or "").partition(".")
    return device if name == username_digest(username) else None


def device_remember(request: HttpRequest, response: HttpResponse) -> None:
    """Give the browser of the user who logged in its cookie; one that has it keeps its id and its count."""
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
