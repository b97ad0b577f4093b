"""How long measurements are kept (OPSAPI_MEASUREMENT_RETENTION_DAYS)."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from accesslist.models import Project
from automation.models import Host, Measurement
from automation.services import measurements as measurements_service
from automation.services.measurements import measurements_trim
from tests.factories.automation import make_host

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def host(project: Project) -> Host:
    """A host measured once a day, for ten days, last a second short of a day ago."""
    made = make_host(project)
    for days in range(1, 11):
        reported = NOW - timedelta(days=days) + timedelta(seconds=1)
        Measurement.objects.create(host=made, reported=reported)
    return made


@pytest.mark.parametrize(("days", "left"), [(7, 7), (1, 1), (10, 10), (0, 10)])
def test_what_is_older_than_the_days_of_the_setting_goes(
    settings: Settings, host: Host, days: int, left: int
) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = days
    assert measurements_trim(now=NOW) is (left < 10)
    assert host.measurements.count() == left
    oldest = host.measurements.earliest("reported").reported
    assert oldest == NOW - timedelta(days=left) + timedelta(seconds=1)
    assert not measurements_trim(now=NOW)


def test_it_goes_a_batch_at_a_time(settings: Settings, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 5
    monkeypatch.setattr(measurements_service, "MEASUREMENTS_AT_ONCE", 2)
    left = []
    while measurements_trim(now=NOW):
        left.append(host.measurements.count())
    assert left == [8, 6, 5]
