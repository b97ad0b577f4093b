"""Dry runs over a week of measurements of 1,000 hosts. Needs a Django that is set up: see `dry_run_cost`."""

import json
import sys
import time
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accesslist.models import Project
from alerting.insight.dry_runs import SECONDS, DryRunResult, dry_run
from automation.measurements.days import days_create
from automation.measurements.rules import NUMBERS
from automation.metrics import Metric
from automation.models import Host, Source
from opsapi import clock
from opsapi.sql import execute
from tests.factories.accesslist import ProjectFactory

HOSTS = 1_000
_PLACE = NUMBERS[Metric.CONNECTIONS]
_METRICS = 20
# A report a minute. One host in a hundred is over 900 for a quarter of an hour a day; each host is over 500
# for half of every hour.
_FILL = f"""
INSERT INTO automation_reading (source_id, reported, report, age, numbers)
SELECT source_id, reported, 0, 0,
       array_fill(1.5::float8, ARRAY[{_PLACE - 1}])
       || ARRAY[source_id %% 50 / 64.0
                + CASE WHEN source_id %% 100 = 0 AND minute %% 1440 < 15 THEN 1000
                       WHEN (minute + source_id) %% 60 < 30 THEN 600
                       ELSE 400 END]::float8[]
       || array_fill(2.5::float8, ARRAY[{_METRICS - _PLACE}])
  FROM generate_series(0, %(minutes)s - 1) AS minute
 CROSS JOIN LATERAL (SELECT %(start)s + minute * interval '1 minute' AS reported) AS at
 CROSS JOIN unnest(%(sources)s::int[]) AS source_id
"""  # noqa: S608 - contains only our own names
_BARE = f"""
SELECT count(*) FILTER (WHERE numbers[{_PLACE}] > 900) FROM automation_reading
 WHERE source_id = ANY(%(sources)s) AND reported >= %(start)s AND reported < %(end)s
"""  # noqa: S608 - contains only our own names


def main() -> None:
    """Takes a number of days, and writes figures to stdout, as JSON."""
    days = int(sys.argv[1])
    end = clock.now().replace(second=0, microsecond=0)
    start = end - timedelta(days=days)
    project, sources = _fill(start, days)
    asked = {"sources": sources, "start": start, "end": end}
    bare = min(_bare(asked) for _ in range(2))
    quiet, quiet_seconds = _dry_run(project, 900, start, end)
    noisy, noisy_seconds = _dry_run(project, 500, start, end)
    figures = {
        "bare": bare,
        "bound": SECONDS,
        "quiet": quiet_seconds,
        "quietDays": _days(quiet),
        "noisy": noisy_seconds,
        "noisyDays": _days(noisy),
    }
    sys.stdout.write(json.dumps(figures))


def _days(found: DryRunResult) -> float:
    """How many days are complete."""
    return (found.until - found.start) / timedelta(days=1)


def _fill(start: datetime, days: int) -> tuple[Project, list[int]]:
    project = ProjectFactory.create(name="recorded")
    hosts = Host.objects.bulk_create(
        Host(
            group=project,
            hostname=f"db{number:05}.example.com",
            port=27017,
            created=start,
            last_report=start,
        )
        for number in range(HOSTS)
    )
    sources = [source.id for source in Source.objects.bulk_create(Source(host=host) for host in hosts)]
    days_create([(start + timedelta(days=day)).date() for day in range(days + 1)])
    for day in range(days):
        begin = start + timedelta(days=day)
        execute(_FILL, {"sources": sources, "start": begin, "minutes": 24 * 60})
    execute("VACUUM ANALYZE automation_reading")
    return project, sources


def _bare(asked: dict[str, Any]) -> float:
    begin = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(_BARE, asked)
        cursor.fetchone()
    return time.monotonic() - begin


def _dry_run(
    project: Project, threshold: float, start: datetime, end: datetime
) -> tuple[DryRunResult, float]:
    values = {
        "event_type": "OUTSIDE_METRIC_THRESHOLD",
        "metric_threshold": {
            "metricName": Metric.CONNECTIONS.value,
            "operator": "GREATER_THAN",
            "threshold": threshold,
            "units": "RAW",
        },
        "notifications": [{"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 5}],
    }
    begin = time.monotonic()
    found = dry_run(group_id=project.id, values=values, start=start, end=end)
    return found, time.monotonic() - begin
