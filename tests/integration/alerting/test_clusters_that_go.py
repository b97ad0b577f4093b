"""What becomes of alerts about a cluster whose last host is deleted or reported elsewhere."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine import evaluation
from alerting.engine.evaluation import evaluate_signals
from alerting.engine.purge import emptied_clusters_alerts_cancel
from alerting.models import Alert, AlertConfig
from automation.hosts.changes import host_delete
from automation.models import Cluster, Host
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import Actor
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import AGENT, host_report, ingest
from tests.integration.alerting.pipeline import evaluate, statuses

pytestmark = pytest.mark.django_db
ABOUT_CLUSTERS = ("CLUSTER_MONGOS_IS_MISSING", "INCONSISTENT_BACKUP_CONFIGURATION", "BAD_CLUSTERSHOTS")


def missing(name: str = "CLUSTER_MONGOS_IS_MISSING", **facts: Any) -> EventReport:
    """An agent's word of cluster c."""
    return EventReport(event_type=EventType(name), **{"cluster_name": "c", **facts})


def delete(hostname: str, actor: Actor = AGENT) -> None:
    """Delete the host."""
    host = Host.objects.get(hostname=hostname)
    host_delete(group_id=host.group_id, host_id=host.id, actor=actor, now=clock.now())


@pytest.fixture
def config(project: Project) -> AlertConfig:
    """An alert about cluster c, which has the hosts a and b."""
    made = make_config(project, eventTypeName="CLUSTER_MONGOS_IS_MISSING")
    ingest(
        project, host_report("a", cluster_name="c"), host_report("b", cluster_name="c"), events=[missing()]
    )
    evaluate()
    assert statuses(made) == ["OPEN"]
    return made


def test_with_the_last_deleted_host_at_once(config: AlertConfig) -> None:
    delete("a")
    evaluate()
    assert statuses(config) == ["OPEN"]
    delete("b")
    assert statuses(config) == ["CANCELLED"]
    cancelled = Event.objects.get(event_type="ALERT_CANCELLED_AUDIT")
    assert cancelled.details["publicKey"] == AGENT.name


def test_when_its_last_host_is_reported_in_another(project: Project, config: AlertConfig) -> None:
    ingest(project, host_report("a", cluster_name="d"))
    evaluate()
    assert statuses(config) == ["OPEN"]
    ingest(project, host_report("b", cluster_name="d"))
    evaluate()
    assert statuses(config) == ["CANCELLED"]


def test_a_part_of_its_alerts_in_each_turn(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(project, eventTypeName="CLUSTER_MONGOS_IS_MISSING")
    shards = [missing(shard_name=f"s{number}") for number in range(5)]
    ingest(project, host_report("a", cluster_name="c"), events=shards)
    evaluate()
    ingest(project, host_report("a", cluster_name="d"))
    monkeypatch.setattr(evaluation, "ROWS_IN_TURN", 2)
    for number in (2, 4, 5):
        assert evaluate_signals(now=clock.now())
        assert statuses(config).count("CANCELLED") == number


def test_not_when_a_host_comes_as_the_last_one_leaves(project: Project, config: AlertConfig) -> None:
    delete("a")
    ingest(project, host_report("b", cluster_name="d"), host_report("e", cluster_name="c"))
    evaluate()
    assert statuses(config) == ["OPEN"]


@pytest.mark.slow
@each("name", ABOUT_CLUSTERS)
@each("facts", [{}, {"shard_name": "s0"}], ids=["cluster", "shard"])
def test_whatever_is_about_a_cluster_goes_with_it(project: Project, name: str, facts: dict[str, str]) -> None:
    config = make_config(project, eventTypeName=name)
    ingest(project, host_report("a", cluster_name="c"), events=[missing(name, **facts)])
    evaluate()
    assert statuses(config) == ["OPEN"]
    delete("a")
    assert statuses(config) == ["CANCELLED"]


def test_an_alert_that_began_before_the_cluster_was_known_goes_too(project: Project) -> None:
    config = make_config(project, eventTypeName="CLUSTER_MONGOS_IS_MISSING")
    ingest(project, events=[missing(cluster_name="C")])
    evaluate()
    ingest(project, host_report("a", cluster_name="c"))
    delete("a")
    assert statuses(config) == ["CANCELLED"]


def test_an_alert_is_not_cancelled_before_it_was_created(project: Project) -> None:
    ingest(project, host_report("a", cluster_name="c"))
    left = Cluster.objects.get().id
    ingest(project, host_report("a", cluster_name="d"))
    facts, created = {"clusterId": left}, clock.now() + timedelta(hours=1)
    alert = make_alert(project, event_type="CLUSTER_MONGOS_IS_MISSING", facts=facts, created=created)
    emptied_clusters_alerts_cancel(cluster_ids=[left], at=clock.now(), limit=500)
    alert.refresh_from_db()
    assert (alert.status, alert.resolved) == ("CANCELLED", created)


def test_alerts_about_hosts_that_left_it_in_time_stay(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report("a", cluster_name="c", reachable=False), host_report("b", cluster_name="c"))
    evaluate()
    ingest(project, host_report("a", cluster_name="d", reachable=False))
    delete("b")
    evaluate()
    assert statuses(config) == ["OPEN"]


def test_other_projects_and_other_clusters_keep_theirs(project: Project, config: AlertConfig) -> None:
    other_project = ProjectFactory.create()
    elsewhere = make_config(other_project, eventTypeName="CLUSTER_MONGOS_IS_MISSING")
    ingest(other_project, host_report("a2", cluster_name="c"), events=[missing()])
    ingest(project, host_report("x", cluster_name="cc"), events=[missing(cluster_name="cc")])
    evaluate()
    delete("a")
    delete("b")
    evaluate()
    assert statuses(elsewhere) == ["OPEN"]
    assert Alert.objects.get(config_id=config.id, status="OPEN").facts["clusterName"] == "cc"


def test_an_event_from_before_opens_nothing_that_stays(project: Project) -> None:
    config = make_config(project, eventTypeName="CLUSTER_MONGOS_IS_MISSING")
    now = clock.now()
    ingest(project, host_report("a", cluster_name="c"), now=now)
    ingest(project, events=[missing()], now=now + timedelta(seconds=1))
    delete("a")
    evaluate()
    assert statuses(config) == ["CANCELLED"]
