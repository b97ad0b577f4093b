"""A dry run over what is recorded equals what the live pipeline did: alerts, times, values and messages."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.engine.evaluation import open_tracked
from alerting.insight.dry_run_alerts import DryRunMessage
from alerting.insight.dry_runs import DryRunResult, dry_run
from alerting.models import Alert, AlertConfig, Incident, MaintenanceWindow, Notification
from automation.addresses import Address
from automation.choices import HostType
from automation.measurements.days import days_create
from automation.measurements.packer import day_pack_some
from automation.metrics import Metric
from automation.models import PackedReadings, Reading
from automation.reports.rules import EventReport, HostReport
from events.types import EventType
from opsapi.roles import Role
from tests.factories.accesslist import UserFactory
from tests.factories.alerting import EMAIL, WEBHOOK, by_column, make_config
from tests.factories.automation import host_report, ingest, sweep
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
START = datetime(2025, 3, 4, 23, 30, tzinfo=UTC)
"""Shortly before the end of a partition."""
STEPS = 50
SEEDS = range(400) if LONG else (1,)
GROUPED_SEEDS = range(400) if LONG else (0, 7)
"""With seed 7, a window with matchers mutes messages about incidents; with seed 0, a window without them."""
KINDS: list[dict[str, Any]] = [
    {"eventTypeName": "HOST_DOWN"},
    {"eventTypeName": "HOST_RECOVERING"},
    {"eventTypeName": "MONITORING_AGENT_DOWN"},
    {"eventTypeName": "NO_PRIMARY"},
    {"eventTypeName": "MULTIPLE_PRIMARIES"},
    {"eventTypeName": "VERSION_BEHIND"},
    {"eventTypeName": "HOST_SSL_CERTIFICATE_STALE"},
    {"eventTypeName": "NEW_HOST"},
    {"eventTypeName": "HOST_RESTARTED"},
    *(
        {
            "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
            "metricThreshold": {
                "metricName": "CONNECTIONS",
                "operator": operator,
                "threshold": 3,
                "units": "RAW",
                "mode": "AVERAGE",
            },
        }
        for operator in ("GREATER_THAN", "LESS_THAN")
    ),
]
GROUPED = {"HOST_DOWN", "HOST_RECOVERING", "MONITORING_AGENT_DOWN", "NO_PRIMARY", "OUTSIDE_METRIC_THRESHOLD"}
ON_ONE_HOST = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}]
CountedMessages = Counter[tuple[Any, ...]]


class RecordedScene:
    """A project in which the live pipeline runs, minute by minute, while agents report at random."""

    kinds = KINDS
    pause = MINUTE
    receivers: Sequence[list[Mapping[str, Any]]] = (
        [WEBHOOK],
        [EMAIL],
        [WEBHOOK, EMAIL],
        [EMAIL, WEBHOOK, EMAIL],
    )

    def __init__(self, project: Project, seed: int) -> None:
        self.project, self.random, self.seed = project, Random(seed), seed
        days_create([START.date(), (START + timedelta(days=1)).date()])
        self.documents = [self._document(kind) for kind in self.kinds]
        self.configs = [make_config(project, **document) for document in self.documents]
        self._windows()
        self.end = START

    def _document(self, kind: dict[str, Any]) -> dict[str, Any]:
        random = self.random
        notifications = [
            {**notification, "delayMin": random.choice((0, 0, 2, 5)), "intervalMin": random.choice((7, 60))}
            for notification in random.choice(self.receivers)
        ]
        narrow = "HOST" in kind["eventTypeName"] or "metricThreshold" in kind
        matchers = ON_ONE_HOST if narrow and random.random() < 0.3 else []
        return {**kind, "notifications": notifications, "matchers": matchers}

    def _windows(self) -> None:
        for number in range(self.random.randint(0, 2)):
            start = START + self.random.randint(0, STEPS) * MINUTE
            MaintenanceWindow.objects.create(
                group=self.project,
                alert_types=["HOST", "AGENT", "REPLICA_SET"] if number else ["HOST"],
                start=start,
                end=start + self.random.randint(1, 20) * MINUTE,
                matchers=None if number else self.random.choice((None, ON_ONE_HOST)),
                created=START,
                updated=START,
            )

    def play(self) -> None:
        """Run the pipeline STEPS times."""
        unreported_until = -1
        for step in range(STEPS):
            now = self.end = START + step * self.pause
            if step > unreported_until:
                if self.random.random() < 0.06:
                    unreported_until = step + 6
                else:
                    self._report(now)
            sweep(now)
            evaluate(now)
            open_tracked(now=now)
            deliver_all(now)

    def _report(self, now: datetime) -> None:
        hosts = [self._host(name) for name in ("db0", "db1", "db2") if self.random.random() < 0.8]
        events = []
        if self.random.random() < 0.2:
            name = self.random.choice(("HOST_SSL_CERTIFICATE_STALE", "HOST_SSL_CERTIFICATE_CURRENT"))
            events.append(EventReport(event_type=EventType(name), hostname="db1", port=27017))
        ingest(self.project, *hosts, events=events, now=now)

    def _host(self, name: str) -> HostReport:
        random = self.random
        types = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.RECOVERING)
        report = host_report(
            name,
            reachable=random.random() < 0.85,
            type_name=random.choice(types),
            replica_set_name="rs0",
            version=random.choice(("6.0.1", "6.0.1", "6.0.2")),
            uptime_seconds=random.choice((10, 20)),
        )
        values = random.choice(([], [1.0], [4.0], [3.0], [2.5, 3.5], [1.0, 6.0]))
        taken = {Metric.CONNECTIONS: [(START, value) for value in values]} if values else {}
        return replace(report, samples=taken)

    def rehearse(self, document: dict[str, Any]) -> DryRunResult:
        """The dry run of the same configuration over the record."""
        values = by_column(document)
        return dry_run(group_id=self.project.id, values=values, start=START, end=self.end)


class RoleScene(RecordedScene):
    """Hosts change their roles, and only some roles have the metrics."""

    kinds = [
        {
            "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
            "metricThreshold": {
                "metricName": metric,
                "operator": "GREATER_THAN",
                "threshold": 3,
                "units": "SECONDS",
                "mode": "AVERAGE",
            },
        }
        for metric in ("OPLOG_SLAVE_LAG_MASTER_TIME", "MONGO_MAJORITY_LAG", "PG_REPLICATION_LAG_TIME")
    ]

    def _host(self, name: str) -> HostReport:
        report = super()._host(name)
        values = report.samples.get(Metric.CONNECTIONS)
        if not values:
            return report
        is_primary = report.type_name is HostType.REPLICA_PRIMARY
        of_role = Metric.MONGO_MAJORITY_LAG if is_primary else Metric.OPLOG_SLAVE_LAG_MASTER_TIME
        return replace(report, samples={of_role: values, Metric.PG_REPLICATION_LAG_TIME: values})


GROUP = {
    "typeName": "GROUP",
    "roles": ["GROUP_READ_ONLY"],
    "emailEnabled": True,
    "smsEnabled": False,
    "delayMin": 0,
}


class GroupedScene(RecordedScene):
    """Two agents in turn report hosts that share machines, replica sets and a cluster; alerts are grouped.

    What is reported at one time is evaluated together.
    """

    pause = MINUTE / 2
    receivers = ([WEBHOOK], [EMAIL], [WEBHOOK, EMAIL])

    kinds = [kind for kind in KINDS if kind["eventTypeName"] in GROUPED]
    fleet: Sequence[tuple[str, str, int, str | None, str | None]] = (
        ("agent1", "db0", 27017, "rs0", None),
        ("agent1", "db0", 27018, "rs1", None),
        ("agent1", "db1", 27017, "rs0", None),
        ("agent2", "db2", 27017, "rs1", None),
        ("agent2", "db3", 27017, "s0", "c"),
        ("agent2", "db4", 27017, "s1", "c"),
        ("agent2", "db5", 27017, None, None),
    )
    """Agent, machine, port, replica set and cluster."""

    def _document(self, kind: dict[str, Any]) -> dict[str, Any]:
        document = super()._document(kind)
        people = {**GROUP, "intervalMin": self.random.choice((7, 60))}
        wait = self.random.choice((0, 60, 120, 300))
        document["notifications"] = [*document["notifications"], people]
        return {**document, "grouping": "TOPOLOGY", "groupWaitSec": wait}

    def play(self) -> None:
        """Report the whole fleet, up, and then run the pipeline."""
        for agent in ("agent1", "agent2"):
            count = sum(place[0] == agent for place in self.fleet)
            self._ingest(agent, [host_report(type_name=HostType.REPLICA_PRIMARY)] * count, START - MINUTE)
        evaluate(START - MINUTE)
        super().play()

    def _report(self, now: datetime) -> None:
        agent = "agent2" if now.second else "agent1"
        self._ingest(agent, [self._host(place[1]) for place in self.fleet if place[0] == agent], now)

    def _ingest(self, agent: str, hosts: Sequence[HostReport], now: datetime) -> None:
        """Report the hosts of the agent, of which these are in order."""
        places = [place for place in self.fleet if place[0] == agent]
        placed = [
            replace(
                host,
                address=Address(name, port),
                replica_set_name=replica_set,
                shard_name=replica_set if cluster else None,
                cluster_name=cluster,
            )
            for host, (_, name, port, replica_set, cluster) in zip(hosts, places, strict=True)
        ]
        ingest(self.project, *placed, agent=agent, now=now)


def live_alerts(config: AlertConfig, end: datetime) -> Iterator[tuple[Any, ...]]:
    """The alerts that opened: target, times, status and value."""
    for alert in Alert.objects.filter(config_id=config.id).order_by("created", "id"):
        if alert.opens <= (alert.resolved or end):
            yield (
                alert.target_key,
                alert.created,
                alert.opens,
                alert.resolved,
                alert.status,
                alert.current_value,
            )


def dry_alerts(found: DryRunResult) -> Iterator[tuple[Any, ...]]:
    """The same of a dry run."""
    for alert in found.alerts:
        status = alert.status_at(found.end).value
        yield (alert.target_key, alert.created, alert.opens, alert.ended, status, alert.value)


def live_messages(config: AlertConfig) -> CountedMessages:
    """The delivered messages: target or event, begin, notification, kind and time."""
    places = {setting.id: setting.position for setting in config.settings.all()}
    rows = Notification.objects.filter(setting_id__in=places, status="DELIVERED").select_related("alert")
    return Counter(
        (
            row.subject,
            row.alert.created if row.alert else None,
            places[row.setting_id],
            row.kind,
            row.delivered,
        )
        for row in rows
    )


def dry_messages(found: DryRunResult) -> CountedMessages:
    """The same of a dry run."""
    about: list[tuple[Any, Any, list[DryRunMessage]]] = [
        *((alert.target_key, alert.created, alert.messages) for alert in found.alerts),
        *((event.id, None, event.messages) for event in found.events),
    ]
    return Counter(
        (*subject, message.receiver.position, message.kind.value, message.sent)
        for *subject, messages in about
        for message in messages
        if message.sent is not None
    )


def live_waiting(config: AlertConfig) -> CountedMessages:
    """The messages that a window still holds back."""
    places = {setting.id: setting.position for setting in config.settings.all()}
    rows = Notification.objects.filter(setting_id__in=places, silenced_by__isnull=False, status="PENDING")
    return Counter((row.subject, places[row.setting_id], row.kind, row.silenced_by) for row in rows)


def dry_waiting(found: DryRunResult) -> CountedMessages:
    """The same of a dry run."""
    return Counter(
        (alert.target_key, message.receiver.position, message.kind.value, message.window_id)
        for alert in found.alerts
        for message in alert.messages
        if message.sent is None and message.reason is None
    )


def seed_of(seed: int) -> int:
    return int(os.environ.get("OPSAPI_TEST_SEED", seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_dry_run_equals_what_the_live_pipeline_did(project: Project, seed: int, outside: Outside) -> None:
    scene = RecordedScene(project, seed_of(seed))
    scene.play()
    assert outside.sent
    assert_equal_to_live(scene)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_dry_run_over_packed_days_equals_what_the_live_pipeline_did(
    project: Project, seed: int, outside: Outside, settings: Settings
) -> None:
    """The measurements of the first day are packed, and of the next day half."""
    settings.OPSAPI_MEASUREMENT_RETENTION_DAYS = 0
    scene = RecordedScene(project, seed_of(seed))
    scene.play()
    later = Reading.objects.filter(reported__gt=scene.end - (scene.end - START) / 4)
    kept = list(later)
    later.delete()
    while day_pack_some(now=scene.end + timedelta(days=3)):
        """Step after step."""
    days_create([scene.end.date()])
    Reading.objects.bulk_create(kept)
    assert PackedReadings.objects.exists()
    assert Reading.objects.exists()
    assert_equal_to_live(scene)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_dry_run_ends_alerts_with_the_role_of_their_host_as_the_live_pipeline_did(
    project: Project, seed: int, outside: Outside
) -> None:
    scene = RoleScene(project, seed_of(seed))
    scene.play()
    assert Alert.objects.filter(status="CANCELLED").exists()
    assert_equal_to_live(scene)


@pytest.mark.slow
@pytest.mark.parametrize("seed", GROUPED_SEEDS)
def test_a_dry_run_of_grouped_alerts_equals_what_the_live_pipeline_did(
    project: Project, seed: int, outside: Outside
) -> None:
    reader = UserFactory.create(email_address="reader@example.com", password=None)
    reader.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    scene = GroupedScene(project, seed_of(seed))
    scene.play()
    assert Incident.objects.exists()
    assert_equal_to_live(scene)


def assert_equal_to_live(scene: RecordedScene) -> None:
    for document, config in zip(scene.documents, scene.configs, strict=True):
        found = scene.rehearse(document)
        assert found.cut is None
        assert sorted(dry_alerts(found), key=repr) == sorted(live_alerts(config, scene.end), key=repr), (
            document
        )
        assert dry_messages(found) == live_messages(config), document
        assert dry_waiting(found) == live_waiting(config), document
