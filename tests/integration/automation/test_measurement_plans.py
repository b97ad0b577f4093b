"""What PostgreSQL opens to read measurements, of days that a scan would show.

There are 8 days of 30 hosts, every five minutes.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django.plugin import DjangoDbBlocker

from accesslist.models import Project
from alerting.insight import measurement_window
from alerting.insight.measurement_spans import Span
from automation.choices import Granularity
from automation.measurements.days import DAY, begin_of, days_create, partition_name
from automation.measurements.query import SeriesQuery
from automation.measurements.rules import MeasuredAt
from automation.measurements.store import measured_series, measurements_of_reports, newest_measurements
from automation.metrics import Metric
from automation.models import Host, Reading, Source
from opsapi.sql import execute, fetch_rows
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import make_host

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
TODAY = NOW.date()
HOUR = timedelta(hours=1)
HOSTS, DAYS = 30, 8
_DAYS_AGO = {partition_name(TODAY - ago * DAY): ago for ago in range(DAYS)}
pytestmark = pytest.mark.django_db

_FILL = """
INSERT INTO automation_reading (source_id, reported, report, age, numbers)
SELECT source.id, moment, 1, 0, ARRAY[random(), random(), random()]
  FROM generate_series(%s::timestamptz, %s::timestamptz, interval '5 minutes') AS moment,
       automation_source AS source
"""


@pytest.fixture(scope="module")
def hosts(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[Host]]:
    """Hosts, each measured every five minutes until now, for all tests of this module."""
    with django_db_blocker.unblock(), transaction.atomic():
        project: Project = ProjectFactory.create()
        made = [make_host(project, f"db{number}") for number in range(HOSTS)]
        Source.objects.bulk_create(Source(host=host) for host in made)
        days_create(TODAY - ago * DAY for ago in range(-3, DAYS))
        execute(_FILL, [begin_of(TODAY - (DAYS - 1) * DAY), NOW])
        execute("ANALYZE automation_reading")
        yield made
        transaction.set_rollback(True)


@contextmanager
def opened() -> Iterator[set[int]]:
    """Of how many days ago the partitions are that are read inside, never as a whole: known at the end."""
    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, *rest)

    found: set[int] = set()
    with connection.execute_wrapper(note):
        yield found
    for sql, params in statements:
        if "automation_reading" in sql:
            [(plan,)] = fetch_rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
            found.update(
                _days_of(plan[0]["Plan"] if not isinstance(plan, str) else json.loads(plan)[0]["Plan"])
            )


def _days_of(node: Any) -> Iterator[int]:
    """Of each scan of a partition with readings that was run."""
    ago = _DAYS_AGO.get(node.get("Relation Name"))
    if ago is not None and node["Actual Loops"]:
        assert node["Node Type"] != "Seq Scan"
        yield ago
    for child in node.get("Plans", ()):
        yield from _days_of(child)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "end", "days"),
    [
        (NOW - 3 * HOUR, NOW, {0}),
        (begin_of(TODAY) - 3 * DAY, begin_of(TODAY) - 2 * DAY - 2 * HOUR, {3, 4}),
        (begin_of(TODAY) - 3 * DAY, begin_of(TODAY) - 2 * DAY - HOUR, {2, 3, 4}),
        (NOW - 2 * DAY, NOW, {0, 1, 2}),
    ],
)
def test_a_series_opens_the_days_of_reports_that_may_hold_some_of_it(
    hosts: list[Host], start: datetime, end: datetime, days: set[int]
) -> None:
    """Samples are at most an hour older, and five minutes newer, than their report."""
    query = SeriesQuery(Granularity.PT1H, start, end, [Metric.ASSERT_REGULAR])
    with opened() as found:
        (series,) = measured_series(hosts[7].id, query)
    assert len(series.points) > 2
    assert found == days


@pytest.mark.slow
def test_the_plot_of_an_alert_opens_its_days(hosts: list[Host]) -> None:
    with opened() as found:
        points = measurement_window._points(hosts[7].id, Metric.ASSERT_REGULAR, Span(NOW - DAY, NOW - HOUR))
    assert len(points) > 200
    assert found == {0, 1}


def test_the_newest_measurements_are_found_in_the_newest_days(hosts: list[Host]) -> None:
    with opened() as found:
        newest = newest_measurements(host.id for host in hosts)
    assert {measurement.at.reported for measurement in newest.values()} == {NOW}
    assert len(newest) == HOSTS
    assert found == {0}


def test_older_days_are_opened_for_hosts_without_newer_measurements(hosts: list[Host]) -> None:
    unreported = hosts[3]
    Reading.objects.filter(source__host=unreported, reported__gt=NOW - 3 * DAY).delete()
    with opened() as found:
        newest = newest_measurements([unreported.id])
    assert newest[unreported.id].at.reported == NOW - 3 * DAY
    assert max(found) == 3


def test_what_signals_name_is_read_where_it_is(hosts: list[Host]) -> None:
    places = [(host.id, MeasuredAt(NOW - ago * DAY, 1).wire) for host in hosts for ago in (0, 2)]
    with opened() as found:
        assert measurements_of_reports(places).keys() == set(places)
    assert found == {0, 2}
