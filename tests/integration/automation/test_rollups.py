"""Rollups of packed days: computed once, read like the values that they come from, deleted when old."""

from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django import Settings

from accesslist.models import Project
from automation.choices import Aggregate, Granularity, Tier
from automation.hosts.changes import deleted_host_purge, host_delete
from automation.measurements import rollups
from automation.measurements.changes import measurements_trim
from automation.measurements.days import DAY, begin_of, day_drop, days_create
from automation.measurements.disk import measurement_disk
from automation.measurements.fleet_query import FleetQuery
from automation.measurements.fleet_series import fleet_series
from automation.measurements.packer import day_pack_some
from automation.measurements.query import span_of
from automation.measurements.rollup_packing import DIGITS, LEVELS
from automation.measurements.rollups import rollups_compute_some
from automation.measurements.rules import NUMBERS
from automation.measurements.tiers import CLOSED_AFTER, MINUTES
from automation.metrics import Metric
from automation.models import Host, PackedReadings, PackedRollups, Packing, Reading, Rollup, Source
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute
from tests.each import each
from tests.factories.automation import make_host, measure
from tests.integration.automation.test_old_measurements import killed_at

FIRST = date(2099, 11, 18)
DAYS = 3
BEGIN = begin_of(FIRST)
END = BEGIN + DAYS * DAY
CLOSED = END + CLOSED_AFTER
HOUR = timedelta(hours=1)
METRICS = [Metric.CONNECTIONS, Metric.MEMORY_RESIDENT, Metric.SYSTEM_CPU_USER]
pytestmark = pytest.mark.django_db

_INSERT = (
    "INSERT INTO automation_reading (source_id, reported, report, age, numbers) VALUES (%s, %s, 0, %s, %s)"
)


@pytest.fixture(autouse=True)
def _days_of_the_test() -> None:
    """Only days of the test are closed."""
    while day_drop(before=BEGIN - DAY):
        """Day after day."""


@pytest.fixture
def hosts(project: Project) -> list[Host]:
    """Three hosts with readings of three days at any second, early and late, and a database of each."""
    chance = Random(5)
    days_create(FIRST + ahead * DAY for ahead in range(DAYS))
    found = [make_host(project, f"db{number}") for number in range(3)]
    for host in found:
        for database in ("", "orders"):
            source = Source.objects.create(host=host, database=database).id
            for _ in range(60):
                reported = BEGIN + timedelta(seconds=chance.randrange(DAYS * 86_400))
                numbers: list[float | None] = [None] * max(NUMBERS[metric] for metric in METRICS)
                for metric in chance.sample(METRICS, chance.randint(1, 3)):
                    numbers[NUMBERS[metric] - 1] = chance.choice((0.0, 12.5, chance.random() * 1e4, 1e9, 3.0))
                execute(_INSERT, [source, reported, chance.choice((0, 0, 60, 3600, -290)), numbers])
    return found


def pack(now: datetime = CLOSED) -> None:
    while day_pack_some(now=now):
        """Step after step."""


def roll_up(now: datetime = CLOSED) -> int:
    """Compute all rollups. Return the number of steps."""
    steps = 0
    while rollups_compute_some(now=now):
        steps += 1
    return steps


def query(tier: Tier, granularity: Granularity, aggregate: Aggregate | None = None) -> FleetQuery:
    return FleetQuery(granularity, BEGIN, END, METRICS, aggregate=aggregate, tier=tier)


def read(hosts: list[Host], *asked: Any) -> dict[tuple[str, Metric], list[tuple[float, ...]]]:
    """Start, count, mean, minimum and maximum of each bucket of a series."""
    found = {}
    for series in fleet_series(hosts, query(*asked)):
        points = series.points
        columns = (points.buckets, points.counts, points.means, points.minimums, points.maximums)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        found[series.host.hostname if series.host else "", series.metric] = list(rows)
    return found


def assert_alike(found: Any, exact: Any) -> None:
    """The same buckets and counts, and numbers within the stated rounding."""
    assert found.keys() == exact.keys()
    for series, rows in exact.items():
        assert [row[:2] for row in found[series]] == [row[:2] for row in rows]
        for (_, _, mean, low, high), (_, _, exact_mean, exact_low, exact_high) in zip(
            found[series], rows, strict=True
        ):
            error = 10.0 ** (1 - DIGITS) * max(abs(exact_low), abs(exact_high))
            assert abs(low - exact_low) <= error
            assert abs(high - exact_high) <= error
            assert abs(mean - exact_mean) <= (exact_high - exact_low) / LEVELS + error
            assert low <= mean <= high


@each("granularity", [Granularity.PT5M, Granularity.PT1H, Granularity.P1D])
def test_rollups_read_like_the_values_that_they_come_from(
    hosts: list[Host], granularity: Granularity
) -> None:
    exact = read(hosts, Tier.RAW, granularity)
    assert all(exact.values())
    pack()
    assert read(hosts, Tier.RAW, granularity) == exact
    roll_up()
    PackedReadings.objects.all().delete()
    for tier in (Tier.PT5M, Tier.PT1H):
        if timedelta(minutes=MINUTES[tier]) <= span_of(granularity):
            assert_alike(read(hosts, tier, granularity), exact)


@each("aggregate", list(Aggregate))
def test_rollups_of_hosts_are_aggregated(hosts: list[Host], aggregate: Aggregate) -> None:
    exact = read(hosts, Tier.RAW, Granularity.P1D, aggregate)
    pack()
    roll_up()
    found = read(hosts, Tier.PT1H, Granularity.P1D, aggregate)
    assert found.keys() == exact.keys()
    for series, rows in exact.items():
        assert [row[2:] for row in found[series]] == [pytest.approx(row[2:], rel=0.02) for row in rows]


def test_a_peak_is_in_the_maximum_of_its_hour(project: Project) -> None:
    host = make_host(project)
    for minute in range(60):
        measure(host, BEGIN + timedelta(minutes=minute), CONNECTIONS=900.0 if minute == 31 else 10.0)
    pack(BEGIN + DAY + CLOSED_AFTER)
    roll_up(BEGIN + DAY + CLOSED_AFTER)
    [row] = read([host], Tier.PT1H, Granularity.PT1H)["db1", Metric.CONNECTIONS]
    assert (row[1], *row[3:]) == (60, 10.0, 900.0)
    assert row[2] == pytest.approx(10 + 890 / 60, abs=890 / LEVELS)


class TestWhatIsRolledUp:
    """Which days get rollups, and until when they are kept."""

    @pytest.fixture
    def host(self, project: Project) -> Host:
        host = make_host(project)
        for ahead in range(DAYS):
            measure(host, BEGIN + ahead * DAY + HOUR, CONNECTIONS=float(ahead))
        return host

    @staticmethod
    def seen(host: Host, tier: Tier = Tier.PT1H) -> list[float]:
        return [row[2] for row in read([host], tier, Granularity.PT1H)[host.hostname, Metric.CONNECTIONS]]

    @pytest.mark.parametrize(("five", "hour", "kept"), [(90, 730, {5, 60}), (0, 730, {60}), (0, 0, set())])
    def test_a_tier_that_is_switched_off_is_not_stored(
        self, host: Host, settings: Settings, five: int, hour: int, kept: set[int]
    ) -> None:
        settings.OPSAPI_MEASUREMENT_PT5M_DAYS = five
        settings.OPSAPI_MEASUREMENT_PT1H_DAYS = hour
        pack()
        roll_up()
        assert set(PackedRollups.objects.values_list("minutes", flat=True)) == kept
        assert self.seen(host) == [0.0, 1.0, 2.0]

    def test_days_that_were_packed_without_rollups_get_them(self, host: Host, settings: Settings) -> None:
        settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 0
        pack()
        roll_up()
        settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 730
        assert roll_up() == 2 * DAYS
        assert Rollup.objects.filter(minutes=60).count() == DAYS

    def test_values_as_measured_are_deleted_when_they_have_rollups(
        self, host: Host, settings: Settings
    ) -> None:
        settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 1
        now = END + 9 * DAY
        self.trim(now)
        assert Reading.objects.count() == DAYS
        pack(now)
        self.trim(now)
        assert Packing.objects.count() == PackedReadings.objects.count() == DAYS
        roll_up(now)
        self.trim(now)
        assert not Packing.objects.exists()
        assert not PackedReadings.objects.exists()
        assert self.seen(host) == self.seen(host, Tier.PT5M) == [0.0, 1.0, 2.0]
        assert self.seen(host, Tier.RAW) == []

    def test_rollups_are_deleted_after_their_days(
        self, host: Host, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rollups, "ROLLUP_BLOCKS_AT_ONCE", 1)
        pack()
        roll_up()
        settings.OPSAPI_MEASUREMENT_PT5M_DAYS = 3
        settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 5
        self.trim(END + DAY)
        assert self.stored() == [(5, 2), (60, 3)]
        self.trim(END + 4 * DAY)
        assert self.stored() == [(60, 1)]
        settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 0
        self.trim(END + 4 * DAY)
        assert self.stored() == []

    def test_a_day_that_is_packed_again_has_both_rollups(self, host: Host) -> None:
        pack()
        roll_up()
        measure(host, BEGIN + HOUR, CONNECTIONS=4.0)
        assert self.seen(host) == [2.0, 1.0, 2.0]
        pack()
        roll_up()
        assert Rollup.objects.filter(minutes=60, day=FIRST).count() == 2
        assert self.seen(host) == [2.0, 1.0, 2.0]

    def test_a_later_packing_does_not_take_the_number_of_rollups(
        self, host: Host, settings: Settings
    ) -> None:
        pack()
        roll_up()
        settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 1
        self.trim(END + 9 * DAY)
        measure(host, BEGIN + HOUR, CONNECTIONS=4.0)
        pack()
        assert Packing.objects.get().number == 2

    def test_computing_can_be_stopped_at_any_statement_and_goes_on(
        self, hosts: list[Host], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rollups, "SOURCES_AT_ONCE", 2)
        pack()
        exact = read(hosts, Tier.RAW, Granularity.PT1H)
        number = 0
        while Rollup.objects.count() < 2 * DAYS:
            number += 1
            with killed_at(number), transaction.atomic():
                roll_up()
            assert_alike(read(hosts, Tier.PT1H, Granularity.PT1H), exact)
        assert number > 10

    def test_databases_have_no_rollups(self, hosts: list[Host]) -> None:
        pack()
        roll_up()
        assert not PackedRollups.objects.exclude(source__database="").exists()

    def test_a_deleted_host_takes_its_rollups_along(self, host: Host, project: Project) -> None:
        pack()
        roll_up()
        host_delete(group_id=project.id, host_id=host.id, actor=SYSTEM, now=CLOSED)
        while deleted_host_purge():
            """Batch after batch."""
        assert not PackedRollups.objects.exists()
        assert not Source.objects.exists()

    def test_blocks_of_a_deleted_host_are_not_shown(self, host: Host) -> None:
        pack()
        assert rollups_compute_some(now=CLOSED)
        execute("UPDATE automation_packedrollups SET source_id = source_id + 1000000")
        roll_up()
        assert not PackedRollups.objects.filter(source_id__gt=1_000_000).exists()

    @staticmethod
    def trim(now: datetime) -> None:
        while measurements_trim(now=now):
            """Batch after batch."""

    @staticmethod
    def stored() -> list[tuple[int, int]]:
        """The number of rollups of each length, each with its block."""
        found = {minutes: Rollup.objects.filter(minutes=minutes).count() for minutes in (5, 60)}
        for minutes, number in found.items():
            assert PackedRollups.objects.filter(minutes=minutes).count() == number
        return [(minutes, number) for minutes, number in found.items() if number]


class TestDisk:
    """The disk that measurements need."""

    def test_it_is_unknown_until_a_day_is_packed(self, settings: Settings) -> None:
        assert [(disk.a_day, disk.needed) for disk in measurement_disk()] == [(None, None)] * 3
        assert [disk.days for disk in measurement_disk()] == [7, 90, 730]

    def test_it_is_computed_from_what_is_stored(self, hosts: list[Host], settings: Settings) -> None:
        pack()
        sampled = measurement_disk()
        roll_up()
        raw, *rolled_up = measurement_disk()
        blocks = PackedReadings.objects.values_list("block", flat=True)
        assert raw.a_day is not None
        assert raw.a_day * DAYS > sum(map(len, blocks))
        for disk, minutes in zip(rolled_up, (5, 60), strict=True):
            stored = PackedRollups.objects.filter(minutes=minutes).values_list("block", flat=True)
            assert sum(map(len, stored)) < disk.stored < 2 * sum(map(len, stored)) + 150 * len(stored)
            assert disk.a_day is not None
            assert disk.needed == disk.days * disk.a_day
        # Without rollups, some are computed.
        for before, after in zip(sampled[1:], rolled_up, strict=True):
            assert before.stored == 0
            assert before.a_day == pytest.approx(after.a_day, rel=0.3)

    def test_other_settings_can_be_considered(self, hosts: list[Host]) -> None:
        pack()
        roll_up()
        now = measurement_disk()
        more = measurement_disk({Tier.RAW: 8, Tier.PT5M: 180, Tier.PT1H: 0})
        assert more[0].needed == pytest.approx((now[0].needed or 0) + (now[0].a_day or 0))
        assert more[1].needed == pytest.approx(2 * (now[1].needed or 0))
        assert more[2].needed == 0
        assert measurement_disk({Tier.RAW: 0})[0].needed is None

    def test_the_command_shows_a_row_for_each_tier(
        self, hosts: list[Host], capsys: pytest.CaptureFixture[str]
    ) -> None:
        pack()
        call_command("measurement_disk", "--pt1h-days", "0")
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [row[:2] for row in rows[1:4]] == [["RAW", "7"], ["PT5M", "90"], ["PT1H", "off"]]
        call_command("measurement_disk", "--raw-days", "0")
        assert "forever" in capsys.readouterr().out
        with pytest.raises(CommandError):
            call_command("measurement_disk", "--raw-days", "-1")
