"""OPSAPI_SECOND_FACTOR=required: users without a second factor must set one up first."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from accesslist.selectors.second_factors import has_second_factor
from opsapi.console.path import CONSOLE_PATH


def second_factor_required(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Redirect every page of the console to the setup, except the setup itself and the log-out."""

    def handle(request: HttpRequest) -> HttpResponse:
        if _is_asked_for(request) and not has_second_factor(str(request.user.pk)):
            return redirect("account_second_factor")
        return get_response(request)

    return handle


def _is_asked_for(request: HttpRequest) -> bool:
    if settings.OPSAPI_SECOND_FACTOR != "required" or not request.path_info.startswith(CONSOLE_PATH):
        return False
    open_pages = (reverse("account_second_factor"), reverse("admin:login"), reverse("admin:logout"))
    return not request.path_info.startswith(open_pages) and request.user.is_authenticated
