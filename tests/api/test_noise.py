"""How noisy an alert configuration is, over HTTP."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.insight import threshold_suggestions
from alerting.models import Alert, AlertConfig
from automation.models import Host
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.api.recipients import client, group, refusal
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import (
    CONNECTIONS_ABOVE_100,
    EMAIL,
    make_alert,
    make_config,
    make_global_config,
    make_notification,
)
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def lasted(config: AlertConfig, minutes: float, *, ago: timedelta = DAY, **changes: Any) -> Any:
    """An alert of the configuration that lasted so long."""
    began = clock.now() - ago
    times = {"created": began, "opens": began, "resolved": began + minutes * MINUTE}
    project = changes.pop("project", config.group)
    return make_alert(project, config_id=config.id, **({"status": "CLOSED"} | times | changes))


def noise(owner: ApiClient, config: AlertConfig) -> dict[str, Any]:
    """The document."""
    answer = owner.get(f"/groups/{config.group_id}/alertConfigs/{config.id}/noise")
    assert answer.status_code == 200, answer.json()
    document: dict[str, Any] = answer.json()
    return document


@pytest.fixture
def config(project: Project) -> AlertConfig:
    """A configuration that is older than the period."""
    made = make_config(project, notifications=[EMAIL])
    AlertConfig.objects.filter(id=made.id).update(created=clock.now() - 100 * DAY)
    return AlertConfig.objects.get(id=made.id)


def test_a_quiet_configuration(owner: ApiClient, config: AlertConfig) -> None:
    document = noise(owner, config)
    zeros = ("alerts", "alertsPerWeek", "flaps", "acknowledged", "messagesSent")
    assert [document[name] for name in zeros] == [0] * 5
    assert {"medianDurationSec", "suggestions"}.isdisjoint(document)
    assert document["alertConfigId"] == config.id
    assert document["start"] < wire_time(clock.now() - 27 * DAY) < document["end"]


def test_alerts_of_the_period_that_opened_are_counted(
    owner: ApiClient, config: AlertConfig, project: Project
) -> None:
    for minutes in (1, 3, 20):
        lasted(config, minutes)
    lasted(config, 1, resolved=None, status="OPEN", acknowledged_until=clock.now())
    lasted(config, 1, ago=29 * DAY)
    lasted(config, 1, opens=clock.now())  # ended before it opened
    lasted(config, 1, resolved=None, status="TRACKING")
    lasted(make_config(project), 1)
    document = noise(owner, config)
    assert (document["alerts"], document["alertsPerWeek"], document["acknowledged"]) == (4, 1.0, 1)
    assert document["medianDurationSec"] == 180


def test_weeks_before_the_configuration_existed_do_not_count(owner: ApiClient, project: Project) -> None:
    young = make_config(project)
    for _ in range(3):
        lasted(young, 20)
    assert noise(owner, young)["alertsPerWeek"] == 3.0


def test_retention_shortens_the_period(owner: ApiClient, config: AlertConfig, settings: Any) -> None:
    settings.OPSAPI_ALERT_RETENTION_DAYS = 7
    lasted(config, 20, ago=10 * DAY)
    lasted(config, 20)
    assert noise(owner, config)["alertsPerWeek"] == 1.0


def test_flaps_are_alerts_soon_after_another_on_the_same_target(
    owner: ApiClient, config: AlertConfig
) -> None:
    here, there = new_id(), new_id()
    lasted(config, 1, target_key=here)
    lasted(config, 1, target_key=here, ago=DAY - 30 * MINUTE)  # 29 minutes after the end
    lasted(config, 1, target_key=here, ago=DAY - 95 * MINUTE)  # 64 minutes after the end
    lasted(config, 1, target_key=there, ago=DAY - 96 * MINUTE)
    assert noise(owner, config)["flaps"] == 1


def test_delivered_messages_are_counted(owner: ApiClient, config: AlertConfig) -> None:
    alert, old = lasted(config, 1), lasted(config, 1, ago=40 * DAY)
    for status in ("DELIVERED", "DELIVERED", "FAILED", "DROPPED", "PENDING"):
        make_notification(alert.group, alert=alert, status=status)
    make_notification(alert.group, alert=old, status="DELIVERED")
    assert noise(owner, config)["messagesSent"] == 2


def test_a_delay_that_halves_the_alerts_is_suggested(owner: ApiClient, config: AlertConfig) -> None:
    for minutes in (1, 4.5, 20, 30):
        lasted(config, minutes)
    assert noise(owner, config)["suggestions"] == [{"delayMin": 5, "alerts": 2, "comparedAlerts": 4}]


@pytest.fixture
def busy(project: Project) -> AlertConfig:
    """A configuration on more than 100 connections, without a delay."""
    ingest(project, host_report("db1", CONNECTIONS=1.0), now=clock.now() - 20 * DAY)
    return make_config(project, notifications=[EMAIL], **CONNECTIONS_ABOVE_100)


def alerted(config: AlertConfig, *peaks: float, minutes: int = 1, ago: timedelta = DAY) -> None:
    """Alerts of the host by reports: each lasts so long and has this peak, and an hour is between them."""
    project = Project.objects.get(id=config.group_id)
    for place, peak in enumerate(peaks):
        begin = clock.now() - ago + place * 60 * MINUTE
        for at, number in ((begin, peak), (begin + minutes * MINUTE, 1.0)):
            ingest(project, host_report("db1", CONNECTIONS=number), now=at)
            while evaluate_signals(now=at):
                pass


def suggested_threshold(owner: ApiClient, config: AlertConfig) -> dict[str, Any] | None:
    """The suggestion of a threshold."""
    suggestions = noise(owner, config).get("suggestions", [])
    return next((each for each in suggestions if "threshold" in each), None)


def test_a_threshold_that_halves_the_alerts_is_suggested(owner: ApiClient, busy: AlertConfig) -> None:
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    assert noise(owner, busy)["suggestions"] == [
        {"delayMin": 2, "alerts": 0, "comparedAlerts": 4},
        {"threshold": 120.0, "units": "RAW", "alerts": 2, "comparedAlerts": 4},
    ]


def test_a_threshold_keeps_each_long_alert(owner: ApiClient, busy: AlertConfig) -> None:
    alerted(busy, 105.0, minutes=11, ago=2 * DAY)
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    assert suggested_threshold(owner, busy) is None


def test_a_threshold_is_not_suggested_without_the_values_of_a_long_alert(
    owner: ApiClient, busy: AlertConfig
) -> None:
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    unknown = lasted(busy, 11, metric_name="CONNECTIONS", facts={"hostId": new_id()})
    assert suggested_threshold(owner, busy) is None
    Alert.objects.filter(id=unknown.id).update(resolved=unknown.created + 5 * MINUTE)
    assert suggested_threshold(owner, busy) is not None


def test_a_threshold_is_compared_with_alerts_whose_values_are_kept(
    owner: ApiClient, busy: AlertConfig, settings: Any
) -> None:
    alerted(busy, 500.0, minutes=11, ago=10 * DAY)
    alerted(busy, 600.0, 600.0, 600.0, 600.0, ago=9 * DAY)
    assert suggested_threshold(owner, busy) is None
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    found = {"threshold": 120.0, "units": "RAW", "alerts": 2, "comparedAlerts": 4}
    assert suggested_threshold(owner, busy) == found
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 0
    assert suggested_threshold(owner, busy) is None  # it would have to drop half of nine alerts


def test_alerts_of_an_earlier_threshold_are_not_compared(owner: ApiClient, busy: AlertConfig) -> None:
    alerted(busy, 110.0, 120.0, 300.0, 400.0, 500.0, 600.0)
    assert suggested_threshold(owner, busy) == {
        "threshold": 300.0, "units": "RAW", "alerts": 3, "comparedAlerts": 6
    }  # fmt: skip
    change = {"metricThreshold": {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 200}}
    assert owner.patch(f"/groups/{busy.group_id}/alertConfigs/{busy.id}", change).status_code == 200
    assert suggested_threshold(owner, busy) == {
        "threshold": 400.0, "units": "RAW", "alerts": 2, "comparedAlerts": 4
    }  # fmt: skip


def test_a_threshold_keeps_a_long_alert_that_a_new_configuration_started(
    owner: ApiClient, project: Project
) -> None:
    begin = clock.now() - 2 * DAY
    ingest(project, host_report("db1", CONNECTIONS=105.0), now=begin)
    made = make_config(project, notifications=[EMAIL], **CONNECTIONS_ABOVE_100)
    while evaluate_signals(now=begin + MINUTE):
        pass
    ingest(project, host_report("db1", CONNECTIONS=1.0), now=begin + 60 * MINUTE)
    while evaluate_signals(now=begin + 60 * MINUTE):
        pass
    alerted(made, 110.0, 300.0, 120.0, 400.0)
    assert suggested_threshold(owner, made) is None


def test_a_threshold_keeps_an_open_alert_that_is_older_than_the_values(
    owner: ApiClient, busy: AlertConfig, project: Project
) -> None:
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    ingest(project, host_report("db2", CONNECTIONS=105.0), now=clock.now() - HOUR)
    host = Host.objects.get(hostname="db2")
    lasted(
        busy, 0, ago=8 * DAY, resolved=None, status="OPEN",
        metric_name="CONNECTIONS", facts={"hostId": host.id},
    )  # fmt: skip
    assert suggested_threshold(owner, busy) is None


def test_a_threshold_beyond_64_bits_is_no_fault(owner: ApiClient, busy: AlertConfig) -> None:
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    large = {"metricName": "CONNECTIONS", "operator": "LESS_THAN", "threshold": 1e20}
    path = f"/groups/{busy.group_id}/alertConfigs/{busy.id}"
    assert owner.patch(path, {"metricThreshold": large}).status_code == 200
    assert noise(owner, busy)["alerts"] == 4


def test_too_many_values_are_not_compared(
    owner: ApiClient, busy: AlertConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerted(busy, 110.0, 300.0, 120.0, 400.0)
    monkeypatch.setattr(threshold_suggestions, "MOST_VALUES", 8)
    assert suggested_threshold(owner, busy) is not None
    monkeypatch.setattr(threshold_suggestions, "MOST_VALUES", 7)
    assert suggested_threshold(owner, busy) is None


def test_readers_may_ask(owner: ApiClient, config: AlertConfig, project: Project) -> None:
    path = f"/groups/{config.group_id}/alertConfigs/{config.id}/noise"
    reader = client(group(Role.GROUP_READ_ONLY, project))
    stranger = client(group(Role.GROUP_OWNER, ProjectFactory.create()))
    assert reader.get(path).status_code == 200
    assert refusal(stranger.get(path)) == (403, "NOT_IN_GROUP")
    missing = owner.get(f"/groups/{config.group_id}/alertConfigs/{new_id()}/noise")
    assert refusal(missing) == (404, "ALERT_CONFIG_NOT_FOUND")


def test_a_global_configuration_counts_the_alerts_of_all_projects(owner: ApiClient, project: Project) -> None:
    made = make_global_config()
    for each in (project, ProjectFactory.create()):
        lasted(made, 1, project=each, is_global=True)
    path = f"/globalAlertConfigs/{made.id}/noise"
    assert owner.get(path).json()["alerts"] == 2
    assert client(group(Role.GROUP_OWNER, project)).get(path).status_code == 403
