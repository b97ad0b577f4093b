"""The platform's paths, with paths in and outside of the console that fail."""

from typing import NoReturn

from django.contrib import admin
from django.db import OperationalError
from django.http import HttpRequest
from django.urls import path

from opsapi import urls
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError

SECRET = "the cause that is not shown"


def _fail(_request: HttpRequest) -> NoReturn:
    raise RuntimeError(SECRET)


def _lose_database(_request: HttpRequest) -> NoReturn:
    raise OperationalError(SECRET)


def _refuse(_request: HttpRequest) -> NoReturn:
    raise ApiError(ErrorCode.ALERT_CONFIG_NOT_FOUND, "a" * 24, "b" * 24)


urlpatterns = [
    path("admin/fails/", _fail),
    path("admin/away/", _lose_database),
    path("fails/", _fail),
    path("away/", _lose_database),
    path("admin/refuses/", admin.site.admin_view(_refuse)),
    *urls.urlpatterns,
]
handler400, handler403 = urls.handler400, urls.handler403
handler404, handler500 = urls.handler404, urls.handler500
