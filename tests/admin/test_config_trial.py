"""A configuration is tried on the last days in its form, before it is saved."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting import budgets
from alerting.models import AlertConfig
from events.models import Event
from opsapi import clock
from opsapi.roles import Role
from tests.admin.configs import ADD, do, facts, typed_config
from tests.admin.operators import browser_with
from tests.admin.writing import post
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, make_config, make_global_config
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
METRIC = {
    "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
    "metricThreshold.metricName": "CONNECTIONS",
    "metricThreshold.operator": "GREATER_THAN",
    "metricThreshold.threshold": "100",
}


@pytest.fixture
def record(project: Project) -> None:
    """A host with two alerts in the last hour."""
    now = clock.now()
    for minutes, number in ((50, 90.0), (40, 150.0), (30, 80.0), (20, 120.0), (10, 70.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=now - timedelta(minutes=minutes))


def tried(browser: Client, url: str, typed: dict[str, Any]) -> str:
    """The page after the button Try."""
    answer = post(browser, url, **{"confirmed": "yes", "try": "yes", **typed})
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_it_shows_the_alerts_and_a_plot_and_saves_nothing(
    console: Client, operator: User, project: Project, record: None
) -> None:
    events = Event.objects.count()
    page = tried(console, ADD, typed_config(project.id, **METRIC))
    assert "would have alerted 2 times on 1 host in the last 7 days: 4 notifications, the longest" in page
    assert page.count("db1:27017</td>") == 2
    assert 'id="plot-data"' in page
    assert '"threshold": 100.0' in page
    assert not AlertConfig.objects.filter(group=project, event_type=METRIC["eventTypeName"]).exists()
    assert Event.objects.count() == events


def test_it_suggests_a_threshold(console: Client, operator: User, project: Project) -> None:
    now = clock.now()
    for place, number in enumerate((110.0, 1.0, 120.0, 1.0, 300.0, 1.0, 400.0, 1.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=now - timedelta(minutes=50 - 5 * place))
    page = tried(console, ADD, typed_config(project.id, **METRIC))
    assert "With a threshold of 120, 2 instead of 4 alerts" in page


def test_it_counts_incidents_of_grouped_alerts(
    console: Client, operator: User, project: Project, record: None
) -> None:
    typed = typed_config(project.id, **METRIC, grouping="TOPOLOGY", groupWaitSec="0")
    assert "The alerts form 2 incidents." in tried(console, ADD, typed)


def test_it_keeps_the_input(console: Client, operator: User, project: Project, record: None) -> None:
    typed = typed_config(project.id, **METRIC)
    page = tried(console, ADD, typed)
    assert 'value="oncall@example.com"' in page
    answer = post(console, ADD, confirmed="yes", **typed)
    assert answer.status_code in {200, 302}


def test_a_stored_configuration_is_tried_with_the_input(
    console: Client, operator: User, project: Project, record: None
) -> None:
    threshold = {
        "metricName": "CONNECTIONS",
        "operator": "GREATER_THAN",
        "threshold": 1000,
        "units": "RAW",
        "mode": "AVERAGE",
    }
    config = make_config(
        project, notifications=[EMAIL], eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=threshold
    )
    before = facts(config)
    setting = config.settings.get()
    typed = typed_config(project.id, **METRIC, updated=before["updated"])
    typed["notifications[0].id"] = setting.id
    page = tried(console, do(config, "change"), typed)
    assert "The configuration would have alerted 2 times" in page
    assert facts(config) == before


def test_a_wrong_input_is_refused_as_when_it_is_saved(
    console: Client, operator: User, project: Project, record: None
) -> None:
    page = tried(console, ADD, typed_config(project.id, **METRIC | {"metricThreshold.threshold": "many"}))
    assert "The configuration would" not in page
    assert 'aria-invalid="true"' in page


def test_a_condition_without_a_record_cannot_be_tried(
    console: Client, operator: User, project: Project
) -> None:
    typed = typed_config(project.id, eventTypeName="USERS_WITHOUT_MULTI_FACTOR_AUTH")
    assert "The configuration cannot be tried." in tried(console, ADD, typed)


def test_a_full_project_says_so(
    console: Client, operator: User, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "AT_ONCE_IN_PROJECT", 0)
    page = tried(console, ADD, typed_config(project.id))
    assert "at the same time" in page
    assert "The configuration would" not in page


def test_a_global_configuration_has_no_record_of_its_own(console: Client, operator: User) -> None:
    config = make_global_config(notifications=[EMAIL])
    assert 'name="try"' not in console.get(do(config, "change")).content.decode()
    assert "Choose a project" in tried(console, ADD, typed_config("global", forAllGroups="on"))


def test_a_project_of_others_cannot_be_tried(project: Project, record: None) -> None:
    other = ProjectFactory.create()
    monitor = browser_with(Role.GROUP_MONITORING_ADMIN, project=other)
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    for browser in (monitor, reader):
        typed = {"confirmed": "yes", "try": "yes", **typed_config(project.id, **METRIC)}
        assert "The configuration would" not in post(browser, ADD, **typed).content.decode()
