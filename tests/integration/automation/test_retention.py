"""How long measurements are kept (OPSAPI_MEASUREMENT_RETENTION_DAYS)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Model
from pytest_django import Settings

from accesslist.models import Project
from automation.choices import Granularity
from automation.measurements import changes as measurements_service
from automation.measurements.changes import measurements_trim
from automation.measurements.days import day_drop, existing_days
from automation.measurements.packer import day_pack_some
from automation.measurements.query import SeriesQuery
from automation.measurements.rollups import rollups_compute_some
from automation.measurements.store import measured_series
from automation.metrics import Metric
from automation.models import (
    Database,
    Host,
    PackedReadings,
    PackedRollups,
    Packing,
    Reading,
    Rollup,
    Source,
)
from tests.each import each
from tests.factories.automation import make_host, measure
from tests.steps import STEPS

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
DAY = timedelta(days=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_rollups(settings: Settings) -> None:
    """Measurements of which rollups are kept wait for their rollups (`test_rollups.py`)."""
    settings.OPSAPI_MEASUREMENT_PT5M_DAYS = settings.OPSAPI_MEASUREMENT_PT1H_DAYS = 0


@pytest.fixture(autouse=True)
def _days_of_the_test() -> None:
    """Only days of the test are there."""
    while day_drop(before=NOW - 20 * DAY):
        """Day after day."""


@pytest.fixture
def host(project: Project) -> Host:
    """A host measured once a day, for ten days."""
    made = make_host(project)
    for days in range(10):
        measure(made, NOW - days * DAY, CONNECTIONS=1.0)
    return made


@pytest.mark.parametrize(("days", "left"), [(7, 8), (1, 2), (9, 10), (0, 10)])
def test_days_of_which_all_is_older_than_the_setting_go(
    settings: Settings, host: Host, days: int, left: int
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = days
    went = [measurements_trim(now=NOW) for _ in range(11 - left)]
    assert went == [True] * (10 - left) + [False]
    oldest = Reading.objects.earliest("reported").reported
    assert (Reading.objects.count(), oldest) == (left, NOW - (left - 1) * DAY)


def test_a_day_stays_until_its_last_moment_is_old_enough(settings: Settings, host: Host) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 9
    midnight = NOW.replace(hour=0) + DAY
    assert not measurements_trim(now=midnight - timedelta(microseconds=1))
    assert measurements_trim(now=midnight)
    assert min(existing_days()) == (NOW - 8 * DAY).date()


@pytest.mark.parametrize(
    ("models", "rollup_days"),
    [([Reading], 0), ([Packing, PackedReadings], 0), ([Rollup, PackedRollups], 7)],
    ids=["rows", "packed", "rolled up"],
)
@each("step", STEPS, ids=str)
def test_the_wrong_time_of_a_measurement_decides_when_it_is_deleted(
    project: Project, settings: Settings, models: list[type[Model]], rollup_days: int, step: timedelta
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 7
    settings.OPSAPI_MEASUREMENT_PT1H_DAYS = rollup_days
    host, at = make_host(project), NOW + step
    measure(host, at, CONNECTIONS=1.0)
    while Reading not in models and (
        day_pack_some(now=at + 2 * DAY) or rollups_compute_some(now=at + 2 * DAY)
    ):
        """Step after step."""
    query = SeriesQuery(Granularity.PT1M, at, at, [Metric.CONNECTIONS])
    assert [value for _, value in measured_series(host.id, query)[0].points] == [1.0]
    for now, is_kept in [
        (NOW, step > -8 * DAY),
        (NOW + 8 * DAY, step >= DAY),
        (NOW + 9 * DAY, step > DAY),
        (at + 8 * DAY, False),
    ]:
        while measurements_trim(now=now):
            """Step after step."""
        assert {model._default_manager.exists() for model in models} == {is_kept}, now


def test_no_row_is_deleted_one_by_one(
    settings: Settings, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 1
    monkeypatch.setattr(measurements_service, "readings_delete", None)
    assert measurements_trim(now=NOW)


def test_databases_that_are_gone_are_forgotten_with_what_was_measured_of_them(
    settings: Settings, host: Host
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 5
    Database.objects.create(host=host, name="there")
    for name, days in (("there", 9), ("gone", 9), ("just gone", 1)):
        moment = NOW - days * DAY
        measure(host, moment, databases={name: {Metric.DB_DATA_SIZE_TOTAL: [(moment, 1.0)]}})
    while measurements_trim(now=NOW):
        """Day after day."""
    assert set(Source.objects.values_list("database", flat=True)) == {"", "there", "just gone"}
