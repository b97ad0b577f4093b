"""The measurements around an alert."""

from datetime import timedelta

import pytest

from accesslist.models import Project
from automation.metrics import Metric
from tests.factories import automation
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host
from tests.integration.alerting.timelines import (
    HOUR,
    MINUTE,
    NOW,
    measure,
    metric_alert,
    metric_config,
    timeline,
)

pytestmark = pytest.mark.django_db


def test_measurements_begin_before_the_alert_and_end_after_it(project: Project) -> None:
    config = metric_config(project)
    host = make_host(project)
    alert = metric_alert(project, host, config_id=config.id, status="CLOSED", resolved=NOW - HOUR / 2)
    inside = [NOW - HOUR - HOUR / 2, NOW - HOUR, NOW]
    for entry in (inside[0] - MINUTE, *inside, NOW + MINUTE):
        measure(host, entry, 950)
    measured = timeline(alert, now=NOW + HOUR).measured
    assert measured is not None
    assert [entry for entry, _ in measured.points] == inside
    assert measured.threshold is not None
    assert measured.threshold.threshold == 900


def test_however_much_was_measured_few_points_with_all_extremes_are_shown(project: Project) -> None:
    host = make_host(project)
    alert = metric_alert(project, host)
    extremes = {1234: 5000.0, 2222: -5000.0}
    samples = [
        (NOW - HOUR + timedelta(seconds=second), extremes.get(second, float(second % 7)))
        for second in range(3000)
    ]
    automation.measure(host, NOW, {Metric.CONNECTIONS: samples})
    measured = timeline(alert).measured
    assert measured is not None
    assert 100 < len(measured.points) <= 300
    numbers = [number for _, number in measured.points]
    assert (max(numbers), min(numbers)) == (5000.0, -5000.0)
    assert [entry for entry, _ in measured.points] == sorted(entry for entry, _ in measured.points)


def test_other_alerts_of_a_host_show_its_connections(project: Project) -> None:
    host = make_host(project)
    alert = metric_alert(project, host, event_type="HOST_DOWN", metric_name=None)
    measure(host, NOW - HOUR - MINUTE, 5)
    orders = {"orders": {Metric.DB_DATA_SIZE_TOTAL: [(NOW - HOUR, 1.0)]}}
    automation.measure(host, NOW - HOUR, databases=orders)
    measured = timeline(alert).measured
    assert measured is not None
    assert (measured.metric.value, len(measured.points), measured.threshold) == ("CONNECTIONS", 1, None)


def test_without_a_host_or_measurements_there_is_no_plot(project: Project) -> None:
    host = make_host(project)
    assert timeline(metric_alert(project, host, metric_name=None)).measured is None
    about_a_set = make_alert(project, event_type="NO_PRIMARY", facts={"replicaSetName": "rs0"})
    assert timeline(about_a_set).measured is None
