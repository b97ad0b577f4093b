"""From events that the platform derives to alerts that open and close."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, Notification
from automation.choices import AgentType, HostType
from automation.hosts.changes import host_delete
from automation.models import Host
from automation.reports.rules import EventReport
from events.models import Event, Signal
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest, sweep
from tests.integration.alerting.pipeline import evaluate, statuses

pytestmark = pytest.mark.django_db
PRIMARY, SECONDARY, RECOVERING = (
    HostType.REPLICA_PRIMARY,
    HostType.REPLICA_SECONDARY,
    HostType.RECOVERING,
)
FIVE_MINUTES = timedelta(minutes=5)
Step = Callable[[Project], None]


def member(hostname: str, type_name: HostType = SECONDARY, **said: Any) -> Any:
    """What is said of a member of rs0 in cluster c."""
    return host_report(
        hostname, type_name=type_name, **{"replica_set_name": "rs0", "cluster_name": "c", **said}
    )


def reports(*hosts: Any, **said: Any) -> Step:
    """A step that is one report."""
    return lambda project: ingest(project, *hosts, **said)


def time_out(project: Project) -> None:
    """No agent reports for five minutes, and the worker finds the timeouts."""
    sweep(clock.now() + FIVE_MINUTES)


def report_host_a_only(project: Project) -> None:
    """For five minutes the reports of the agent name only host a."""
    for later in (FIVE_MINUTES / 2, FIVE_MINUTES):
        ingest(project, host_report("a"), now=clock.now() + later)
    sweep(clock.now() + FIVE_MINUTES)


def report_without_measurements(project: Project) -> None:
    """For five minutes the agent reaches the host and does not measure it."""
    now = clock.now()
    for ago in (FIVE_MINUTES, timedelta(0)):
        ingest(project, host_report("a", problem="refused"), observed=now - ago)


FAMILIES: dict[str, tuple[Step, Step]] = {
    "HOST_DOWN": (
        reports(host_report("a", reachable=False)),
        reports(host_report("a")),
    ),
    "HOST_NOT_MEASURED": (report_without_measurements, reports(host_report("a", CONNECTIONS=1.0))),
    "HOST_RECOVERING": (
        reports(host_report("a", type_name=RECOVERING)),
        reports(host_report("a", type_name=SECONDARY)),
    ),
    "VERSION_BEHIND": (
        reports(host_report("a", version="7.0.1"), host_report("b", version="7.0.2")),
        reports(host_report("a", version="7.0.2")),
    ),
    "MONITORING_AGENT_DOWN": (time_out, reports()),
    "MONITORING_AGENT_VERSION_BEHIND": (
        reports(agent="agent2", version="1.1"),
        reports(version="1.1"),
    ),
    "NO_PRIMARY": (
        reports(member("a"), member("b")),
        reports(member("a", PRIMARY)),
    ),
    "MULTIPLE_PRIMARIES": (
        reports(member("a", PRIMARY), member("b", PRIMARY)),
        reports(member("a")),
    ),
}


@pytest.mark.slow
@each("name", list(FAMILIES))
@each("configured", ["before", "after"])
def test_an_alert_opens_and_closes_with_its_condition(project: Project, name: str, configured: str) -> None:
    ingest(project)
    begin, end = FAMILIES[name]
    if configured == "after":
        begin(project)
        evaluate()
    config = make_config(project, eventTypeName=name)
    evaluate()
    if configured == "before":
        begin(project)
        evaluate()
    assert statuses(config) == ["OPEN"]
    end(project)
    evaluate()
    assert statuses(config) == ["CLOSED"]
    # What the fleet saw, and what was decided.
    closing = EventType(name).spec.closed_by
    assert Event.objects.filter(event_type=name).count() == 2
    assert Event.objects.filter(event_type=closing).count() == 2
    assert not Signal.objects.exists()


THRESHOLDS: dict[str, tuple[str, int, Step, Step]] = {
    "TOO_FEW_HEALTHY_MEMBERS": (
        "LESS_THAN",
        2,
        reports(member("a", PRIMARY), member("b", RECOVERING)),
        reports(member("b")),
    ),
    "TOO_MANY_UNHEALTHY_MEMBERS": (
        "GREATER_THAN",
        1,
        reports(member("a", PRIMARY), member("b", reachable=False), member("c", RECOVERING)),
        reports(member("c")),
    ),
}


@each("name", list(THRESHOLDS))
@each("configured", ["before", "after"])
def test_members_are_held_against_the_threshold(project: Project, name: str, configured: str) -> None:
    operator, limit, begin, end = THRESHOLDS[name]
    threshold = {"operator": operator, "threshold": limit, "units": "RAW"}
    if configured == "after":
        begin(project)
        evaluate()
    config = make_config(project, eventTypeName=name, threshold=threshold)
    evaluate()
    if configured == "before":
        begin(project)
        evaluate()
    alert = Alert.objects.get()
    assert (alert.status, alert.current_value, alert.facts["replicaSetName"]) == ("OPEN", None, "rs0")
    end(project)
    evaluate()
    assert statuses(config) == ["CLOSED"]
    assert Event.objects.filter(event_type="ENOUGH_HEALTHY_MEMBERS", alert_id=alert.id).count() == 1


def test_a_host_missing_in_reports_has_an_alert_until_it_is_reported_again(project: Project) -> None:
    config = make_config(project)
    evaluate()
    ingest(project, host_report("a"), host_report("b"))
    report_host_a_only(project)
    evaluate()
    assert statuses(config) == ["OPEN"]
    ingest(project, host_report("b"))
    evaluate()
    assert statuses(config) == ["CLOSED"]


def test_an_agent_with_a_heartbeat_timeout_has_one_alert_and_its_hosts_none(project: Project) -> None:
    of_agent, of_host = make_config(project, eventTypeName="BACKUP_AGENT_DOWN"), make_config(project)
    ingest(project, host_report("a"), host_report("b"), agent_type=AgentType.BACKUP)
    time_out(project)
    evaluate()
    assert (statuses(of_agent), statuses(of_host)) == (["OPEN"], [])
    assert Alert.objects.get().facts == {"hostname": "agent1", "sourceTypeName": "BACKUP"}


@each(
    ("name", "change"),
    [
        ("HOST_RESTARTED", {"uptime_seconds": 1}),
        ("HOST_NOW_PRIMARY", {"type_name": PRIMARY}),
        ("HOST_UPGRADED", {"version": "7.0.2"}),
        ("HOST_DOWNGRADED", {"version": "7.0.0"}),
    ],
)
def test_a_one_shot_notification_opens_nothing(project: Project, name: str, change: dict[str, Any]) -> None:
    config = make_config(project, eventTypeName=name)
    before: dict[str, Any] = {"type_name": SECONDARY, "uptime_seconds": 100, "version": "7.0.1"}
    ingest(project, host_report("a", **before))
    for _ in range(2):
        ingest(project, host_report("a", **{**before, **change}))
        evaluate()
    assert statuses(config) == []
    assert Notification.objects.filter(event_id=Event.objects.get(event_type=name).id).count() == 1


def test_two_primaries_after_none_close_nothing(project: Project) -> None:
    """What closes both is ONE_PRIMARY."""
    none, many = (make_config(project, eventTypeName=name) for name in ("NO_PRIMARY", "MULTIPLE_PRIMARIES"))
    ingest(project, member("a"), member("b"))
    ingest(project, member("a", PRIMARY), member("b", PRIMARY))
    evaluate()
    assert (statuses(none), statuses(many)) == (["OPEN"], ["OPEN"])
    ingest(project, member("a"))
    evaluate()
    assert (statuses(none), statuses(many)) == (["CLOSED"], ["CLOSED"])


def test_a_shard_name_reported_later_is_the_same_target(project: Project) -> None:
    config = make_config(project, eventTypeName="NO_PRIMARY")
    ingest(project, member("a"))
    evaluate()
    ingest(project, member("b", shard_name="s0"))
    evaluate()
    assert statuses(config) == ["OPEN"]
    ingest(project, member("a", PRIMARY))
    evaluate()
    assert statuses(config) == ["CLOSED"]


class TestSetsThatGo:
    """A replica set that lost its last member takes the alerts about it with it."""

    def delete(self, hostname: str) -> None:
        """Delete the host."""
        host = Host.objects.get(hostname=hostname)
        host_delete(group_id=host.group_id, host_id=host.id, actor=SYSTEM, now=clock.now())

    def test_with_the_last_deleted_host_at_once(self, project: Project) -> None:
        config = make_config(project, eventTypeName="NO_PRIMARY")
        ingest(project, member("a"), member("b"))
        evaluate()
        self.delete("a")
        evaluate()
        assert statuses(config) == ["OPEN"]
        self.delete("b")
        assert statuses(config) == ["CANCELLED"]
        evaluate()
        assert statuses(config) == ["CANCELLED"]

    def test_when_the_last_member_is_reported_under_another_name(self, project: Project) -> None:
        config = make_config(project, eventTypeName="NO_PRIMARY")
        backup = make_config(project, eventTypeName="OPLOG_BEHIND")
        behind = EventReport(
            event_type=EventType.OPLOG_BEHIND, replica_set_name="rs0", cluster_name="c", shard_name="s0"
        )
        ingest(project, member("a"), events=[behind])
        evaluate()
        assert (statuses(config), statuses(backup)) == (["OPEN"], ["OPEN"])
        ingest(project, member("a", replica_set_name="rs1"))
        evaluate()
        assert (sorted(statuses(config)), statuses(backup)) == (["CANCELLED", "OPEN"], ["CANCELLED"])
        assert Event.objects.filter(event_type="ALERT_CANCELLED_AUDIT").count() == 2

    def test_a_report_from_before_opens_nothing_that_stays(self, project: Project) -> None:
        config = make_config(project, eventTypeName="NO_PRIMARY")
        ingest(project, member("a"))
        self.delete("a")
        evaluate()
        assert statuses(config) == ["CANCELLED"]

    def test_one_that_is_gone_is_nothing_a_new_configuration_finds(self, project: Project) -> None:
        ingest(project, member("a"))
        self.delete("a")
        evaluate()
        config = make_config(project, eventTypeName="NO_PRIMARY")
        evaluate()
        assert statuses(config) == []


def test_an_agent_with_an_old_version_is_notified_without_a_further_report(project: Project) -> None:
    config = make_config(project, eventTypeName="VERSION_BEHIND")
    ingest(project, host_report("a", version="7.0.1"))
    evaluate()
    ingest(project, host_report("b", version="7.0.2"), agent="agent2")
    evaluate()
    assert [alert.facts["hostname"] for alert in Alert.objects.filter(config_id=config.id)] == ["a"]
    ahead = Host.objects.get(hostname="b")
    host_delete(group_id=project.id, host_id=ahead.id, actor=SYSTEM, now=clock.now())
    evaluate()
    assert statuses(config) == ["CLOSED"]


def test_what_weighing_locked_is_given_back_before_the_next_signal(project: Project) -> None:
    ingest(project, host_report("a", version="7.0.1"))
    ingest(project, host_report("b", version="7.0.2"))
    evaluate_signals(now=clock.now())
    (left, *_) = Signal.objects.order_by("id")
    assert not Signal.objects.filter(kind="versions", id__lt=left.id).exists()
    assert Signal.objects.filter(kind="versions").count() == 1


def test_a_new_configuration_reads_any_fleet_with_as_many_statements(project: Project) -> None:
    def statements() -> int:
        make_config(project, eventTypeName="NO_PRIMARY")
        with CaptureQueriesContext(connection) as queries:
            evaluate()
        return len(queries)

    ingest(project, member("a", PRIMARY), agent="one")
    evaluate()
    few = statements()
    for number in range(5):
        others = [member(f"h{place}", replica_set_name=f"rs{place // 2}") for place in range(number * 4)]
        ingest(project, member("a", PRIMARY), *others, agent=f"agent{number}")
    ingest(project, *(member(f"h{place}", PRIMARY, replica_set_name=f"rs{place}") for place in range(16)))
    evaluate()
    assert statements() == few
