"""Closed days as blocks: packed a step at a time, and read right at each moment of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, Self

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from accesslist.models import Project
from alerting.insight import measurement_window
from alerting.insight.measurement_spans import Span
from automation.choices import Granularity
from automation.hosts.changes import deleted_host_purge, fleet_purge, host_delete
from automation.measurements import changes, packer
from automation.measurements.changes import measurements_trim
from automation.measurements.days import (
    DAY,
    begin_of,
    day_drop,
    days_create,
    existing_days,
    partition_name,
)
from automation.measurements.packer import day_pack_some
from automation.measurements.query import SeriesQuery
from automation.measurements.recorded_metrics import (
    RecordedMetric,
    ReportedValues,
    SourceSpan,
    values_within,
)
from automation.measurements.rules import NUMBERS, MeasuredAt
from automation.measurements.store import (
    measured_series,
    measurements_of_reports,
    newest_measurements,
    outdated_series,
)
from automation.measurements.tiers import CLOSED_AFTER
from automation.metrics import Metric
from automation.models import Host, Measurement, PackedReadings, Packing, Reading, Source
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute
from tests.factories.automation import make_host, measure
from tests.integration.automation.test_old_measurements import killed_at
from tests.racing import in_other_session

FIRST = date(2099, 11, 18)
DAYS = 3
BEGIN = begin_of(FIRST)
END = BEGIN + DAYS * DAY
CLOSED = END + CLOSED_AFTER
MINUTE = timedelta(minutes=1)
HOUR = 60 * MINUTE
METRICS = [Metric.CONNECTIONS, Metric.MEMORY_RESIDENT, Metric.DB_DATA_SIZE_TOTAL]
LEVEL = 7.0
pytestmark = pytest.mark.django_db

Row = tuple[int, datetime, int, int, list[float | None]]
_INSERT = (
    "INSERT INTO automation_reading (source_id, reported, report, age, numbers) VALUES (%s, %s, %s, %s, %s)"
)


@pytest.fixture(autouse=True)
def _days_of_the_test() -> Iterator[None]:
    """Only days of the test are closed. The days of other tests are there again afterwards."""
    before = existing_days()
    while day_drop(before=BEGIN - DAY):
        """Day after day."""
    yield
    if not connection.in_atomic_block:
        execute("TRUNCATE automation_packing, automation_packedreadings")
        days_create(before)
        for day in set(existing_days()) - set(before):
            execute(f"DROP TABLE {partition_name(day)}")


def pack(now: datetime = CLOSED) -> int:
    """Pack all closed days. Return the number of steps."""
    steps = 0
    while day_pack_some(now=now):
        steps += 1
    return steps


class PackedFleet:
    """Hosts with random readings over three days, and a database of each."""

    def __init__(self, project: Project, seed: int, reports: int) -> None:
        self.random = Random(seed)
        self.hosts = [make_host(project, f"db{number}") for number in range(3)]
        self.sources = {
            (host.id, database): Source.objects.create(host=host, database=database).id
            for host in self.hosts
            for database in ("", "orders")
        }
        self.reports = [list(self._report(number)) for number in range(reports)]

    def _report(self, number: int) -> Iterator[Row]:
        """The rows of a report: of one moment or several, of one source or several."""
        reported = BEGIN + timedelta(
            minutes=self.random.choice((0, 1, 1439, 1440, self.random.randrange(DAYS * 1440))),
            microseconds=self.random.choice((0, self.random.randrange(10**6))),
        )
        reported = min(reported, END - timedelta(microseconds=1))
        for source in self.random.sample(list(self.sources.values()), self.random.randint(1, 3)):
            for age in self.random.sample((0, 0, 1, 60, 3600, -290), self.random.randint(1, 3)):
                yield source, reported, number % 40, age, self._numbers()

    def _numbers(self) -> list[float | None]:
        numbers: list[float | None] = [None] * NUMBERS[self.random.choice(METRICS)]
        for metric in self.random.sample(METRICS, self.random.randint(1, 3)):
            if NUMBERS[metric] <= len(numbers):
                numbers[NUMBERS[metric] - 1] = self.random.choice(
                    (0.0, -0.0, 7.0, 6.5, 0.1, -1e300, 1.7e308, 5e-300, self.random.random())
                )
        return numbers if any(number is not None for number in numbers) else [7.0]

    def store(self, reports: Sequence[Sequence[Row]]) -> None:
        days_create(FIRST + ahead * DAY for ahead in range(DAYS))
        with connection.cursor() as cursor:
            cursor.executemany(_INSERT, [row for report in reports for row in report])

    def read(self, *readers: str) -> dict[str, Any]:
        """What these readers say, or all."""
        return {reader: READERS[reader](self) for reader in readers or READERS}

    @property
    def host_ids(self) -> list[str]:
        return [host.id for host in self.hosts]

    @property
    def of_hosts(self) -> list[int]:
        return [self.sources[host_id, ""] for host_id in self.host_ids]

    def spans(self) -> list[SourceSpan]:
        return [
            SourceSpan(source, BEGIN + start * HOUR, BEGIN + end * HOUR)
            for source in self.of_hosts
            for start, end in ((0, 24), (20, 30), (1, 70))
        ]

    def named(self) -> set[tuple[str, int | str]]:
        """All reports."""
        rows = [row for report in self.reports for row in report]
        return {(host_id, MeasuredAt(row[1], row[2]).wire) for host_id in self.host_ids for row in rows}


def read_series(fleet: PackedFleet) -> Any:
    queries = (
        SeriesQuery(Granularity.PT1M, BEGIN + 23 * HOUR, BEGIN + 25 * HOUR),
        SeriesQuery(Granularity.PT1H, BEGIN, END),
    )
    return [
        (series.metric, series.points)
        for host_id in fleet.host_ids
        for database in (None, "orders")
        for query in queries
        for series in measured_series(host_id, query, database=database)
    ]


def read_newest(fleet: PackedFleet) -> Any:
    return {
        (since, until, host_id): (report.at, samples_in_order(report.samples))
        for since, until in ((None, None), (None, BEGIN + 30 * HOUR), (BEGIN + HOUR, BEGIN + 48 * HOUR))
        for host_id, report in newest_measurements(fleet.host_ids, since=since, until=until).items()
    }


def read_plots(fleet: PackedFleet) -> Any:
    span = Span(BEGIN + 20 * HOUR, BEGIN + 50 * HOUR)
    return [measurement_window._points(host_id, METRICS[0], span) for host_id in fleet.host_ids]


def read_reports(fleet: PackedFleet) -> Any:
    found = measurements_of_reports(fleet.named())
    return {name: samples_in_order(samples) for name, samples in found.items()}


def read_outdated(fleet: PackedFleet) -> Any:
    moments = [
        (host_id, METRICS[0], BEGIN + hours * HOUR) for host_id in fleet.host_ids for hours in (1, 40, 71)
    ]
    return outdated_series(moments, END)


@transaction.atomic
def read_beyond(fleet: PackedFleet) -> Any:
    recorded = RecordedMetric.held(METRICS[0], BEGIN, END)
    return [
        recorded.sources_beyond(fleet.of_hosts, LEVEL, *day, above=above)
        for day in EACH_DAY
        for above in (True, False)
    ]


@transaction.atomic
def read_crossing(fleet: PackedFleet) -> Any:
    recorded = RecordedMetric.held(METRICS[0], BEGIN, END)
    return [values_in_order(recorded.crossing_values(fleet.of_hosts, LEVEL, *day)) for day in EACH_DAY]


@transaction.atomic
def read_last(fleet: PackedFleet) -> Any:
    recorded = RecordedMetric.held(METRICS[0], BEGIN, END)
    ends = (END, BEGIN + 30 * HOUR)
    return [values_in_order(recorded.last_values(fleet.of_hosts, BEGIN, until)) for until in ends]


def read_within(fleet: PackedFleet) -> Any:
    found = values_within(fleet.spans(), METRICS[0], most=10_000)
    return [values_in_order(values) for values in found or ()]


def read_too_many(fleet: PackedFleet) -> Any:
    return [values_within(fleet.spans(), METRICS[0], most=3)]


EACH_DAY = [(BEGIN + ahead * DAY, BEGIN + (ahead + 1) * DAY) for ahead in range(DAYS)]
READERS: Mapping[str, Callable[[PackedFleet], Any]] = {
    "series": read_series,
    "newest": read_newest,
    "plots": read_plots,
    "reports": read_reports,
    "outdated": read_outdated,
    "beyond": read_beyond,
    "crossing": read_crossing,
    "last": read_last,
    "within": read_within,
    "too many within": read_too_many,
}
HOLDING = {"beyond", "crossing", "last"}
"""The readers during whose transaction no day is packed."""


def samples_in_order(samples: Any) -> Any:
    return {metric: sorted(taken) for metric, taken in samples.items()}


def values_in_order(reports: Iterable[ReportedValues]) -> Any:
    """Values of the same moment have no order."""
    return [(values.source, values.reported, sorted(values.values)) for values in reports]


@pytest.fixture
def fleet(project: Project) -> PackedFleet:
    return PackedFleet(project, 1, 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_any_cut_of_rows_and_blocks_reads_the_same(project: Project, seed: int) -> None:
    """Of each report, all rows are packed at first, or all come later."""
    fleet = PackedFleet(project, seed, 60)
    with transaction.atomic():
        fleet.store(fleet.reports)
        expected = fleet.read()
        transaction.set_rollback(True)
    assert all(expected.values())
    cut = fleet.random.randint(10, 50)
    early = fleet.random.sample(fleet.reports, cut)
    fleet.store(early)
    pack()
    days = Packing.objects.count()
    assert not Reading.objects.exists()
    fleet.store([report for report in fleet.reports if report not in early])
    assert fleet.read() == expected
    while day_pack_some(now=CLOSED):
        assert fleet.read() == expected
    assert not Reading.objects.exists()
    assert Packing.objects.count() > days
    assert fleet.read() == expected


@pytest.mark.slow
def test_packing_can_be_stopped_at_any_statement_and_goes_on(
    fleet: PackedFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packer, "SOURCES_AT_ONCE", 4)
    fleet.store(fleet.reports)
    expected = fleet.read()
    number = 0
    while Reading.objects.exists():
        number += 1
        with killed_at(number), transaction.atomic():
            pack()
        assert fleet.read("series") == {"series": expected["series"]}
    assert number > 20
    assert fleet.read() == expected


class TestWhatIsPacked:
    """Closed days that are kept, whatever arrives or goes meanwhile."""

    @pytest.fixture(autouse=True)
    def _no_rollups(self, settings: Settings) -> None:
        settings.OPSAPI_MEASUREMENT_PT5M_DAYS = settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 0

    @pytest.fixture
    def host(self, project: Project) -> Host:
        host = make_host(project)
        for ahead in range(DAYS):
            measure(host, BEGIN + ahead * DAY + HOUR, CONNECTIONS=float(ahead))
        return host

    @pytest.mark.parametrize(
        ("now", "days"),
        [
            (BEGIN + DAY + CLOSED_AFTER - MINUTE, 0),
            (BEGIN + DAY + CLOSED_AFTER, 1),
            (CLOSED - MINUTE, 2),
            (CLOSED, 3),
        ],
    )
    def test_a_day_is_packed_when_no_report_can_touch_it(self, host: Host, now: datetime, days: int) -> None:
        pack(now)
        assert Packing.objects.count() == PackedReadings.objects.count() == days
        assert Reading.objects.count() == DAYS - days
        assert not {FIRST + ahead * DAY for ahead in range(days)} & set(existing_days())

    def test_a_day_past_retention_is_deleted_instead(self, host: Host, settings: Settings) -> None:
        settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 3
        pack(END + DAY + CLOSED_AFTER)
        assert Packing.objects.count() == 1

    @pytest.mark.parametrize(("days", "left"), [(0, 3), (3, 2), (1, 0)])
    def test_retention_deletes_packed_days(
        self, host: Host, settings: Settings, monkeypatch: pytest.MonkeyPatch, days: int, left: int
    ) -> None:
        monkeypatch.setattr(changes, "BLOCKS_AT_ONCE", 1)
        settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 0
        pack()
        settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = days
        trimmed = 0
        while measurements_trim(now=END + DAY):
            trimmed += 1
            assert Packing.objects.count() == left
        assert PackedReadings.objects.count() == Packing.objects.count() == left
        assert trimmed >= DAYS - left

    def test_measurements_of_earlier_versions_become_rows_first(self, host: Host) -> None:
        old = Measurement.objects.create(host=host, reported=BEGIN, metrics={})
        assert not day_pack_some(now=CLOSED)
        old.delete()
        assert day_pack_some(now=CLOSED)

    def test_a_day_without_rows_is_dropped(self) -> None:
        days_create([FIRST])
        pack()
        assert FIRST not in existing_days()
        assert not Packing.objects.exists()

    def test_rows_that_arrive_while_a_day_is_packed_are_packed_too(self, host: Host) -> None:
        assert day_pack_some(now=CLOSED)
        measure(host, BEGIN + 2 * HOUR, CONNECTIONS=5.0)
        before = self.values(host)
        assert len(before) == DAYS + 1
        pack()
        assert self.values(host) == before
        assert not Reading.objects.exists()

    def test_a_host_that_is_deleted_while_a_day_is_packed_leaves_nothing(
        self, host: Host, project: Project
    ) -> None:
        other = make_host(project, "db2")
        measure(other, BEGIN, CONNECTIONS=1.0)
        assert day_pack_some(now=CLOSED)
        host_delete(group_id=project.id, host_id=host.id, actor=SYSTEM, now=CLOSED)
        blocks = list(PackedReadings.objects.filter(source__host=host))
        while deleted_host_purge():
            """Batch after batch."""
        PackedReadings.objects.bulk_create(blocks)  # As a step writes that began before.
        pack()
        kept = set(PackedReadings.objects.values_list("source_id", flat=True))
        assert kept == {Source.objects.get(host=other).id}

    @pytest.mark.parametrize("whole_project", [False, True])
    def test_a_deleted_host_takes_its_blocks_along(
        self, host: Host, project: Project, *, whole_project: bool
    ) -> None:
        pack()
        if whole_project:
            while fleet_purge(group_id=project.id, limit=100):
                """Batch after batch."""
        else:
            host_delete(group_id=project.id, host_id=host.id, actor=SYSTEM, now=CLOSED)
            while deleted_host_purge():
                """Batch after batch."""
        assert not PackedReadings.objects.exists()
        assert not Source.objects.exists()

    def test_a_former_database_stays_while_it_has_blocks(self, host: Host, settings: Settings) -> None:
        measure(host, BEGIN, databases={"gone": {Metric.DB_DATA_SIZE_TOTAL: [(BEGIN, 1.0)]}})
        pack()
        settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 3
        days_create([FIRST - 9 * DAY])
        assert measurements_trim(now=END)
        assert Source.objects.filter(database="gone").exists()
        while measurements_trim(now=END + DAY):
            """Batch after batch."""
        assert not Source.objects.filter(database="gone").exists()

    @staticmethod
    def values(host: Host) -> list[float]:
        query = SeriesQuery(Granularity.PT1H, BEGIN, END, [Metric.CONNECTIONS])
        return [value for _, value in measured_series(host.id, query)[0].points]


@pytest.mark.django_db(transaction=True)
class TestPackingWithOthers:
    """Readers and writers while a day is packed."""

    @pytest.mark.slow
    @pytest.mark.parametrize("reader", sorted(READERS))
    def test_a_reader_sees_each_value_once_at_each_moment_of_packing(
        self, project: Project, reader: str
    ) -> None:
        """All steps of packing are done before one of the reader's statements, whichever it is."""
        fleet = PackedFleet(project, 1, 15)
        number = statements = 0
        while number <= statements:
            execute("TRUNCATE automation_packing, automation_packedreadings")
            execute("TRUNCATE automation_reading")
            fleet.store(fleet.reports)
            expected = fleet.read(reader)
            number += 1
            with PackingBefore(number) as packing:
                assert fleet.read(reader) == expected
            statements = packing.seen
            # The first statement of a reader that holds the days is its lock.
            assert Reading.objects.exists() == (number > (1 if reader in HOLDING else statements))
        assert number > 1

    def test_one_process_packs_at_a_time(self, project: Project) -> None:
        measure(make_host(project), BEGIN, CONNECTIONS=1.0)
        with transaction.atomic():
            assert day_pack_some(now=CLOSED)
            assert not in_other_session(lambda: day_pack_some(now=CLOSED))

    def test_a_day_that_is_being_read_is_shown_later(self, project: Project) -> None:
        measure(make_host(project), BEGIN, CONNECTIONS=1.0)
        assert day_pack_some(now=CLOSED)
        with transaction.atomic():
            assert Reading.objects.count() == 1
            assert not in_other_session(lambda: day_pack_some(now=CLOSED))
        assert not Packing.objects.exists()
        pack()
        assert Packing.objects.count() == PackedReadings.objects.count() == 1


class PackingBefore:
    """Packs all closed days in another session before the statement of this number."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.seen = 0

    def __enter__(self) -> Self:
        self._wrapper = connection.execute_wrapper(self)
        self._wrapper.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._wrapper.__exit__(None, None, None)

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        """An execute wrapper of Django's."""
        self.seen += 1
        if self.seen == self.number:
            in_other_session(pack)
        return execute(*args)
