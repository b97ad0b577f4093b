"""Dry runs over days of which only rollups are kept."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.insight.dry_run_alerts import DryRunLimit
from alerting.insight.dry_runs import DryRunResult, dry_run
from automation.measurements.changes import measurements_trim
from automation.measurements.days import DAY
from automation.measurements.recorded_metrics import RecordedMetric, SourceSpan, values_within
from automation.metrics import Metric
from automation.models import Host, PackedReadings, Source
from tests.api import bodies
from tests.factories.automation import make_host, measure
from tests.integration.automation.test_rollups import BEGIN, END, HOUR, pack, roll_up

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
LATER = END + 9 * DAY
NOON = BEGIN + 12 * HOUR
_INSTANT = timedelta(microseconds=1)
FIVE_MINUTES, AN_HOUR = (5, 60)


@pytest.fixture
def host(project: Project) -> Host:
    """A host with 50 connections each minute from 11:30 to 13:30, and 200 from 12:00 to before 12:20."""
    host = make_host(project)
    for minute in range(-30, 90):
        measure(host, NOON + minute * MINUTE, CONNECTIONS=200.0 if 0 <= minute < 20 else 50.0)
    return host


def keep_rollups_only(settings: Settings, minutes: int) -> timedelta:
    """Keep rollups of one length, and nothing else. Return the length."""
    settings.OPSAPI_MEASUREMENT_PT5M_DAYS = 90 if minutes == FIVE_MINUTES else 0
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 1
    pack(LATER)
    roll_up(LATER)
    while measurements_trim(now=LATER):
        """Batch after batch."""
    assert not PackedReadings.objects.exists()
    return minutes * MINUTE


def run(host: Host, threshold: float = 100) -> DryRunResult:
    config = bodies.metric_config(threshold=threshold, units="RAW")
    values = {
        "event_type": config["eventTypeName"],
        "metric_threshold": config["metricThreshold"],
        "notifications": [bodies.email(delayMin=0)],
    }
    return dry_run(group_id=host.group_id, values=values, start=BEGIN, end=END)


def test_an_alert_is_found_from_means_of_five_minutes(host: Host, settings: Settings) -> None:
    bucket = keep_rollups_only(settings, FIVE_MINUTES)
    found = run(host)
    assert DryRunLimit.MEANS_OF_FIVE_MINUTES in found.limits
    [alert] = found.alerts
    assert alert.start_value == 200.0
    assert (alert.created, alert.ended) == (
        NOON + bucket - _INSTANT,
        NOON + 20 * MINUTE + bucket - _INSTANT,
    )


def test_a_peak_shorter_than_an_hour_is_found_only_if_the_mean_is_beyond(
    host: Host, settings: Settings
) -> None:
    bucket = keep_rollups_only(settings, AN_HOUR)
    found = run(host)
    assert DryRunLimit.MEANS_OF_AN_HOUR in found.limits
    assert found.alerts == []  # The mean is exactly 100.
    assert [alert.created for alert in run(host, 99).alerts] == [NOON + bucket - _INSTANT]


def test_days_as_measured_say_nothing_about_means(host: Host) -> None:
    pack(LATER)
    roll_up(LATER)
    found = run(host)
    assert not {DryRunLimit.MEANS_OF_FIVE_MINUTES, DryRunLimit.MEANS_OF_AN_HOUR} & set(found.limits)
    assert [alert.created for alert in found.alerts] == [NOON]


def test_the_last_mean_and_the_means_of_a_span_are_read(host: Host, settings: Settings) -> None:
    bucket = keep_rollups_only(settings, FIVE_MINUTES)
    [source] = Source.objects.filter(host=host).values_list("id", flat=True)
    recorded = RecordedMetric.held(Metric.CONNECTIONS, BEGIN, END)
    [last] = recorded.last_values([source], BEGIN, END)
    assert (last.reported, last.values) == (NOON + 90 * MINUTE - _INSTANT, [50.0])
    span = SourceSpan(source, NOON - bucket, NOON + 2 * bucket)
    assert values_within([span], Metric.CONNECTIONS, most=3) == [
        [
            type(last)(source, NOON + place * bucket - _INSTANT, [value])
            for place, value in enumerate((50.0, 200.0, 200.0))
        ]
    ]
    assert values_within([span], Metric.CONNECTIONS, most=2) is None
