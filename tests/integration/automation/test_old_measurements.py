"""Measurements of earlier versions: moved a batch at a time, and read right at each moment of it."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from types import TracebackType
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from pytest_django import Settings

from accesslist.models import Project
from alerting.insight import measurement_window
from alerting.insight.measurement_spans import Span
from automation.choices import Granularity
from automation.hosts.changes import deleted_host_purge, host_delete
from automation.measurements import moving as service
from automation.measurements.changes import measurements_trim
from automation.measurements.moving import old_measurements_left, old_measurements_move
from automation.measurements.query import SeriesQuery, span_of
from automation.measurements.store import measured_series, measurements_of_reports, newest_measurements
from automation.metrics import Metric
from automation.models import Host, Measurement, Reading, Source
from opsapi.api.principal import SYSTEM
from opsapi.clock import wire_time
from opsapi.metric_series import exposition
from opsapi.sql import fetch_rows
from tests.each import each
from tests.factories.automation import make_host, measure
from tests.racing import in_other_session, while_it_waits
from tests.steps import STEPS

NOW = datetime(2099, 11, 21, 0, 40, tzinfo=UTC)
HOUR = timedelta(hours=1)
METRICS = [Metric.CONNECTIONS, Metric.MEMORY_RESIDENT, Metric.DB_DATA_SIZE_TOTAL]
DATABASES = ["orders", "a.b", "métrique"]
pytestmark = pytest.mark.django_db

# As version 0.1.0 read a series: {samples} is report.metrics, or report.databases -> its name.
READ_BEFORE = """
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


def old(host: Host, reported: datetime, databases: Any = None, **metrics: Any) -> Measurement:
    """A report as an earlier version stored it; a number alone was measured then."""

    def stored(samples: dict[str, Any]) -> dict[str, Any]:
        return {
            name: taken if isinstance(taken, list) else [[wire_time(reported), taken]]
            for name, taken in samples.items()
        }

    of_databases = {name: stored(database) for name, database in (databases or {}).items()}
    return Measurement.objects.create(
        host=host, reported=reported, metrics=stored(metrics), databases=of_databases
    )


class MovedFleet:
    """Hosts with random measurements over two days, stored as earlier versions did."""

    def __init__(self, project: Project, seed: int) -> None:
        self.random = Random(seed)
        self.hosts = [make_host(project, f"db{number}") for number in range(3)]
        self.old = [self._old(self.random.choice(self.hosts)) for _ in range(25)]

    def _old(self, host: Host) -> Measurement:
        minutes = self.random.choice((0, 0, 1, 5, 40, 90, 1500, 2800))
        reported = NOW - timedelta(minutes=minutes, microseconds=self.random.randint(0, 10**6))
        databases = self.random.sample(DATABASES, self.random.randint(0, 2))
        return old(
            host,
            reported,
            {name: self._samples(reported) for name in databases},
            **self._samples(reported),
        )

    def _samples(self, reported: datetime) -> dict[str, Any]:
        return {
            metric.value: [self._sample(reported) for _ in range(self.random.randint(1, 3))]
            for metric in self.random.sample(METRICS, self.random.randint(1, 3))
        }

    def _sample(self, reported: datetime) -> list[Any]:
        ago = self.random.choice((0, 0, 1, 60, 3600, -290))
        number = self.random.choice((0, 7, 0.1, -1e300, 1.7e308, 5e-300, self.random.random()))
        return [wire_time(reported - timedelta(seconds=ago)), number]

    def series(self) -> dict[Any, Any]:
        """What is shown of each host and database."""
        return {
            (host.id, database, grain): sorted(
                (series.metric.value, *point)
                for series in measured_series(host.id, query, database=database)
                for point in series.points
            )
            for host, database, grain, query in self._queries()
        }

    def series_before(self) -> dict[Any, Any]:
        """The same, as an earlier version showed it."""
        found = {}
        for host, database, grain, query in self._queries():
            samples = "report.metrics" if database is None else "report.databases -> %(database)s::text"
            parameters: dict[str, Any] = {
                "host": host.id,
                "database": database,
                "span": span_of(grain),
                "start": query.start,
                "end": query.end,
                "metrics": [metric.value for metric in Metric],
            }
            found[host.id, database, grain] = sorted(
                fetch_rows(READ_BEFORE.format(samples=samples), parameters)
            )
        return found

    def _queries(self) -> Iterator[tuple[Host, str | None, Granularity, SeriesQuery]]:
        for host in self.hosts:
            for database in (None, *DATABASES):
                for grain, length in ((Granularity.PT1M, HOUR), (Granularity.PT1H, 60 * HOUR)):
                    yield host, database, grain, SeriesQuery(grain, NOW - length, NOW + HOUR)

    def reports(self) -> dict[Any, Any]:
        """The newest report of each host, the reports that signals of an earlier version name, and plots."""
        named = [(measurement.host_id, measurement.id) for measurement in self.old]
        span = Span(NOW - 2 * HOUR, NOW)
        return {
            "newest": {
                host_id: (measurement.at, self._sorted(measurement.samples))
                for host_id, measurement in newest_measurements(host.id for host in self.hosts).items()
            },
            "named": {name: self._sorted(taken) for name, taken in measurements_of_reports(named).items()},
            "plots": [measurement_window._points(host.id, Metric.CONNECTIONS, span) for host in self.hosts],
        }

    @staticmethod
    def _sorted(samples: Any) -> Any:
        return {metric: sorted(taken) for metric, taken in samples.items()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_what_is_read_is_the_same_before_during_and_after(
    project: Project, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(service, "MOVED_AT_ONCE", 4)
    fleet = MovedFleet(project, seed)
    series, reports = fleet.series_before(), fleet.reports()
    assert any(series.values())
    assert len(reports["named"]) == len(fleet.old)
    stages = 0
    while True:
        assert fleet.series() == series
        assert fleet.reports() == reports
        if not old_measurements_move():
            break
        stages += 1
    assert stages == 7
    assert not Measurement.objects.exists()


def test_new_measurements_are_read_together_with_unmoved_measurements(project: Project) -> None:
    host = make_host(project)
    old(host, NOW - HOUR, CONNECTIONS=1.0)
    measure(host, NOW, CONNECTIONS=3.0)
    query = SeriesQuery(Granularity.P1D, NOW.replace(hour=0, minute=0), NOW, [Metric.CONNECTIONS])
    late = old(host, NOW + HOUR, CONNECTIONS=5.0)
    for _ in range(2):
        (series,) = measured_series(host.id, query)
        assert [value for _, value in series.points] == [3.0]
        assert newest_measurements([host.id])[host.id].samples[Metric.CONNECTIONS][0][1] == 5.0
        before = newest_measurements([host.id], until=late.reported)[host.id]
        assert before.samples[Metric.CONNECTIONS][0][1] == 3.0
        old_measurements_move()


@pytest.mark.slow
def test_it_can_be_stopped_at_any_statement_and_goes_on(project: Project, settings: Settings) -> None:
    fleet = MovedFleet(project, 1)
    series = fleet.series_before()
    number = 0
    while Measurement.objects.exists():
        number += 1
        with killed_at(number):
            old_measurements_move()
        assert fleet.series() == series
    assert number > 8
    assert Reading.objects.filter(report__lt=0).exists()


class killed_at:  # noqa: N801 - reads as a sentence
    """Ends what is done inside at its statement of this number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __enter__(self) -> None:
        self._wrapper = connection.execute_wrapper(self)
        self._wrapper.__enter__()

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        """An execute wrapper of Django's."""
        self.left -= 1
        if self.left == 0:
            raise InterruptedError
        return execute(*args)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._wrapper.__exit__(kind, error, trace)
        return kind is InterruptedError


def test_measurements_of_a_deleted_host_are_deleted_instead_of_moved(project: Project) -> None:
    host, other = make_host(project), make_host(project, "db2")
    for a_host in (host, other):
        old(a_host, NOW, CONNECTIONS=1.0)
        measure(a_host, NOW, CONNECTIONS=1.0)
    host_delete(group_id=project.id, host_id=host.id, actor=SYSTEM, now=NOW)
    assert old_measurements_move() == 1
    assert old_measurements_move() == 0
    while deleted_host_purge():
        """Batch after batch."""
    assert not Measurement.objects.exists()
    assert set(Source.objects.values_list("host_id", flat=True)) == {other.id}
    assert Reading.objects.count() == 2


def test_measurements_past_retention_are_deleted_instead_of_moved(
    project: Project, settings: Settings
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 7
    host = make_host(project)
    old(host, NOW - 169 * HOUR, CONNECTIONS=1.0)
    kept = old(host, NOW - 167 * HOUR, CONNECTIONS=1.0)
    while measurements_trim(now=NOW):
        """Until nothing is too old."""
    assert list(Measurement.objects.all()) == [kept]


@each("step", STEPS, ids=str)
def test_an_old_measurement_of_a_wrong_time_is_shown_and_deleted_by_that_time(
    project: Project, settings: Settings, step: timedelta
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 7
    host, at = make_host(project), NOW + step
    old(host, at, CONNECTIONS=1.0)
    query = SeriesQuery(Granularity.PT1M, at, at, [Metric.CONNECTIONS])
    assert [value for _, value in measured_series(host.id, query)[0].points] == [1.0]
    for now, is_kept in (
        (NOW, step >= -168 * HOUR),
        (at + 168 * HOUR, True),
        (at + 168 * HOUR + timedelta(seconds=1), False),
    ):
        if now >= NOW:
            while measurements_trim(now=now):
                """Until nothing is too old."""
            assert Measurement.objects.exists() is is_kept


def test_what_was_stored_without_any_sample_becomes_no_row(project: Project) -> None:
    host = make_host(project)
    old(host, NOW, {"orders": {}}, CONNECTIONS=[])
    assert old_measurements_move() == 1
    assert not Reading.objects.exists()


def test_the_end_of_the_move_is_logged_once(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    old(make_host(project), NOW, CONNECTIONS=1.0)
    with caplog.at_level(logging.INFO, "opsapi.worker"):
        for _ in range(3):
            old_measurements_move()
    assert len(caplog.records) == 1


def test_how_many_are_left_is_known(project: Project) -> None:
    assert old_measurements_left() == 0
    assert b"opsapi_measurements_to_move 0.0" in exposition()
    old(make_host(project), NOW, CONNECTIONS=1.0)
    assert old_measurements_left() > 0
    assert b"opsapi_measurements_to_move 0.0" not in exposition()


def test_a_command_moves_them_at_once(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOVED_AT_ONCE", 2)
    host = make_host(project)
    for number in range(5):
        old(host, NOW, CONNECTIONS=number)
    call_command("move_measurements", "--left")
    assert Measurement.objects.count() == 5
    call_command("move_measurements")
    assert (Measurement.objects.count(), Reading.objects.count()) == (0, 5)
    assert capsys.readouterr().out.splitlines()[-4:] == ["2 moved", "4 moved", "5 moved", "none left"]


@pytest.mark.django_db(transaction=True)
class TestMovesWithOthers:
    """Who moves, who reports and who takes away."""

    def test_one_process_moves_at_a_time(self, project: Project) -> None:
        old(make_host(project), NOW, CONNECTIONS=1.0)
        with transaction.atomic():
            assert old_measurements_move() == 1
            assert in_other_session(old_measurements_move) == 0
        assert Reading.objects.count() == 1

    def test_what_went_meanwhile_is_not_moved(self, project: Project) -> None:
        host = make_host(project)
        old(host, NOW, CONNECTIONS=1.0)
        stays = old(host, NOW, CONNECTIONS=2.0)

        def take_away() -> None:
            Measurement.objects.exclude(id=stays.id).delete()

        assert while_it_waits(old_measurements_move, take_away) == 2
        assert Reading.objects.get().numbers[-1] == 2.0
