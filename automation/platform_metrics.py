"""What the fleet tells of itself at `/metrics`."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from automation.services.old_measurements import old_measurements_left
from opsapi.metric_series import gauge

_LEFT = gauge(
    "opsapi_measurements_to_move",
    "Reports of a host, stored by an earlier version, that are still to be moved; an estimate, 0 at the end.",
)


def fleet_metrics() -> Iterator[Metric]:
    """What is still to be moved."""
    yield _LEFT.of(old_measurements_left())
