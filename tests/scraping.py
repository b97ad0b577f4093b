"""Scrapes `/metrics` and parses the result."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(path: str = "/metrics", **headers: Any) -> Any:
    """One scrape, without a key."""
    return Client(enforce_csrf_checks=True).get(path, **headers)


def samples() -> Samples:
    """The scraped values, by name and labels."""
    answer = scrape()
    assert answer.status_code == 200, answer.content
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def value(metrics: Samples, name: str, **labels: str) -> float | None:
    """The value of a series; None if it is absent."""
    return metrics.get((f"opsapi_{name}", frozenset(labels.items())))


@contextmanager
def counted(name: str, by: int, **labels: str) -> Iterator[None]:
    """Between the beginning and the end of the block the counter grows by that much."""
    before = value(samples(), name, **labels) or 0
    yield
    assert (value(samples(), name, **labels) or 0) - before == by
