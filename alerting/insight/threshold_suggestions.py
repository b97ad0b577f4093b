"""The threshold that would have halved the recorded alerts of a configuration."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import F, Q

from alerting.budgets import Budget, OutOfTimeError
from alerting.configs.models import AlertConfig
from alerting.configs.rules import mean_of
from alerting.configs.store import config_view, shortest_delays
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.insight.noise import Noise
from alerting.insight.suggestions import (
    FEWEST_ALERTS,
    MeasuredAlert,
    ThresholdSuggestion,
    count_openings,
    suggest_threshold,
)
from automation.measurements.recorded_metrics import ReportedValues, SourceSpan, values_within
from automation.measurements.tiers import measurement_retention
from automation.metrics import Metric
from automation.models import Source
from opsapi.fields import Among

logger = logging.getLogger("opsapi.noise")

MOST_COMPARED: Final = 1_000
"""The most alerts that are compared with a threshold, the newest first."""
MOST_VALUES: Final = 20_000
"""The most values of these alerts. With more, no threshold is suggested."""
READING_SECONDS: Final = 2.0
"""The longest time to read these values. After it, no threshold is suggested."""
_MICROSECOND: Final = timedelta(microseconds=1)


def with_suggested_threshold(noise: Noise, config: AlertConfig) -> Noise:
    """Return the noise with a suggested threshold, if a threshold would have halved the alerts.

    If reading takes too long or fails, return the noise unchanged.
    """
    if noise.alerts < FEWEST_ALERTS or config.metric_threshold is None:
        return noise
    try:
        suggestion = _suggestion(noise, config)
    except OutOfTimeError:
        return noise
    except (LookupError, TypeError, ValueError, ArithmeticError):
        logger.exception("no threshold can be suggested for configuration %s", config.id)
        return noise
    return replace(noise, suggestions=[*noise.suggestions, suggestion]) if suggestion else noise


def _suggestion(noise: Noise, config: AlertConfig) -> ThresholdSuggestion | None:
    """Compare the newest alerts that open with the current threshold and delay, while their values are kept.

    Return None if the values of a long alert are missing, because the threshold could lose this alert.

    Raises:
        OutOfTimeError: reading took longer than READING_SECONDS.
    """
    threshold = config_view(config).metric_threshold
    if threshold is None:
        return None
    kept = measurement_retention()
    begin = max(noise.since, noise.until - kept) if kept else noise.since
    opened = Q(status=AlertStatus.OPEN.value) | Q(resolved__gte=F("opens"))
    rows = Alert.objects.filter(
        opened,
        Q(resolved=None) | Q(resolved__gt=begin),
        config_id=config.id,
        created__gte=noise.since,
        metric_name=threshold.metric.value,
    )
    alerts = list(rows.order_by("-created", "-id").values("facts", "created", "resolved")[:MOST_COMPARED])
    delay = shortest_delays([config.id]).get(config.id, timedelta())
    with Budget(time.monotonic() + READING_SECONDS, time.monotonic).statement():
        measured = _measured(alerts, threshold.metric, noise.until)
    if any(alert.is_long and not alert.has_values for alert in measured):
        return None
    compared = [alert for alert in measured if count_openings(threshold, alert, delay)]
    return suggest_threshold(threshold, compared, delay=delay)


def _measured(
    alerts: Sequence[Mapping[str, Any]], metric: Metric, until: datetime
) -> Sequence[MeasuredAlert]:
    """Return the alerts with their values; no alert if there are more than MOST_VALUES."""
    host_ids = [alert["facts"].get("hostId", "") for alert in alerts]
    rows = Source.objects.filter(Among("host_id", host_ids), database="")
    sources = dict(rows.values_list("host_id", "id"))
    # The report that started an alert has the time of its start, and a span begins after `since`.
    spans = [
        SourceSpan(sources.get(host_id, 0), alert["created"] - _MICROSECOND, alert["resolved"] or until)
        for host_id, alert in zip(host_ids, alerts, strict=True)
    ]
    reports = values_within(spans, metric, most=MOST_VALUES)
    if reports is None:
        return []
    return [
        MeasuredAlert(alert["created"], span.until, _from_start(alert["created"], means_of(some)))
        for alert, span, some in zip(alerts, spans, reports, strict=True)
    ]


def _from_start(
    start: datetime, values: Sequence[tuple[datetime, float]]
) -> Sequence[tuple[datetime, float]]:
    """Return the values, with the first value also at `start`, if there are at least two.

    An alert that a changed configuration started has no report at its start. A single value stays alone: it
    may be the value that ended the alert.
    """
    return [(start, values[0][1]), *values] if len(values) > 1 and values[0][0] > start else values


def means_of(reports: Sequence[ReportedValues]) -> list[tuple[datetime, float]]:
    """Return the time and the compared value of each report."""
    return [(report.reported, mean_of(report.values)) for report in reports]
