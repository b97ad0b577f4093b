"""The console as a Django app, in place of `django.contrib.admin`."""

from typing import Any

import django_stubs_ext
from django.contrib.admin import autodiscover
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks

# Allows type parameters on Django's generic classes, for mypy --strict. It is here, in the first app of ours,
# and not in the settings, because it imports the ORM, which neither `serve` nor gunicorn's master needs.
django_stubs_ext.monkeypatch()


class ConsoleConfig(SimpleAdminConfig):
    """Django's admin with a site of our own. `opsapi.urls` imports its pages: commands need none of them."""

    default_site = "opsapi.console.site.ConsoleSite"

    def ready(self) -> None:
        """The page checks import the pages first."""
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_pages, checks.Tags.admin)


def _check_pages(**arguments: Any) -> list[checks.CheckMessage]:
    autodiscover()
    messages: list[checks.CheckMessage] = check_admin_app(**arguments)
    return messages
