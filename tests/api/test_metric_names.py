"""The published catalogue of metrics."""

from typing import Any

import pytest

from automation.metrics import Metric
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db


@pytest.fixture
def metrics(owner: ApiClient) -> dict[str, dict[str, Any]]:
    """By name."""
    answer = owner.get("/metricNames?itemsPerPage=500")
    assert answer.status_code == 200
    return {row["metricName"]: row for row in answer.json()["results"]}


def test_every_metric_is_listed(metrics: dict[str, dict[str, Any]]) -> None:
    assert list(metrics) == [metric.value for metric in Metric]


@each(
    ("name", "facts"),
    [
        (
            "CONNECTIONS",
            {
                "units": "RAW",
                "allowedUnits": ["RAW"],
                "meaning": "Open connections of clients.",
                "kind": "GAUGE",
                "engines": ["MONGODB", "POSTGRESQL"],
                "deprecated": False,
            },
        ),
        ("CACHE_FILL_RATIO", {"units": "PERCENT", "allowedUnits": ["PERCENT"], "engines": ["MONGODB"]}),
        ("OPCOUNTER_INSERT", {"units": "RAW", "kind": "RATE", "engines": ["MONGODB"]}),
        ("PG_WAL_BYTES", {"units": "BYTES", "kind": "RATE", "engines": ["POSTGRESQL"]}),
        ("JOURNALING_MB", {"units": "RAW", "deprecated": True}),
    ],
)
def test_a_metric_says_what_it_means(
    metrics: dict[str, dict[str, Any]], name: str, facts: dict[str, Any]
) -> None:
    assert facts.items() <= metrics[name].items()
