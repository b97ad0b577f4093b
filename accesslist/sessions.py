"""The operator of a console session (docs/architecture.md, "Principal")."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from accesslist.models import User
from accesslist.principal import UserPrincipal
from opsapi.api.addresses import client_address


def operator(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
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
    address = client_address(request)
    return UserPrincipal(user, str(address) if address else None)
