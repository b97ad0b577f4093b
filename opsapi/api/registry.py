"""What the apps contribute to the platform: attributes of their AppConfig (architecture, inversion 3)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.apps import apps

HealthCheck = Callable[[], str | None]
"""Answers what is missing, or None."""


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


def _contributions(attribute: str) -> Iterator[Any]:
    for config in apps.get_app_configs():
        contributed = getattr(config, attribute, None)
        if contributed is not None:
            yield contributed() if callable(contributed) else contributed
