"""The platform as a Django app."""

from importlib.metadata import packages_distributions
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register


class OpsapiConfig(AppConfig):
    """The kernel, which collects the contributions of the other apps."""

    name = "opsapi"
    verbose_name = "Platform"
    root_links = {"errorCodes": "/errorCodes"}


_PACKAGES = ("opsapi", "accesslist", "alerting", "automation", "events", "integrations")
_HINT = "Install Ops API in a virtual environment of its own, as pipx does."


@register()
def packages_are_its_own(**_: Any) -> list[CheckMessage]:
    """opsapi.E003: another distribution installs a package of the same name, and one overwrites the other."""
    owners = packages_distributions()
    return [
        Error(f"the package {name} also comes from {', '.join(others)}", hint=_HINT, id="opsapi.E003")
        for name in _PACKAGES
        if (others := sorted({*owners.get(name, ())} - {"opsapi"}))
    ]
