"""Middleware of the console: the operator of a session, and the second factor that settings require."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from accesslist.login.store import has_second_factor
from accesslist.principal import UserPrincipal
from accesslist.users.models import User
from opsapi.api.addresses import remote_address
from opsapi.page_paths import CONSOLE_PATH
from opsapi.time_zones import known_zone

ZONE_COOKIE = "consoleZone"
"""The cookie with the zone of the browser, which `console/times.js` sets."""
Respond = Callable[[HttpRequest], HttpResponse]


def operator(get_response: Respond) -> Respond:
    """Give each request `auth`, the principal of its session, or None without a log-in.

    The look-up happens at the first use, so requests with keys never query it.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        request.auth = SimpleLazyObject(lambda: _principal(request))  # type: ignore[attr-defined]  # Django's request is open for such attributes
        return get_response(request)

    return handle


def _principal(request: HttpRequest) -> UserPrincipal | None:
    user = request.user
    if not isinstance(user, User):
        return None
    zone = known_zone(user.time_zone, request.COOKIES.get(ZONE_COOKIE, ""))
    return UserPrincipal(user, remote_address(request), time_zone=zone)


def second_factor_required(get_response: Respond) -> Respond:
    """With OPSAPI_SECOND_FACTOR=required, redirect users without a second factor to its setup.

    The pages of the setup, the log-in and the log-out stay open.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        # A password that somebody else set is changed first (`LoginPolicy.first_page`).
        if (
            _needs_second_factor(request)
            and not getattr(request.user, "password_given", False)
            and not has_second_factor(str(request.user.pk))
        ):
            return redirect("account_second_factor")
        return get_response(request)

    return handle


def _needs_second_factor(request: HttpRequest) -> bool:
    if settings.OPSAPI_SECOND_FACTOR != "required" or not request.path_info.startswith(CONSOLE_PATH):
        return False
    open_pages = (reverse("account_second_factor"), reverse("admin:login"), reverse("admin:logout"))
    return not request.path_info.startswith(open_pages) and request.user.is_authenticated
