"""The partitions of days: created ahead or when a report needs them, and dropped without blocking others."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from accesslist.models import Project
from automation.choices import Granularity
from automation.measurements.days import (
    DAY,
    begin_of,
    day_drop,
    days_create,
    days_prepare,
    existing_days,
    partition_name,
)
from automation.measurements.query import SeriesQuery
from automation.measurements.store import measured_series, newest_measurements
from automation.metrics import Metric
from automation.models import Host, Reading
from events.models import Event
from opsapi.sql import execute, fetch_rows
from tests.factories.automation import host_report, ingest, make_host, measure
from tests.racing import at_once, in_other_session

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
TODAY = NOW.date()
MINUTE = timedelta(minutes=1)
pytestmark = pytest.mark.django_db


def tables() -> list[str]:
    """The partitions that hold readings."""
    return [
        name
        for (name,) in fetch_rows(
            "SELECT DISTINCT tableoid::regclass::text FROM automation_reading ORDER BY 1"
        )
    ]


def read(host: Host) -> int:
    return len(newest_measurements([host.id]))


class TestMade:
    """Before they are needed, or when they are."""

    def test_there_are_some_from_the_first_start_on(self) -> None:
        today = datetime.now(UTC).date()
        assert {today, today + DAY} <= set(existing_days())

    def test_a_worker_creates_partitions_of_coming_days_once(self) -> None:
        days_prepare(now=NOW)
        made = {TODAY + ahead * DAY for ahead in range(4)}
        assert made <= set(existing_days())
        days_prepare(now=NOW)
        assert len(existing_days()) == len(set(existing_days()))

    def test_a_new_day_has_one_index_whose_pages_are_filled(self) -> None:
        days_create([TODAY])
        assert fetch_rows(
            """
                        SELECT parent.inhparent::regclass::text, index.reloptions
                          FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
                          LEFT JOIN pg_inherits AS parent ON parent.inhrelid = indexrelid
                         WHERE indrelid = %s::regclass
                        """,
            [partition_name(TODAY)],
        ) == [("reading_newest", ["fillfactor=100"])]

    def test_each_row_lies_in_the_partition_of_its_day(self, project: Project) -> None:
        midnight = begin_of(TODAY)
        host = make_host(project)
        for moment in (midnight - timedelta(microseconds=1), midnight, midnight + DAY - MINUTE):
            measure(host, moment, CONNECTIONS=1.0)
        assert tables() == [partition_name(TODAY - DAY), partition_name(TODAY)]

    @pytest.mark.parametrize("days", [-400, 0, 400])
    def test_a_report_whose_day_is_missing_makes_it_and_is_stored_once(
        self, project: Project, days: int
    ) -> None:
        """Whatever the clock of the machine says: that of another may have been right."""
        moment = NOW + days * DAY
        ingest(project, host_report(CONNECTIONS=1.0), now=moment)
        assert (Reading.objects.count(), tables()) == (1, [partition_name(moment.date())])
        assert Event.objects.filter(event_type="NEW_HOST").count() == 1

    def test_samples_of_the_day_before_lie_with_their_report(self, project: Project) -> None:
        host = make_host(project)
        taken = begin_of(TODAY) - 30 * MINUTE
        measure(host, begin_of(TODAY) + MINUTE, {Metric.CONNECTIONS: [(taken, 5.0)]})
        assert tables() == [partition_name(TODAY)]
        query = SeriesQuery(Granularity.PT1M, taken, taken, [Metric.CONNECTIONS])
        assert [value for _, value in measured_series(host.id, query)[0].points] == [5.0]


@pytest.mark.django_db(transaction=True)
class TestDaysWithOthers:
    """Nobody waits for who makes or drops a day, and nobody keeps them waiting."""

    @pytest.fixture(autouse=True)
    def _days_of_others(self) -> Iterator[None]:
        """Are there again afterwards."""
        before = existing_days()
        yield
        days_create(before)
        for day in set(existing_days()) - set(before):
            execute(f"DROP TABLE {partition_name(day)}")

    def test_of_reports_that_race_for_a_missing_day_each_is_stored(self, project: Project) -> None:
        def report(number: int) -> None:
            ingest(project, host_report(f"db{number}", CONNECTIONS=1.0), agent=f"a{number}", now=NOW)

        at_once(report)
        assert Reading.objects.count() == Host.objects.count() == 10
        assert existing_days().count(TODAY) == 1

    def test_a_day_is_created_while_others_read_and_write(self, project: Project) -> None:
        host = make_host(project)
        measure(host, NOW, CONNECTIONS=1.0)

        def make() -> None:
            execute("SET lock_timeout = '10s'")
            days_create([TODAY + DAY])

        with transaction.atomic():
            assert newest_measurements([host.id])
            measure(host, NOW + MINUTE, CONNECTIONS=2.0)
            in_other_session(make)
        assert TODAY + DAY in existing_days()

    def test_a_day_that_is_being_read_is_dropped_later(self, project: Project) -> None:
        measure(make_host(project), NOW, CONNECTIONS=1.0)
        old = [day for day in existing_days() if day < TODAY]
        with transaction.atomic():
            assert Reading.objects.count() == 1
            assert in_other_session(lambda: day_drop(before=NOW + 2 * DAY)) is False
            assert Reading.objects.count() == 1
        while day_drop(before=NOW + 2 * DAY):
            """The days of other tests are older."""
        assert old
        assert not Reading.objects.exists()

    def test_who_reads_waits_a_moment_at_most_for_a_drop(self, project: Project) -> None:
        """The drop waits for the first reader, and the second for the drop: until it gives up."""
        host = make_host(project)
        measure(host, NOW, CONNECTIONS=1.0)
        with transaction.atomic():
            assert Reading.objects.count() == 1
            dropped = at_once(lambda number: day_drop(before=NOW + 2 * DAY) if number % 2 else read(host))
        assert dropped == [1, False] * 5

    def test_two_who_drop_the_same_day_drop_it_once(self) -> None:
        days_create([TODAY - DAY, TODAY])
        begin = min(existing_days())

        def drop() -> bool:
            return day_drop(before=begin_of(begin) + DAY)

        with transaction.atomic():
            assert drop()
            assert in_other_session(drop) is False
        assert drop() is False
