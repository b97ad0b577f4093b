"""The platform as a Django app, its system checks, and what the other apps contribute to it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import packages_distributions
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from prometheus_client.metrics_core import Metric

from opsapi.helo import LAST_RESORT, helo_form, helo_name
from opsapi.own_url import REMEDY, guessed_url
from opsapi.postgresql.releases import the_server_has_the_newest_fixes

INSTALLATION = "installation"
"""The tag of the checks of an installation: its settings and packages. All other checks are about the code.

Commands run only these: the checks of the code import every page, which takes a second.
"""
HealthCheck = Callable[[], str | None]
"""Returns what is missing, or None."""
CollectMetrics = Callable[[], Iterable[Metric]]
"""Queries metrics from the database. Scrapes are frequent, so it must be cheap and limited."""


def root_links() -> dict[str, str]:
    """Return the `root_links` of all apps: relation name → path of the public API."""
    return {name: path for links in contributions("root_links") for name, path in links.items()}


def readiness() -> Mapping[str, HealthCheck]:
    """Return the `readiness` of all apps: name → check."""
    return {name: check for checks in contributions("readiness") for name, check in checks.items()}


def readiness_notes() -> Mapping[str, HealthCheck]:
    """Return the `readiness_notes` of all apps: name → what is off for a known, short time, or None."""
    return {name: note for notes in contributions("readiness_notes") for name, note in notes.items()}


def metrics() -> list[CollectMetrics]:
    """Return the `metrics` of all apps, in the order of the apps."""
    return [collect for contributed in contributions("metrics") for collect in contributed]


def contributions(attribute: str) -> Iterator[Any]:
    """Yield the attribute of every app that has it, in the order of the apps. A function is called."""
    for config in apps.get_app_configs():
        contributed = getattr(config, attribute, None)
        if contributed is not None:
            yield contributed() if callable(contributed) else contributed


class OpsapiConfig(AppConfig):
    """The kernel, which collects the contributions of the other apps."""

    name = "opsapi"
    verbose_name = "Platform"
    root_links = {"errorCodes": "/errorCodes"}

    def ready(self) -> None:
        """Register the check that asks the database: only `check --database default` runs it."""
        register(the_server_has_the_newest_fixes, Tags.database)


_PACKAGES = ("opsapi", "accesslist", "alerting", "automation", "events", "integrations")
_HINT = "Install Ops API in a virtual environment of its own, as pipx does."


@register(INSTALLATION)
def packages_are_its_own(**_: Any) -> list[CheckMessage]:
    """opsapi.E003: another distribution installs a package of the same name, and one overwrites the other."""
    owners = packages_distributions()
    return [
        Error(f"the package {name} also comes from {', '.join(others)}", hint=_HINT, id="opsapi.E003")
        for name in _PACKAGES
        if (others := sorted({*owners.get(name, ())} - {"opsapi"}))
    ]


@register(INSTALLATION)
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


@register(INSTALLATION)
def links_can_be_followed(**_: Any) -> list[CheckMessage]:
    """opsapi.W004: links begin with the machine's name, because the platform listens on all addresses."""
    warning = guessed_url()
    return [Warning(warning, hint=REMEDY, id="opsapi.W004")] if warning else []


_LOCAL_MAIL_SERVERS = ("localhost", "127.0.0.1", "::1")


@register(INSTALLATION)
def the_mail_server_gets_a_name(**_: Any) -> list[CheckMessage]:
    """opsapi.E004, opsapi.W005: mail servers refuse clients whose EHLO has no name, or only a short name."""
    if settings.OPSAPI_EMAIL_HELO and helo_form(settings.OPSAPI_EMAIL_HELO) is None:
        fault = f"OPSAPI_EMAIL_HELO: {settings.OPSAPI_EMAIL_HELO!r} is neither a host name nor an IP address"
        return [Error(fault, id="opsapi.E004")]
    name = helo_name()
    if settings.EMAIL_HOST in _LOCAL_MAIL_SERVERS or "." in name or name.startswith("["):
        return []
    source = "no setting gives a name" if name == LAST_RESORT else "the settings give this name"
    warning = f"the platform introduces itself to the mail server (EHLO) as {name!r}, because {source}"
    hint = "Set OPSAPI_EMAIL_HELO to the full name of this machine: strict mail servers refuse other names."
    return [Warning(warning, hint=hint, id="opsapi.W005")]
