"""Metrics of the outbox."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from events.outbox.models import Signal
from opsapi.metric_series import gauge

_SET_ASIDE = gauge("opsapi_signals_set_aside", "Signals of the last week that could not be evaluated.")


def signal_metrics() -> Iterator[Metric]:
    """Signals that could not be evaluated."""
    yield _SET_ASIDE.of(Signal.objects.filter(failed__isnull=False).count())
