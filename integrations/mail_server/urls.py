"""URLs of the mail server, below `/admin/mail-server/`."""

from collections.abc import Callable

from django.contrib import admin
from django.http import HttpResponse
from django.urls import path

from integrations.mail_server.pages import mail_server_page

_guarded: Callable[..., HttpResponse] = admin.site.admin_view(mail_server_page)

urlpatterns = [path("", _guarded, name="mail_server")]
