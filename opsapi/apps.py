"""The platform as a Django app."""

from importlib.metadata import packages_distributions
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register


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


@register()
def the_proxy_in_front_is_trusted(**_: Any) -> list[CheckMessage]:
    """opsapi.W002: clients behind a proxy that is not trusted all have the address of the proxy."""
    ends_tls_itself = settings.OPSAPI_TLS_CERT or not settings.OPSAPI_PUBLIC_URL.startswith("https://")
    if ends_tls_itself or settings.OPSAPI_TRUSTED_PROXIES:
        return []
    warning = (
        "OPSAPI_PUBLIC_URL is https without OPSAPI_TLS_CERT, so a proxy is in front, but"
        " OPSAPI_TRUSTED_PROXIES is empty: access lists, throttles and connection limits treat all clients as"
        " one address."
    )
    hint = "Set OPSAPI_TRUSTED_PROXIES to the address of the proxy as the platform sees it."
    return [Warning(warning, hint=hint, id="opsapi.W002")]
