"""Metrics of the outbox."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from events.models import Signal
from opsapi import clock
from opsapi.metric_series import gauge

_LAG = gauge("opsapi_evaluation_lag_seconds", "Age of the oldest unevaluated signal.")
_SET_ASIDE = gauge("opsapi_signals_set_aside", "Signals of the last week that could not be evaluated.")


def signal_metrics() -> Iterator[Metric]:
    """The delay of evaluation in seconds, and signals that could not be evaluated."""
    oldest = Signal.objects.filter(failed=None).order_by("id").values_list("created", flat=True).first()
    lag = (clock.now() - oldest).total_seconds() if oldest else 0
    yield _LAG.of(max(0, lag))
    yield _SET_ASIDE.of(Signal.objects.filter(failed__isnull=False).count())
