"""Decides who may set up an installation: a browser on this machine, or a visitor with the token."""

from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.throttles import throttle
from opsapi import clock
from opsapi.api.addresses import address_of, client_address, counted_range, is_forwarded, peer_address
from opsapi.setup_link import is_setup_token

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
