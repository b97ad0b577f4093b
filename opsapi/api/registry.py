"""What the apps contribute to the platform: attributes of their AppConfig (architecture, inversion 3)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.apps import apps
from prometheus_client.metrics_core import Metric

from opsapi.console.parts import ContributeParts, ContributeRowPanel

HealthCheck = Callable[[], str | None]
"""Answers what is missing, or None."""
CollectMetrics = Callable[[], Iterable[Metric]]
"""Asks the database for what is to be told of it: cheaply, and within bounds, for it is asked often."""
ReferencePart = Callable[[], str]
"""Markdown of a page of docs/reference, or of a part of one."""


def root_links() -> dict[str, str]:
    """Relation name → path of the public API, of every app's `root_links`, in the apps' order."""
    found: dict[str, str] = {}
    for contributed in _contributions("root_links"):
        found.update(contributed)
    return found


def readiness() -> Mapping[str, HealthCheck]:
    """Name → check of every app's `readiness`."""
    found: dict[str, HealthCheck] = {}
    for contributed in _contributions("readiness"):
        found.update(contributed)
    return found


def metrics() -> list[CollectMetrics]:
    """Every app's `metrics`, in the apps' order."""
    return [collect for contributed in _contributions("metrics") for collect in contributed]


def reference() -> list[tuple[str, ReferencePart]]:
    """File name and text of every app's `reference`, in the apps' order."""
    return [part for contributed in _contributions("reference") for part in contributed.items()]


def overview() -> list[ContributeParts]:
    """Every app's `overview`, parts of the console's start page: what alerts people comes first."""
    contributed = [contribute for each in _contributions("overview") for contribute in each]
    return contributed[::-1]


def host_panels() -> list[ContributeRowPanel]:
    """Every app's `host_panels`: what it knows of a host, for the host's page in the console."""
    return [contribute for each in _contributions("host_panels") for contribute in each]


def _contributions(attribute: str) -> Iterator[Any]:
    for config in apps.get_app_configs():
        contributed = getattr(config, attribute, None)
        if contributed is not None:
            yield contributed() if callable(contributed) else contributed
