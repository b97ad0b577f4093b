"""What the apps contribute to the platform: attributes of their AppConfig."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.apps import apps
from prometheus_client.metrics_core import Metric

HealthCheck = Callable[[], str | None]
"""Returns what is missing, or None."""
CollectMetrics = Callable[[], Iterable[Metric]]
"""Queries metrics from the database. Scrapes are frequent, so it must be cheap and limited."""


def root_links() -> dict[str, str]:
    """Return the `root_links` of all apps: relation name → path of the public API."""
    found: dict[str, str] = {}
    for contributed in contributions("root_links"):
        found.update(contributed)
    return found


def readiness() -> Mapping[str, HealthCheck]:
    """Return the `readiness` of all apps: name → check."""
    found: dict[str, HealthCheck] = {}
    for contributed in contributions("readiness"):
        found.update(contributed)
    return found


def metrics() -> list[CollectMetrics]:
    """Return the `metrics` of all apps, in the order of the apps."""
    return [collect for contributed in contributions("metrics") for collect in contributed]


def contributions(attribute: str) -> Iterator[Any]:
    """Yield the attribute of every app that has it, in the order of the apps. A function is called."""
    for config in apps.get_app_configs():
        contributed = getattr(config, attribute, None)
        if contributed is not None:
            yield contributed() if callable(contributed) else contributed
