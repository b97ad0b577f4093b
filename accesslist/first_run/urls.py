"""URLs of the first set-up, below `/admin/setup/`. They need no log-in."""

from django.urls import path

from accesslist.first_run.pages import setup_page, token_page

urlpatterns = [
    path("", setup_page, name="setup"),
    path("token/", token_page, name="setup_token"),
]
