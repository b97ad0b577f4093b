"""What no report has named for 30 days is deleted; what anything depends on stays."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert
from automation.agents.changes import sweep_begin
from automation.agents.store import agent_state
from automation.hosts.changes import deleted_host_purge, host_delete
from automation.hosts.store import replica_set_state
from automation.hosts.unreported import (
    STEADY_FOR,
    UNREPORTED_AFTER,
    agents_delete,
    unreported_rows_delete,
    unreported_rows_trim,
)
from automation.models import Agent, Cluster, FleetWatch, Host, ProcessStatus, ReplicaSet
from events.models import Event
from events.targets import target_key
from events.types import EventType, Target
from opsapi.api.principal import SYSTEM
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import make_agent, make_host
from tests.steps import STEPS

pytestmark = pytest.mark.django_db
MOMENT = timedelta(seconds=1)
MEMBER = {"typeName": "REPLICA_SECONDARY", "replicaSetName": "rs0", "clusterName": "orders"}


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def names(model: Any) -> set[str]:
    return {str(row) for row in model._default_manager.all()}


class TestAgents:
    """Agents of whose reports no host depends."""

    def test_an_agent_that_was_not_heard_for_30_days_is_deleted(
        self, project: Project, now: datetime
    ) -> None:
        make_agent(project, "gone", last_report=now - UNREPORTED_AFTER - MOMENT)
        make_agent(project, "quiet", last_report=now - UNREPORTED_AFTER + MOMENT)
        make_agent(project, "reports", last_report=now)
        unreported_rows_delete(now=now)
        assert {agent.hostname for agent in Agent.objects.all()} == {"quiet", "reports"}
        [event] = Event.objects.filter(event_type=EventType.AGENT_DELETED_AUDIT.value)
        assert (event.group_id, event.diffs[0]["status"]) == (project.id, "REMOVED")

    def test_its_alert_is_cancelled(self, project: Project, now: datetime) -> None:
        agent = make_agent(project, down=True, last_report=now - UNREPORTED_AFTER - MOMENT)
        target = target_key(Target.AGENT, agent_state(agent))
        alert = make_alert(project, event_type="MONITORING_AGENT_DOWN", target_key=target)
        unreported_rows_delete(now=now)
        assert Alert.objects.get(id=alert.id).status == AlertStatus.CANCELLED.value

    def test_many_are_deleted_with_the_statements_of_two(self, project: Project, now: datetime) -> None:
        counts = []
        for many in (2, 20):
            for number in range(many):
                last = now - UNREPORTED_AFTER - MOMENT
                agent = make_agent(project, hostname=f"a{many}-{number}", down=True, last_report=last)
                target = target_key(Target.AGENT, agent_state(agent))
                make_alert(project, event_type="MONITORING_AGENT_DOWN", target_key=target)
            with CaptureQueriesContext(connection) as queries:
                agents_delete(group_id=project.id, now=now)
            counts.append(len(queries))
        assert counts[0] == counts[1]
        assert set(Alert.objects.values_list("status")) == {(AlertStatus.CANCELLED.value,)}
        cancelled = Event.objects.filter(event_type=EventType.ALERT_CANCELLED_AUDIT.value)
        assert cancelled.count() == 22

    def test_each_project_is_progress(self, project: Project, now: datetime) -> None:
        for each_project in (project, ProjectFactory.create()):
            make_agent(each_project, last_report=now - UNREPORTED_AFTER - MOMENT)
        stamps: list[int] = []
        unreported_rows_delete(now=now, progress=lambda: stamps.append(Agent.objects.count()))
        assert stamps == [2, 1]

    def test_an_agent_stays_while_a_host_waits_for_it(self, project: Project, now: datetime) -> None:
        """Otherwise nothing would say why the state of the host is unknown."""
        agent = make_agent(project, last_report=now - UNREPORTED_AFTER - MOMENT)
        watched = make_host(project, reported_by=agent)
        unreported_rows_delete(now=now)
        assert Agent.objects.exists()
        host_delete(group_id=project.id, host_id=watched.id, actor=SYSTEM, now=now)
        unreported_rows_delete(now=now)
        assert not Agent.objects.exists()
        assert deleted_host_purge()

    def test_agents_of_the_demonstration_stay(self, project: Project, now: datetime) -> None:
        make_agent(project, last_report=now - UNREPORTED_AFTER - MOMENT, demonstration=True)
        unreported_rows_delete(now=now)
        assert Agent.objects.exists()

    def test_a_deleted_project_is_left_to_its_own_purge(self, project: Project, now: datetime) -> None:
        make_agent(project, last_report=now - UNREPORTED_AFTER - MOMENT)
        Project.objects.update(deleted=now, org=None)
        unreported_rows_delete(now=now)
        assert Agent.objects.exists()


def test_a_process_state_that_was_not_reported_for_30_days_is_deleted(
    project: Project, now: datetime
) -> None:
    for name, age in (("gone", MOMENT), ("known", -MOMENT)):
        reported = now - UNREPORTED_AFTER - age
        ProcessStatus.objects.create(
            group=project, name=name, hostname="db1", goal_version=1, reported=reported
        )
    unreported_rows_delete(now=now)
    assert names(ProcessStatus) == {"known"}


class TestSets:
    """Replica sets and clusters: 30 days after they were first found without hosts."""

    def empty(self, agent: ApiClient, project: Project, now: datetime) -> None:
        """A set and a cluster whose only host is deleted."""
        assert agent.report(project.id, report(host(**MEMBER))).status_code == 202
        host_delete(group_id=project.id, host_id=Host.objects.get().id, actor=SYSTEM, now=now)
        assert deleted_host_purge()

    def days(self, now: datetime, number: float) -> None:
        unreported_rows_delete(now=now + timedelta(days=number))

    def test_they_are_deleted_after_30_days(self, agent: ApiClient, project: Project, now: datetime) -> None:
        self.empty(agent, project, now)
        for day in (0, 10, 30):
            self.days(now, day)
            assert (names(ReplicaSet), names(Cluster)) == ({"rs0"}, {"orders"})
        self.days(now, 30.1)
        assert not names(ReplicaSet)
        # The cluster is empty from now on.
        self.days(now, 30.2)
        self.days(now, 60.3)
        assert not names(Cluster)

    def test_a_host_keeps_them(self, agent: ApiClient, project: Project, now: datetime) -> None:
        agent.report(project.id, report(host(**MEMBER)))
        for day in (0, 31, 62):
            self.days(now, day)
        assert (names(ReplicaSet), names(Cluster)) == ({"rs0"}, {"orders"})

    def test_a_host_that_comes_back_starts_the_time_again(
        self, agent: ApiClient, project: Project, now: datetime
    ) -> None:
        self.empty(agent, project, now)
        self.days(now, 0)
        [before] = ReplicaSet.objects.all()
        self.empty(agent, project, now)
        agent.report(project.id, report(host(**MEMBER)))
        self.days(now, 31)
        [after] = ReplicaSet.objects.all()
        assert (after.id, after.empty_since) == (before.id, None)

    def test_a_report_that_names_them_afterwards_adds_them(
        self, agent: ApiClient, project: Project, now: datetime
    ) -> None:
        self.empty(agent, project, now)
        for day in (0, 31, 32, 63):
            self.days(now, day)
        assert not names(ReplicaSet) | names(Cluster)
        assert agent.report(project.id, report(host(**MEMBER))).status_code == 202
        assert (names(ReplicaSet), names(Cluster)) == ({"rs0"}, {"orders"})

    def test_their_alerts_are_cancelled(self, agent: ApiClient, project: Project, now: datetime) -> None:
        self.empty(agent, project, now)
        [cluster] = Cluster.objects.all()
        about = {"replicaSetName": "rs0", "clusterId": cluster.id, "clusterName": "orders"}
        target = target_key(Target.REPLICA_SET, replica_set_state(ReplicaSet.objects.get()))
        of_set = make_alert(project, event_type="NO_PRIMARY", target_key=target)
        of_cluster = make_alert(project, event_type="CLUSTER_MONGOS_IS_MISSING", facts=about)
        for day in (0, 31, 32, 63):
            self.days(now, day)
        for alert in (of_set, of_cluster):
            assert Alert.objects.get(id=alert.id).status == AlertStatus.CANCELLED.value

    @each("step", STEPS, ids=str)
    @each("model", [ReplicaSet, Cluster])
    def test_a_mark_that_is_ahead_starts_again_and_a_mark_that_is_behind_ends_earlier(
        self, project: Project, now: datetime, model: type[ReplicaSet | Cluster], step: timedelta
    ) -> None:
        model._default_manager.create(group=project, name="rs0", created=now, empty_since=now + step)
        since = min(now, now + step)
        unreported_rows_delete(now=now)
        kept = [] if step < -UNREPORTED_AFTER else [since]
        assert list(model._default_manager.values_list("empty_since", flat=True)) == kept
        unreported_rows_delete(now=since + UNREPORTED_AFTER)
        assert len(names(model)) == len(kept)
        unreported_rows_delete(now=since + UNREPORTED_AFTER + MOMENT)
        assert not names(model)


class TestClocks:
    """Nothing is deleted soon after the clock has jumped."""

    def test_a_jump_ahead_deletes_nothing_that_still_reports(self, project: Project, now: datetime) -> None:
        make_agent(project, last_report=now)
        FleetWatch.objects.update_or_create(id=1, defaults={"counting_since": now - STEADY_FOR, "swept": now})
        ahead = now + timedelta(days=365)
        unreported_rows_trim(now=ahead)
        FleetWatch.objects.update(swept=ahead)
        unreported_rows_trim(now=ahead - timedelta(days=300))
        assert Agent.objects.exists()

    def test_it_deletes_once_the_clock_is_steady(self, project: Project, now: datetime) -> None:
        make_agent(project, last_report=now - UNREPORTED_AFTER - MOMENT)
        unreported_rows_trim(now=now)
        watch = {"counting_since": now - STEADY_FOR + MOMENT, "swept": now}
        FleetWatch.objects.update_or_create(id=1, defaults=watch)
        unreported_rows_trim(now=now)
        assert Agent.objects.exists()
        FleetWatch.objects.update(counting_since=now - STEADY_FOR)
        unreported_rows_trim(now=now)
        assert not Agent.objects.exists()

    def test_it_runs_once_in_ten_minutes(self, project: Project, now: datetime) -> None:
        FleetWatch.objects.update_or_create(id=1, defaults={"counting_since": now - STEADY_FOR, "swept": now})
        unreported_rows_trim(now=now)
        make_agent(project, last_report=now - UNREPORTED_AFTER - MOMENT)
        unreported_rows_trim(now=now)
        assert Agent.objects.exists()

    def test_a_sweep_after_a_jump_starts_the_count_again(self, now: datetime) -> None:
        FleetWatch.objects.update_or_create(
            id=1, defaults={"counting_since": now - timedelta(days=40), "swept": now - timedelta(days=31)}
        )
        sweep_begin(now=now)
        assert FleetWatch.objects.get().counting_since == now
