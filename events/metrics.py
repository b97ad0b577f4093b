"""Metrics of the outbox."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from events.models import Signal
from events.selectors import oldest_signal
from opsapi import clock
from opsapi.metric_series import gauge

_LAG = gauge("opsapi_evaluation_lag_seconds", "Age of the oldest unevaluated signal.")
_SET_ASIDE = gauge("opsapi_signals_set_aside", "Signals of the last week that could not be evaluated.")


def signal_metrics() -> Iterator[Metric]:
    """The delay of evaluation in seconds, and signals that could not be evaluated."""
    now = clock.now()
    oldest = oldest_signal(now)
    yield _LAG.of((now - oldest).total_seconds() if oldest else 0)
    yield _SET_ASIDE.of(Signal.objects.filter(failed__isnull=False).count())
