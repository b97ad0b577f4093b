"""An alert ended by a change of its host or configuration begins again at once where its condition holds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.models import AlertConfig
from automation.hosts.changes import host_change
from automation.models import Host
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import by_column, make_config, make_global_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LATER = START + MINUTE
THRESHOLD = {
    "metricName": "CONNECTIONS",
    "operator": "GREATER_THAN",
    "threshold": 10,
    "units": "RAW",
    "mode": "AVERAGE",
}
ELSEWHERE = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "elsewhere.example.com"}]


def down(project: Project) -> None:
    """A host is down, and its last report measured something."""
    evaluate(START)
    ingest(project, host_report(CONNECTIONS=50.0), now=START)
    ingest(project, host_report(reachable=False), now=START)
    evaluate(START)


def change(config: AlertConfig, **values: Any) -> None:
    """The configuration is changed, and what follows evaluated."""
    alert_config_update(config=config, read=lambda _: by_column(values), actor=SYSTEM, now=LATER)
    evaluate(LATER)


def rename(**changes: Any) -> None:
    """The only host gets another address."""
    host = Host.objects.get()
    host_change(group_id=host.group_id, host_id=host.id, changes=changes, actor=SYSTEM, now=LATER)
    evaluate(LATER)


@pytest.mark.parametrize(
    "changes", [{"hostname": "other.example.com"}, {"port": 27018}], ids=["name", "port"]
)
def test_a_host_renamed_while_it_is_down(project: Project, outside: Outside, changes: dict[str, Any]) -> None:
    config = make_config(project)
    down(project)
    deliver_all(START)
    rename(**changes)
    assert statuses(config) == ["CANCELLED", "OPEN"]
    deliver_all(LATER)
    first, *later = [kind.name for kind in outside.kinds]
    # The later messages are about different alerts, so they have no order.
    assert (first, sorted(later)) == ("OPEN", ["CANCEL", "OPEN"])


def test_a_host_renamed_while_a_metric_is_outside_its_threshold(project: Project) -> None:
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=THRESHOLD)
    ingest(project, host_report(CONNECTIONS=50.0), now=START)
    evaluate(START)
    rename(hostname="other.example.com")
    assert statuses(config) == ["CANCELLED", "OPEN"]


def test_a_healthy_host_that_is_renamed_begins_nothing(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(), now=START)
    evaluate(START)
    rename(hostname="other.example.com")
    assert statuses(config) == []


def test_a_configuration_that_is_enabled_again(project: Project) -> None:
    config = make_config(project)
    down(project)
    change(config, enabled=False)
    change(config, enabled=True)
    assert statuses(config) == ["CANCELLED", "OPEN"]


def test_a_configuration_whose_matchers_are_widened(project: Project) -> None:
    config = make_config(project, matchers=ELSEWHERE)
    down(project)
    assert statuses(config) == []
    change(config, matchers=[])
    assert statuses(config) == ["OPEN"]


def test_a_configuration_whose_threshold_is_widened(project: Project) -> None:
    high = {**THRESHOLD, "threshold": 100}
    config = make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=high)
    ingest(project, host_report(CONNECTIONS=50.0), now=START)
    evaluate(START)
    change(config, metricThreshold=THRESHOLD)
    assert statuses(config) == ["OPEN"]


def test_a_global_configuration_whose_projects_are_widened(project: Project) -> None:
    other: Project = ProjectFactory.create()
    config = make_global_config(forAllGroups=False, groupIds=[other.id])
    down(project)
    assert statuses(config) == []
    change(config, groupIds=[other.id, project.id])
    assert statuses(config) == ["OPEN"]
