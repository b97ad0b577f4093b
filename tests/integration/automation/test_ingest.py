"""What an agent's report leaves behind, and what that costs."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import sub
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.metrics import Metric
from automation.models import Agent, Database, Host, HostLease, ProcessStatus, Reading
from automation.reports.changes import report_ingest
from automation.reports.rules import EventReport, HostReport, ProcessReport, Report
from events.models import Event, Signal
from events.types import EventType
from opsapi import clock
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.automation import AGENT, host_report, ingest, process_report

MINUTE = timedelta(minutes=1)
METRICS: dict[str, Any] = {metric.value: 1.0 for metric in list(Metric)[:20]}
pytestmark = pytest.mark.django_db


def agent_report(*, version: str, hostname: str = "agent1") -> Report:
    """A report that says nothing but who reports."""
    return Report(agent_type=AgentType.MONITORING, hostname=hostname, version=version, hosts=(), events=())


@each("hostname", ["agent1", "AGENT1"])
def test_a_second_report_updates_the_agents_version_and_moves_its_heartbeat(
    project: Project, hostname: str
) -> None:
    first = clock.now()
    second = first + MINUTE
    report_ingest(group_id=project.id, report=agent_report(version="1.0"), actor=AGENT, now=first)
    again = agent_report(version="1.1", hostname=hostname)
    report_ingest(group_id=project.id, report=again, actor=AGENT, now=second)
    agent = Agent.objects.get()
    assert (agent.version, agent.last_report, agent.created) == ("1.1", second, first)
    assert Event.objects.filter(event_type="NEW_AGENT").count() == 1


@pytest.mark.parametrize("later", [timedelta(milliseconds=-900), timedelta(milliseconds=900)])
def test_a_young_heartbeat_stays_as_it_is(project: Project, later: timedelta) -> None:
    first = clock.now()
    ingest(project, now=first)
    with CaptureQueriesContext(connection) as queries:
        ingest(project, now=first + later)
    assert Agent.objects.get().last_report == first
    assert not [query for query in queries.captured_queries if query["sql"].startswith("UPDATE")]


@pytest.mark.parametrize("later", [timedelta(seconds=1), timedelta(seconds=-2)])
def test_a_heartbeat_that_is_not_young_is_written(project: Project, later: timedelta) -> None:
    first = clock.now()
    ingest(project, now=first)
    ingest(project, now=first + later)
    assert Agent.objects.get().last_report == first + later


def test_a_young_heartbeat_hides_no_new_version_and_no_return(project: Project) -> None:
    now = clock.now()
    ingest(project, now=now)
    ingest(project, version="1.1", now=now)
    assert Agent.objects.get().version == "1.1"
    Agent.objects.update(down=True)
    ingest(project, version="1.1", now=now)
    assert not Agent.objects.get().down
    assert Event.objects.filter(event_type="MONITORING_AGENT_UP").exists()


def test_every_host_of_a_report_keeps_what_was_said_of_it(project: Project) -> None:
    now = datetime(2099, 1, 1, tzinfo=UTC)
    said = [
        host_report("a", type_name=HostType.REPLICA_PRIMARY, cluster_name="c", databases=["x", "y"]),
        host_report("b", reachable=False, CONNECTIONS=5.0),
    ]
    ingest(project, *said, now=now)
    first, second = Host.objects.order_by("hostname")
    assert (first.type_name, first.down, first.cluster_name, first.last_report) == (
        "REPLICA_PRIMARY",
        False,
        "c",
        now,
    )
    assert first.cluster
    assert (second.type_name, second.down, second.cluster, second.last_report) == (
        "STANDALONE",
        True,
        None,
        now,
    )
    assert sorted(first.databases.values_list("name", flat=True)) == ["x", "y"]
    assert Reading.objects.get().source.host == second


def test_databases_replaced_on_one_host_stay_on_another(project: Project) -> None:
    ingest(project, host_report("a", databases=["x", "y"]), host_report("b", databases=["x"]))
    kept = Database.objects.get(host__hostname="a", name="y").pk
    ingest(project, host_report("a", databases=["y", "z"]), host_report("b"))
    ingest(project, host_report("b", databases=[]))
    stored = Database.objects.order_by("name").values_list("host__hostname", "name")
    assert list(stored) == [("a", "y"), ("a", "z")]
    assert Database.objects.get(name="y").pk == kept


def test_labels_of_hosts_come_from_the_last_report_with_labels(project: Project) -> None:
    first, second = host_report("a"), host_report("b")

    def stored() -> list[Any]:
        return list(Host.objects.order_by("hostname").values_list("labels", flat=True))

    ingest(project, first, second, labels={"env": "production", "region": "eu"})
    assert stored() == [{"env": "production", "region": "eu"}] * 2
    ingest(project, first, labels={"env": "test"})
    ingest(project, first, second)
    assert stored() == [{"env": "test"}, {"env": "production", "region": "eu"}]
    ingest(project, first, labels={})
    assert stored() == [None, {"env": "production", "region": "eu"}]


def test_a_host_that_another_agent_watches_keeps_its_labels(project: Project) -> None:
    now = clock.now()
    host = host_report("a")
    ingest(project, host, labels={"env": "production"}, now=now)
    HostLease.objects.create(
        group=project, hostname="a", port=27017, token="newer", since=now, created=now - MINUTE
    )
    ingest(project, replace(host, lease="older"), labels={"env": "late"}, now=now)
    assert Host.objects.get().labels == {"env": "production"}


def test_a_process_is_what_was_last_said_of_it(project: Project) -> None:
    first, second = clock.now(), clock.now() + MINUTE
    failed = ProcessReport(name="orders_1", hostname="db1", goal_version=2, error="no disk\nleft")
    ingest(project, processes=[failed, process_report("orders_2", goal_version=3)], now=first)
    ingest(project, processes=[process_report("orders_1", goal_version=4)], now=second)
    stored = ProcessStatus.objects.order_by("name")
    assert [(process.name, process.goal_version, process.error, process.reported) for process in stored] == [
        ("orders_1", 4, None, second),
        ("orders_2", 3, None, first),
    ]


class TestCost:
    """Statements do not grow with what a report holds; heartbeats touch no index."""

    def statements(
        self,
        project: Project,
        *hosts: HostReport,
        events: int = 0,
        processes: int = 0,
        labels: Mapping[str, str] | None = None,
    ) -> int:
        """How many a report takes."""
        seen = [
            EventReport(event_type=EventType.HOST_ROLLBACK, hostname=f"h{number}", port=27017)
            for number in range(events)
        ]
        named = [process_report(f"p{number}") for number in range(processes)]
        with CaptureQueriesContext(connection) as queries:
            ingest(project, *hosts, events=seen, processes=named, labels=labels)
        return len(queries)

    def hosts(self, count: int, prefix: str = "h", *, reachable: bool = True) -> list[HostReport]:
        """That many hosts with databases and metrics, three to a cluster, each of them a replica set."""
        return [
            host_report(
                f"{prefix}{number}",
                reachable=reachable,
                version="7.0.1",
                replica_set_name=f"{prefix}{number // 3}",
                cluster_name=f"{prefix}{number // 3}",
                databases=[f"{prefix}{number}", "y"],
                **METRICS,
            )
            for number in range(count)
        ]

    def test_new_hosts_cost_the_same_however_many(self, project: Project) -> None:
        few, many = self.hosts(1, "x"), self.hosts(200, "z")
        ingest(project)
        assert self.statements(project, *few) == self.statements(project, *many)
        assert Event.objects.filter(event_type="NEW_HOST").count() == 201

    def test_known_hosts_events_and_processes_cost_the_same_however_many(self, project: Project) -> None:
        ingest(project, *self.hosts(200))
        for_one_host = self.statements(project, *self.hosts(1, reachable=False), events=1, processes=1)
        many = self.statements(project, *self.hosts(200, reachable=False), events=200, processes=200)
        assert for_one_host == many
        assert Event.objects.filter(event_type="HOST_DOWN").count() == 200
        # 200 hosts in replica sets of three: the first report shows that none has a primary.
        assert Event.objects.filter(event_type="NO_PRIMARY").count() == 67
        assert Event.objects.filter(event_type="HOST_ROLLBACK").count() == 201

    def test_a_report_of_nothing_new_writes_neither_clusters_nor_databases(self, project: Project) -> None:
        ingest(project, *self.hosts(3))
        with CaptureQueriesContext(connection) as queries:
            ingest(project, *self.hosts(3))
        texts = [query["sql"].lstrip() for query in queries.captured_queries]
        written = ("automation_cluster", "automation_replicaset", "automation_fleetwatch", "events_event")
        inserts = tuple(f"INSERT INTO {name}" for table in written for name in (table, f'"{table}"'))
        assert not [text for text in texts if text.startswith(inserts)]
        assert not [text for text in texts if text.startswith("UPDATE automation_replicaset")]
        assert Database.objects.count() == 6

    def test_a_known_host_in_a_set_that_stays_as_it_is_costs_seven_statements(self, project: Project) -> None:
        """The project is held; heartbeat; hosts, their update; sets; measurements; signal and its notice."""
        (host,) = self.hosts(1)
        steady = replace(host, databases=None, cluster_name=None)
        ingest(project, host)
        ingest(project, steady)
        assert self.statements(project, steady) == 7 + len(["savepoint", "release"])
        ingest(project, steady, labels={"env": "x"})
        assert self.statements(project, steady, labels={"env": "x"}) == 7 + len(["savepoint", "release"])

    @pytest.mark.slow
    def test_labels_cost_a_statement_when_they_change_however_many_hosts(self, project: Project) -> None:
        few, many = self.hosts(1, "one"), self.hosts(200)
        for hosts in (few, many):
            ingest(project, *hosts)
            unlabelled = self.statements(project, *hosts)
            for labels, more in (({}, 0), ({"env": "x"}, 1), ({"env": "x"}, 0), ({"a": "b"}, 1), ({}, 1)):
                assert self.statements(project, *hosts, labels=labels) == unlabelled + more
                assert all(
                    stored == (labels or None)
                    for stored in Host.objects.filter(
                        hostname__in=[host.address.hostname for host in hosts]
                    ).values_list("labels", flat=True)
                )

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("table", ["automation_host", "automation_agent"])
    def test_heartbeats_touch_no_index(self, project: Project, table: str) -> None:
        labels = {"env": "production"}
        ingest(project, *self.hosts(200), labels=labels, now=clock.now())
        for minute in range(1, 21):
            before = self.updates(table)
            ingest(project, *self.hosts(200), labels=labels, now=clock.now() + minute * MINUTE)
            changed, moved, without_index = map(sub, self.updates(table), before)
            assert changed >= 1
            # A row that stays in its page touches no index, because no indexed column changes. How many rows
            # leave a full page depends on when PostgreSQL may remove the old ones.
            assert changed == moved + without_index

    @pytest.mark.django_db(transaction=True)
    def test_the_pages_of_hosts_have_room_for_heartbeats(self, project: Project) -> None:
        now = clock.now()
        ingest(project, now=now)
        execute("TRUNCATE automation_host CASCADE")  # no old rows of other tests are in the pages
        # A first report would write each row twice.
        Host.objects.bulk_create(
            Host(
                group=project,
                hostname=f"h{number}",
                port=27017,
                created=now,
                reported_by=Agent.objects.get(),
                last_report=now,
            )
            for number in range(200)
        )
        before = self.updates("automation_host")
        ingest(project, *[host_report(f"h{number}") for number in range(0, 200, 4)], now=now + MINUTE)
        changed, moved, without_index = map(sub, self.updates("automation_host"), before)
        assert (changed, moved, without_index) == (50, 0, 50)

    def updates(self, table: str) -> tuple[int, int, int]:
        """The updates of a table's rows: all, to another page, and without a change of an index."""
        execute("SELECT pg_stat_force_next_flush()")
        [(changed, moved, without_index)] = fetch_rows(
            "SELECT n_tup_upd, n_tup_newpage_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = %s",
            [table],
        )
        return changed, moved, without_index


class TestEvents:
    """Many events at once are recorded as each alone would be."""

    def test_they_carry_who_reported_and_signal_what_is_alertable(self, project: Project) -> None:
        now = datetime(2099, 1, 1, tzinfo=UTC)
        earlier = now - MINUTE
        reported_events = [
            EventReport(event_type=EventType.HOST_ROLLBACK, hostname="A", port=27017, created=earlier),
            EventReport(event_type=EventType.SHARD_ADDED, created=now + MINUTE),
        ]
        ingest(project, host_report("a"), events=reported_events, now=now)
        rollback = Event.objects.get(event_type="HOST_ROLLBACK")
        assert rollback.created == earlier
        assert rollback.details["hostId"] == Host.objects.get().id
        assert rollback.raw["actor"] == "key"
        for event in Event.objects.all():
            assert (event.group_id, event.details["publicKey"]) == (project.id, "agent1")
            assert event.details["remoteAddress"] == "192.0.2.7"
        signals = {signal.payload["eventTypeName"]: signal for signal in Signal.objects.filter(kind="event")}
        assert set(signals) == {"NEW_AGENT", "NEW_HOST", "HOST_ROLLBACK", "SHARD_ADDED"}
        assert signals["HOST_ROLLBACK"].payload["eventId"] == rollback.id
        assert signals["HOST_ROLLBACK"].payload["typeName"] == "STANDALONE"
        assert signals["HOST_ROLLBACK"].seen == earlier
        # A reporter's clock is ahead of ours.
        assert signals["SHARD_ADDED"].seen == now

    def test_a_new_host_is_reported_with_what_its_first_report_says(self, project: Project) -> None:
        ingest(project, host_report("a", type_name=HostType.REPLICA_PRIMARY, cluster_name="c"))
        signal = Signal.objects.get(kind="event", payload__eventTypeName="NEW_HOST")
        assert (signal.payload["clusterName"], signal.payload["typeName"]) == ("c", "REPLICA_PRIMARY")

    def test_down_and_up_are_left_to_the_signal_of_the_report(self, project: Project) -> None:
        ingest(project, host_report("a"))
        ingest(project, host_report("a", reachable=False))
        assert Event.objects.filter(event_type="HOST_DOWN").exists()
        assert not Signal.objects.filter(payload__eventTypeName="HOST_DOWN").exists()
