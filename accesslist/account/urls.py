"""URLs of the account, below `/admin/account/`, for all users of the console."""

from collections.abc import Callable

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from accesslist.account import actions
from accesslist.account.pages import overview, page, setup_page


def _of_console(route: str, view: Callable[[HttpRequest], HttpResponse], name: str) -> URLPattern:
    guarded: Callable[..., HttpResponse] = admin.site.admin_view(view)
    return path(route, guarded, name=name)


urlpatterns = [
    _of_console("", overview, "account"),
    _of_console("password/", page(actions.CHANGE_PASSWORD), "account_password"),
    _of_console("sessions/", page(actions.END_SESSIONS), "account_sessions"),
    _of_console("second-factor/", page(actions.BEGIN), "account_second_factor"),
    _of_console("second-factor/setup/", setup_page, "account_setup"),
    _of_console("second-factor/recovery-codes/", page(actions.RENEW_CODES), "account_recovery_codes"),
    _of_console("second-factor/remove/", page(actions.REMOVE), "account_remove_second_factor"),
]
