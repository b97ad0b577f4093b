"""The console as a Django app, in place of `django.contrib.admin`."""

from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    """Django's admin with a site of our own."""

    default_site = "opsapi.console.site.ConsoleSite"
