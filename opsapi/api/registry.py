"""Contributions of the apps to the platform: attributes of their AppConfig."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.apps import apps
from prometheus_client.metrics_core import Metric

HealthCheck = Callable[[], str | None]
"""Answers what is missing, or None."""
CollectMetrics = Callable[[], Iterable[Metric]]
"""Queries metrics from the database: cheaply and with a limit, because scrapes are frequent."""


def root_links() -> dict[str, str]:
    """Relation name → path of the public API, of every app's `root_links`, in the apps' order."""
    found: dict[str, str] = {}
    for contributed in contributions("root_links"):
        found.update(contributed)
    return found


def readiness() -> Mapping[str, HealthCheck]:
    """Name → check of every app's `readiness`."""
    found: dict[str, HealthCheck] = {}
    for contributed in contributions("readiness"):
        found.update(contributed)
    return found


def metrics() -> list[CollectMetrics]:
    """Every app's `metrics`, in the apps' order."""
    return [collect for contributed in contributions("metrics") for collect in contributed]


def contributions(attribute: str) -> Iterator[Any]:
    """Every app's attribute of that name, in the apps' order; it may be a function that answers it."""
    for config in apps.get_app_configs():
        contributed = getattr(config, attribute, None)
        if contributed is not None:
            yield contributed() if callable(contributed) else contributed
