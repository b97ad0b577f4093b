"""What was measured around an alert, read for its story."""

from collections.abc import Collection
from datetime import datetime
from statistics import fmean
from typing import Any

from django.db import connection

from alerting.models import Alert
from alerting.rules.around import Measured, Span, in_units, metric_shown, span_around
from alerting.rules.thresholds import MetricThreshold
from automation.metrics import Metric
from automation.models import Measurement

# Of each bucket the lowest and the highest sample, as they were measured: a mean would hide the very
# samples that left the threshold. Samples may be an hour older and five minutes newer than the report
# they came with.
_EXTREMES = """
SELECT (array_agg(taken.moment ORDER BY taken.number, taken.moment))[1], min(taken.number),
       (array_agg(taken.moment ORDER BY taken.number DESC, taken.moment))[1], max(taken.number)
  FROM automation_measurement AS report
 CROSS JOIN LATERAL jsonb_array_elements(report.metrics -> %(metric)s::text) AS one (sample)
 CROSS JOIN LATERAL (SELECT (one.sample ->> 0)::timestamptz, (one.sample -> 1)::float8)
       AS taken (moment, number)
 WHERE report.host_id = %(host)s
   AND report.reported >= %(since)s::timestamptz - interval '5 minutes'
   AND report.reported < %(until)s::timestamptz + interval '1 hour 1 second'
   AND taken.moment BETWEEN %(since)s AND %(until)s
 GROUP BY date_bin(%(bucket)s, taken.moment, %(since)s)
"""


def measured_around(alert: Alert, threshold: MetricThreshold | None, *, now: datetime) -> Measured | None:
    """The alert's metric around the alert, or else a metric that shows the load of its host.

    None if the alert is about no host, or if no measurements are left: they are deleted after a while.
    """
    host_id = alert.facts.get("hostId")
    if host_id is None:
        return None
    span = span_around(alert.created, alert.resolved, now)
    metric = metric_shown(alert.metric_name, _names_measured(host_id, span))
    if metric is None:
        return None
    return in_units(metric, span, _points(host_id, metric, span), threshold)


def first_value(alert: Alert) -> tuple[float, datetime] | None:
    """The value that began an alert about a metric, in its base unit, and when it was reported.

    That was before the alert began, where it was a configuration that changed. None once it is gone.
    """
    reports = Measurement.objects.filter(host_id=alert.facts.get("hostId"), reported__lte=alert.created)
    newest = reports.order_by("-reported").values_list("metrics", "reported").first()
    metrics, reported = newest or ({}, alert.created)
    numbers = [number for _, number in metrics.get(alert.metric_name, ())]
    return (fmean(numbers), reported) if numbers else None


def _names_measured(host_id: str, span: Span) -> Collection[str]:
    """The metrics of the newest report of the span that has any: of a host that is down there are none."""
    reports = Measurement.objects.filter(host_id=host_id, reported__range=(span.since, span.until))
    return reports.exclude(metrics={}).order_by("-reported").values_list("metrics", flat=True).first() or {}


def _points(host_id: str, metric: Metric, span: Span) -> list[tuple[datetime, float]]:
    parameters: dict[str, Any] = {
        "host": host_id,
        "metric": metric.value,
        "since": span.since,
        "until": span.until,
        "bucket": span.bucket,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EXTREMES, parameters)
        found = {point for low, lowest, high, highest in cursor for point in ((low, lowest), (high, highest))}
    return sorted(found)
