"""Measurements over time, computed where they are stored: one statement, whatever is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from automation.durations import span_of
from automation.measurement_query import SeriesQuery
from automation.metrics import Metric

# Samples may be an hour older and five minutes newer than the report they came with (decisions 8). The
# mean is taken of numerics: the sum of two great doubles may be none. Times are formatted here: per value
# far cheaper than in Python.
_SERIES = """
SELECT metric, to_char(bucket AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), mean
  FROM (SELECT measured.metric, date_bin(%(span)s, taken.moment, '2000-01-01T00:00:00Z') AS bucket,
               avg(taken.number)::float8 AS mean
          FROM automation_measurement AS report
         CROSS JOIN LATERAL jsonb_each({samples}) AS measured (metric, samples)
         CROSS JOIN LATERAL jsonb_array_elements(measured.samples) AS one (sample)
         CROSS JOIN LATERAL (SELECT (one.sample ->> 0)::timestamptz, (one.sample -> 1)::numeric)
               AS taken (moment, number)
         WHERE report.host_id = %(host)s
           AND report.reported >= %(start)s::timestamptz - interval '5 minutes'
           AND report.reported < %(end)s::timestamptz + interval '1 hour 1 second'
           AND measured.metric = ANY(%(metrics)s)
           AND taken.moment >= %(start)s::timestamptz
           AND taken.moment < date_trunc('second', %(end)s::timestamptz) + interval '1 second'
         GROUP BY measured.metric, bucket) AS series
 ORDER BY metric, bucket
"""
_OF_HOST = _SERIES.format(samples="report.metrics")
_OF_DATABASE = _SERIES.format(samples="report.databases -> %(database)s::text")


@dataclass(frozen=True, slots=True)
class Series:
    """One metric over time: (start of the bucket as the wire shows it, mean) for each bucket with samples."""

    metric: Metric
    points: list[tuple[str, float]] = field(default_factory=list)


def measured_series(host_id: str, query: SeriesQuery, *, database: str | None = None) -> Sequence[Series]:
    """The metrics of a host, or of one of its databases, in the order of their closed set.

    Those asked for by name are there even when nothing was measured.
    """
    wanted = query.metrics or list(Metric)
    parameters: dict[str, Any] = {
        "host": host_id,
        "database": database,
        "span": span_of(query.granularity),
        "start": query.start,
        "end": query.end,
        "metrics": [metric.value for metric in wanted],
    }
    series = {metric.value: Series(metric) for metric in wanted}
    with connection.cursor() as cursor:
        cursor.execute(_OF_HOST if database is None else _OF_DATABASE, parameters)
        for metric, bucket, mean in cursor.fetchall():
            series[metric].points.append((bucket, mean))
    return [one for one in series.values() if one.points or query.metrics]
