"""Measurements over time, computed by a single SQL statement."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import connection

from automation.days import READINGS
from automation.measurement_query import SeriesQuery, span_of
from automation.metrics import Metric
from automation.old_measurements import OLD_SAMPLES_OF_DATABASE, OLD_SAMPLES_OF_HOST
from automation.readings import NUMBERS
from automation.reports import NEWEST, OLDEST
from opsapi.wire_json import JsonObject

_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_SAMPLES = f"""
SELECT wanted.metric, date_trunc('second', reading.reported) - reading.age * interval '1 second',
       reading.numbers[wanted.number]
  FROM automation_source AS source
  JOIN {READINGS} AS reading ON reading.source_id = source.id
 CROSS JOIN unnest(%(metrics)s::text[], %(numbers)s::int[]) AS wanted (metric, number)
 WHERE source.host_id = %(host)s AND source.database = {{database}}
   AND reading.reported >= %(since)s AND reading.reported < %(until)s
   AND reading.numbers[wanted.number] IS NOT NULL
 UNION ALL {{old}}
"""  # noqa: S608 - contains only our own names
SAMPLES_OF_HOST = _SAMPLES.format(database="''", old=OLD_SAMPLES_OF_HOST)
"""Metric, moment and number of each sample of a host; its parameters are `sample_parameters`."""
_SAMPLES_OF_DATABASE = _SAMPLES.format(database="%(database)s", old=OLD_SAMPLES_OF_DATABASE)

# The mean is computed with numerics, because the sum of two large doubles can overflow. A mean too close to 0
# for a double is 0. PostgreSQL formats times much faster than Python.
_SERIES = """
SELECT metric, to_char(bucket AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
       CASE WHEN abs(mean) < 2.5e-324 THEN 0 ELSE mean::float8 END
  FROM (SELECT metric, date_bin(%(span)s, moment, '2000-01-01T00:00:00Z') AS bucket,
               avg(number::text::numeric) AS mean
          FROM ({samples}) AS taken (metric, moment, number)
         WHERE moment >= %(start)s::timestamptz
           AND moment < date_trunc('second', %(end)s::timestamptz) + interval '1 second'
         GROUP BY metric, bucket) AS series
 ORDER BY metric, bucket
"""
_OF_HOST = _SERIES.format(samples=SAMPLES_OF_HOST)
_OF_DATABASE = _SERIES.format(samples=_SAMPLES_OF_DATABASE)


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """A metric over time: (start of the bucket as wire text, mean) for each bucket with samples."""

    metric: Metric
    points: list[tuple[str, float]] = field(default_factory=list)


def measured_series(
    host_id: str, query: SeriesQuery, *, database: str | None = None
) -> Sequence[MetricSeries]:
    """Return the series of a host or of one of its databases, in the order of `Metric`.

    Metrics that the query names are included even without samples.
    """
    wanted = query.metrics or list(Metric)
    parameters = {
        **sample_parameters(host_id, wanted, query.start, query.end),
        "database": database,
        "span": span_of(query.granularity),
        "start": query.start,
        "end": query.end,
    }
    series = {metric.value: MetricSeries(metric) for metric in wanted}
    with connection.cursor() as cursor:
        cursor.execute(_OF_HOST if database is None else _OF_DATABASE, parameters)
        for metric, bucket, mean in cursor.fetchall():
            series[metric].points.append((bucket, mean))
    return [found for found in series.values() if found.points or query.metrics]


def sample_parameters(host_id: str, metrics: Sequence[Metric], start: datetime, end: datetime) -> JsonObject:
    """Return the parameters for the samples from `start` to `end`.

    The bounds include every report that can contain such a sample. They are plain values, so PostgreSQL
    opens no partition of another day.
    """
    return {
        "host": host_id,
        "metrics": [metric.value for metric in metrics],
        "numbers": [NUMBERS[metric] for metric in metrics],
        "since": start - min(NEWEST, start - _FIRST_MOMENT),
        "until": end + min(OLDEST + timedelta(seconds=1), _LAST_MOMENT - end),
    }
