"""The threshold that would have halved the recorded alerts of a configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import F, Q

from alerting.choices import AlertStatus
from alerting.models import Alert, AlertConfig
from alerting.rules.noise import Noise
from alerting.rules.suggestions import FEWEST_ALERTS, MeasuredAlert, openings, suggest_threshold
from alerting.rules.thresholds import mean_of
from alerting.selectors.config_views import config_view
from alerting.selectors.notification_settings import shortest_delays
from automation.metrics import Metric
from automation.models import Source
from automation.selectors.measurements import measurement_retention
from automation.selectors.recorded_metrics import ReportedValues, SourceSpan, values_within
from opsapi.fields import Among

MOST_COMPARED: Final = 1_000
"""The most alerts that are compared with a threshold, the newest first."""
MOST_VALUES: Final = 20_000
"""The most values of these alerts. With more, no threshold is suggested."""
_MICROSECOND: Final = timedelta(microseconds=1)


def with_suggested_threshold(noise: Noise, config: AlertConfig) -> Noise:
    """Add a threshold that would have halved the alerts, if there is any, to the noise of a configuration.

    It compares the newest alerts that open with the current threshold and delay, while their values are kept.
    Without the values of an alert that lasted long nothing is added, because the threshold could lose it.
    """
    threshold = config_view(config).metric_threshold
    if threshold is None or noise.alerts < FEWEST_ALERTS:
        return noise
    kept = measurement_retention()
    begin = max(noise.since, noise.until - kept) if kept else noise.since
    opened = Q(status=AlertStatus.OPEN.value) | Q(resolved__gte=F("opens"))
    rows = Alert.objects.filter(
        opened, config_id=config.id, created__gte=begin, metric_name=threshold.metric.value
    )
    alerts = list(rows.order_by("-created", "-id").values("facts", "created", "resolved")[:MOST_COMPARED])
    delay = shortest_delays([config.id]).get(config.id, timedelta())
    measured = []
    for alert in _measured(alerts, threshold.metric, noise.until):
        if openings(threshold, alert, delay):
            measured.append(alert)
        elif alert.is_long and not alert.values:
            return noise
    suggestion = suggest_threshold(threshold, measured, delay=delay)
    return replace(noise, suggestions=[*noise.suggestions, suggestion]) if suggestion else noise


def _measured(
    alerts: Sequence[Mapping[str, Any]], metric: Metric, until: datetime
) -> Iterator[MeasuredAlert]:
    """Yield the alerts with their values; no alert if there are more than MOST_VALUES."""
    host_ids = [alert["facts"].get("hostId", "") for alert in alerts]
    sources = dict(
        Source.objects.filter(Among("host_id", host_ids), database="").values_list("host_id", "id")
    )
    # The report that started an alert has the time of its start, and a span begins after `since`.
    spans = [
        SourceSpan(sources.get(host_id, 0), alert["created"] - _MICROSECOND, alert["resolved"] or until)
        for host_id, alert in zip(host_ids, alerts, strict=True)
    ]
    values = values_within(spans, metric, most=MOST_VALUES)
    if values is None:
        return
    for alert, span, reports in zip(alerts, spans, values, strict=True):
        yield MeasuredAlert(alert["created"], span.until, means_of(reports))


def means_of(reports: Sequence[ReportedValues]) -> list[tuple[datetime, float]]:
    """Return the time and the compared value of each report."""
    return [(report.reported, mean_of(report.values)) for report in reports]
