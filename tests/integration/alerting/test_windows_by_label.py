"""Maintenance windows that mute the hosts with a label, their replica sets and their clusters."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.windows.changes import window_create
from alerting.windows.store import muting_windows
from automation.choices import HostType
from automation.hosts.changes import host_delete
from automation.models import Host
from automation.reports.rules import HostReport
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, mutes_of

pytestmark = pytest.mark.django_db

NOW = datetime(2099, 3, 1, 1, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
A = "http://127.0.0.1:9/a"
STAGING = {"env": "staging", "region": "eu"}
PRODUCTION = {"env": "production", "region": "eu"}


def make_window(
    project: Project, value: str = "env=staging", operator: str = "EQUALS", **changes: Any
) -> MaintenanceWindow:
    """A window of an hour that mutes hosts by label."""
    values = {
        "start": NOW,
        "end": NOW + HOUR,
        "alert_types": ["HOST", "REPLICA_SET", "CLUSTER"],
        "matchers": [{"fieldName": "LABEL", "operator": operator, "value": value}],
        **changes,
    }
    return window_create(group_id=project.id, values=values, actor=SYSTEM, now=NOW - HOUR)


def report(
    project: Project, host: str, labels: dict[str, str] | None, *, now: datetime = NOW, **changes: Any
) -> None:
    """A host with its labels; messages that are due are sent."""
    ingest(project, host_report(host, **changes), labels=labels, now=now)
    evaluate(now)
    deliver_all(now)


def test_messages_about_hosts_with_the_label_wait_until_the_window_ends(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    window = make_window(project)
    report(project, "db1", STAGING, reachable=False)
    report(project, "db2", PRODUCTION, reachable=False)
    report(project, "db3", {}, reachable=False)
    assert [message.document["hostnameAndPort"] for *_, message in outside.sent] == ["db2:27017", "db3:27017"]
    assert Notification.objects.get(silenced_by__isnull=False).silenced_by == window.id
    deliver_all(NOW + HOUR)
    assert outside.sent[2][-1].document["hostnameAndPort"] == "db1:27017"


def test_a_host_that_lost_the_label_is_not_muted(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    make_window(project)
    report(project, "db1", STAGING)
    report(project, "db1", {}, now=NOW + MINUTE)
    report(project, "db1", None, now=NOW + 2 * MINUTE, reachable=False)
    assert outside.said == [(A, "OPEN")]


def test_a_host_that_got_the_label_while_its_alert_was_open_is_muted(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    make_window(project)
    report(project, "db1", PRODUCTION, reachable=False)
    report(project, "db1", STAGING, now=NOW + MINUTE)
    assert outside.said == [(A, "OPEN")]
    assert Notification.objects.get(kind="alert.close").status == "PENDING"


def test_the_end_of_a_deleted_hosts_alert_is_muted(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": A}])
    report(project, "db1", STAGING, now=NOW - MINUTE, reachable=False)
    make_window(project)
    host_delete(group_id=project.id, host_id=Host.objects.get().id, actor=SYSTEM, now=NOW)
    deliver_all(NOW)
    assert outside.said == [(A, "OPEN")]
    assert Notification.objects.get(kind="alert.cancel").status == "PENDING"


def member(hostname: str, cluster: str | None = None) -> HostReport:
    """A member of the replica set rs0."""
    return host_report(
        hostname, type_name=HostType.REPLICA_SECONDARY, replica_set_name="rs0", cluster_name=cluster
    )


def alert_of(project: Project, event_type: str, facts: dict[str, Any]) -> Alert:
    return make_alert(project, event_type=event_type, facts=facts)


def is_muted(alert: Alert) -> bool:
    """Whether pages and delivery say so."""
    held = make_notification(alert.group, alert=alert, due=NOW)
    by_pages, by_delivery = muting_windows([alert], now=NOW), mutes_of([held], now=NOW)
    assert bool(by_pages) == bool(by_delivery)
    return bool(by_pages)


@each(
    ("members", "equals", "differs"),
    [
        ([STAGING, STAGING], True, False),
        ([STAGING, PRODUCTION], False, False),
        ([STAGING, {}], False, False),
        ([PRODUCTION, {}], False, True),
        ([], False, False),
    ],
    ids=str,
)
def test_replica_sets_and_clusters_are_muted_if_all_their_hosts_match(
    project: Project, members: list[dict[str, str]], equals: bool, differs: bool
) -> None:
    for number, labels in enumerate(members):
        ingest(project, member(f"db{number}", "orders"), labels=labels, now=NOW)
    cluster_id = Host.objects.values_list("cluster_id", flat=True).first() or "0" * 24
    cluster = {"clusterId": cluster_id, "clusterName": "orders"}
    of_set = alert_of(project, "NO_PRIMARY", {"replicaSetName": "rs0", **cluster})
    of_cluster = alert_of(project, "CLUSTER_MONGOS_IS_MISSING", cluster)
    for operator, expected in (("EQUALS", equals), ("NOT_EQUALS", differs)):
        window = make_window(project, operator=operator)
        assert (is_muted(of_set), is_muted(of_cluster)) == (expected, expected)
        window.delete()


def test_only_hosts_of_the_same_project_and_cluster_count(project: Project) -> None:
    ingest(project, member("db1"), labels=STAGING, now=NOW)
    ingest(project, member("db2", "orders"), labels=PRODUCTION, now=NOW)
    ingest(ProjectFactory.create(), member("db1"), labels=PRODUCTION, now=NOW)
    cluster_id = Host.objects.get(hostname="db2").cluster_id
    make_window(project)
    assert is_muted(alert_of(project, "NO_PRIMARY", {"replicaSetName": "rs0"}))
    assert not is_muted(alert_of(project, "NO_PRIMARY", {"replicaSetName": "rs0", "clusterId": cluster_id}))


@each(("before", "after"), [(None, "orders"), ("orders", None), ("orders", "users")])
def test_a_replica_set_that_changed_its_cluster_is_muted(
    project: Project, before: str | None, after: str | None
) -> None:
    ingest(project, member("db1", before), labels=STAGING, now=NOW)
    cluster_id = Host.objects.get(hostname="db1").cluster_id
    alert = alert_of(
        project,
        "NO_PRIMARY",
        {"replicaSetName": "rs0", **({"clusterId": cluster_id} if cluster_id else {})},
    )
    make_window(project)
    ingest(project, member("db1", after), labels=STAGING, now=NOW + MINUTE)
    assert is_muted(alert)


def test_a_replica_set_that_was_deleted_is_not_muted_as_another_set_with_its_name(project: Project) -> None:
    ingest(project, member("db1", "orders"), labels=PRODUCTION, now=NOW)
    ingest(project, member("db2", "users"), labels=STAGING, now=NOW)
    gone = Host.objects.get(hostname="db1")
    alert = alert_of(project, "NO_PRIMARY", {"replicaSetName": "rs0", "clusterId": gone.cluster_id})
    make_window(project)
    host_delete(host_id=gone.id, group_id=project.id, actor=SYSTEM, now=NOW + MINUTE)
    assert not is_muted(alert)


def test_an_alert_about_a_host_that_is_gone_is_not_muted(project: Project) -> None:
    make_window(project, operator="NOT_EQUALS")
    facts = {"hostId": "0" * 24, "hostname": "db1", "port": 27017, "replicaSetName": "rs0"}
    assert not is_muted(alert_of(project, "HOST_DOWN", facts))


@each(("field", "more"), [("HOSTNAME", 0), ("LABEL", 1)])
def test_labels_are_read_only_if_a_window_compares_them(project: Project, field: str, more: int) -> None:
    for name in ("db1", "db2"):
        ingest(project, host_report(name), labels=STAGING, now=NOW)
    alerts = [
        alert_of(project, "HOST_DOWN", {"hostId": host.id, "hostname": host.hostname, "port": host.port})
        for host in Host.objects.order_by("hostname")
    ]
    value = "db1" if field == "HOSTNAME" else "env=staging"
    make_window(project, matchers=[{"fieldName": field, "operator": "EQUALS", "value": value}])
    held = [make_notification(project, alert=alert, created=NOW, due=NOW) for alert in alerts]
    for ask, count in ((lambda: muting_windows(alerts, now=NOW), 1), (lambda: mutes_of(held, now=NOW), 6)):
        with CaptureQueriesContext(connection) as queries:
            found = ask()
        assert len(queries) == count + more
        assert len(found) == 1 + more
