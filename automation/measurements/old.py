"""Measurements of earlier versions, read together with new ones until the worker has moved all.

A later release removes this module, `automation/measurements/moving.py`, the command
`move_measurements` and the table.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from django.db.models import OuterRef, Q, Subquery

from automation.hosts.models import Host
from automation.measurements.blocks import packed_place, packed_reports
from automation.measurements.models import Measurement, Reading
from automation.measurements.rules import NUMBERS, MeasuredAt, samples_of
from automation.metrics import Metric
from automation.reports.rules import Samples
from opsapi.clock import parse_time
from opsapi.fields import Among

_NUMBERS_OF_REPORTS = 2**15
"""New reports have numbers from 0 to below this; moved reports have numbers below 0."""

# In the same form as the samples of readings (`automation/measurements/store.py`).
_SAMPLES = """
SELECT wanted.metric, (one.sample ->> 0)::timestamptz, (one.sample -> 1)::float8
  FROM automation_measurement AS report
 CROSS JOIN unnest(%(metrics)s::text[]) AS wanted (metric)
 CROSS JOIN LATERAL jsonb_array_elements({samples} -> wanted.metric) AS one (sample)
 WHERE report.host_id = %(host)s AND report.reported >= %(since)s AND report.reported < %(until)s
"""
# In the same form as the rows that `automation/measurements/fleet_series.py` reads.
OLD_ROWS_OF_HOSTS = """
SELECT report.host_id, (one.sample ->> 0)::timestamptz AS reported, 0::smallint AS report, 0::smallint AS age,
       array_send(array_fill(NULL::float8, ARRAY[wanted.place - 1]) || (one.sample -> 1)::float8) AS numbers
  FROM automation_measurement AS report
 CROSS JOIN unnest(%(metrics)s::text[], %(places)s::int[]) AS wanted (metric, place)
 CROSS JOIN LATERAL jsonb_array_elements(report.metrics -> wanted.metric) AS one (sample)
 WHERE report.host_id = ANY(%(hosts)s) AND report.reported >= %(since)s AND report.reported < %(until)s
"""
OLD_SAMPLES_OF_HOST = _SAMPLES.format(samples="report.metrics")
OLD_SAMPLES_OF_DATABASE = _SAMPLES.format(samples="report.databases -> %(database)s::text")

_moment = lru_cache(maxsize=128)(parse_time)


def old_samples(stored: Mapping[str, Iterable[tuple[str, float]]]) -> Samples:
    """Stored samples, without names that are not metrics."""
    return {
        Metric(name): [(_moment(moment), float(number)) for moment, number in values]
        for name, values in stored.items()
        if name in NUMBERS and values
    }


def number_of_moved(measurement_id: int) -> int:
    """The report number of a moved row."""
    return measurement_id % _NUMBERS_OF_REPORTS - _NUMBERS_OF_REPORTS


def old_newest(
    host_ids: Iterable[str], *, since: datetime | None, until: datetime | None
) -> dict[str, tuple[MeasuredAt, Samples]]:
    """As `newest_measurements`, for rows that are not moved yet."""
    bounds = Q()
    if since is not None:
        bounds &= Q(reported__gte=since)
    if until is not None:
        bounds &= Q(reported__lt=until)
    of_host = Measurement.objects.filter(bounds, host=OuterRef("pk")).exclude(metrics={})
    newest = of_host.order_by("-reported", "-id").values("id")[:1]
    ids = Host.objects.filter(Among("id", host_ids)).values(newest=Subquery(newest))
    return {
        row.host_id: (MeasuredAt(row.reported, number_of_moved(row.id)), old_samples(row.metrics))
        for row in Measurement.objects.filter(id__in=ids)
    }


def old_measurements(named: Collection[tuple[str, int]]) -> dict[tuple[str, int], Samples]:
    """Measurements that signals of an earlier version name by host and ID, whether moved or not."""
    if not named:
        return {}
    there = Measurement.objects.in_bulk([number for _, number in named])
    found = {(row.host_id, row.id): old_samples(row.metrics) for row in there.values()}
    for host_id, number in set(named) - found.keys():
        moved = Reading.objects.filter(
            source__host_id=host_id, source__database="", report=number_of_moved(number)
        )
        # Numbers are reused, but a signal names only recent ones.
        newest = moved.order_by("-reported").values_list("reported", flat=True).first()
        if newest is not None:
            rows = moved.filter(reported=newest).values_list("age", "numbers")
            found[host_id, number] = samples_of(newest, list(rows))
        elif packed := packed_place(host_id, number_of_moved(number)):
            found[host_id, number] = packed_reports([(host_id, packed)])[host_id, packed]
    return found
