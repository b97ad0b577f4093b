"""The measurements around an alert, read for its timeline."""

from collections.abc import Collection
from datetime import datetime, timedelta
from statistics import fmean

from alerting.configs.rules import MetricThreshold
from alerting.incidents.models import Alert
from alerting.insight.measurement_spans import MeasurementWindow, Span, in_units, metric_shown, window_span
from automation.measurements.store import SAMPLES_OF_HOST, WantedSamples, newest_measurements, read_samples
from automation.metrics import Metric
from automation.reports.rules import newest_numbers

# The lowest and the highest sample of each bucket: a mean would hide the samples outside the threshold.
_EXTREMES = f"""
SELECT (array_agg(moment ORDER BY number, moment))[1], min(number),
       (array_agg(moment ORDER BY number DESC, moment))[1], max(number)
  FROM ({SAMPLES_OF_HOST}) AS sample (metric, moment, number)
 WHERE moment BETWEEN %(first)s AND %(last)s
 GROUP BY date_bin(%(bucket)s, moment, %(first)s)
"""  # noqa: S608 - built from constants
_MOMENT = timedelta(microseconds=1)


def measurement_window(
    alert: Alert, threshold: MetricThreshold | None, *, now: datetime
) -> MeasurementWindow | None:
    """The alert's metric around the alert, or else a metric that shows the load of its host.

    None if the alert is about no host, or if no measurements are left: they are deleted after a while.
    """
    host_id = alert.facts.get("hostId")
    if host_id is None:
        return None
    span = window_span(alert.created, alert.resolved, now)
    metric = metric_shown(alert.metric_name, _names_measured(host_id, span))
    if metric is None:
        return None
    return in_units(metric, span, _points(host_id, metric, span), threshold)


def host_measurements(
    host_id: str, metric: Metric, span: Span, threshold: MetricThreshold | None
) -> MeasurementWindow:
    """The metric of a host in a time range, in the units of the threshold."""
    return in_units(metric, span, _points(host_id, metric, span), threshold)


def first_value(alert: Alert) -> tuple[float, datetime] | None:
    """The value that began an alert about a metric, in its base unit, and when it was observed.

    That was before the alert began, where it was a configuration that changed. None once it is gone.
    """
    host_id = alert.facts.get("hostId")
    if host_id is None or alert.metric_name is None:
        return None
    newest = newest_measurements([host_id], until=alert.created + _MOMENT).get(host_id)
    samples = newest.samples.get(Metric(alert.metric_name)) if newest else None
    return (fmean(newest_numbers(samples)), newest.at.reported) if newest and samples else None


def _names_measured(host_id: str, span: Span) -> Collection[Metric]:
    """The metrics of the newest report of the span that has any: of a host that is down there are none."""
    newest = newest_measurements([host_id], since=span.since, until=span.until + _MOMENT).get(host_id)
    return newest.samples if newest else ()


def _points(host_id: str, metric: Metric, span: Span) -> list[tuple[datetime, float]]:
    parameters = {"first": span.since, "last": span.until, "bucket": span.bucket}
    wanted = WantedSamples(host_id, [metric], span.since, span.until)
    extremes = read_samples(_EXTREMES, wanted, parameters)
    points = {point for low, lowest, high, highest in extremes for point in ((low, lowest), (high, highest))}
    return sorted(points)
