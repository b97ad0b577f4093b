"""Metrics of the fleet at `/metrics`."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from automation.services.old_measurements import old_measurements_left
from opsapi.metric_series import gauge

_LEFT = gauge(
    "opsapi_measurements_to_move",
    "Estimated number of host reports from an earlier version that still have to be moved.",
)


def fleet_metrics() -> Iterator[Metric]:
    """Rows that are not moved yet."""
    yield _LEFT.of(old_measurements_left())
