"""The first day of new healthy servers: with all presets, no alert opens and nobody is notified."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.preset_configs import presets_create
from alerting.configs.presets import Preset, presets_of
from alerting.models import Alert, AlertConfig, Notification
from automation.agent.engine import HostReading, Sample
from automation.agent.mongodb.engine import MongoDB
from automation.agent.postgresql.engine import PostgreSQL
from automation.agent.report import bodies_of
from automation.metrics import Engine, Metric, MetricSubject
from automation.models import Host
from automation.reports.changes import report_ingest
from automation.reports.resource import ReportDocument, read_report
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.eventually import eventually
from tests.factories.automation import AGENT, sweep
from tests.integration.alerting.pipeline import evaluate
from tests.processes.mongod import replica_set, standalone
from tests.processes.postgresql import servers

pytestmark = [pytest.mark.processes, pytest.mark.django_db]

DEBIAN = 15
ROUND = timedelta(minutes=10)
ROUNDS = 24 * 6
OF_MACHINES = frozenset({MetricSubject.CPU, MetricSubject.MACHINE, MetricSubject.DISK})
"""What the servers share with all that runs on the machine of the tests."""

Round = Sequence[HostReading]


class Watched:
    """Real servers and the agent's engine that measures them."""

    def __init__(self, engine: Any, wanted: Mapping[str, int], hosts: int) -> None:
        """`wanted` has metrics of the last round and how many of the `hosts` report them at least."""
        self._engine, self._wanted, self._hosts = engine, wanted, hosts

    def round(self) -> Round:
        """A round of all servers."""
        waiting = list(self._engine.targets())
        while waiting:
            host = waiting.pop(0)
            waiting += self._engine.learn(host, host.poll())
        return list(self._engine.readings())

    def first(self) -> Round:
        """The first round that has all servers."""

        def found() -> Round:
            seen = self.round()
            return seen if len(seen) == self._hosts and all(host.reachable for host in seen) else []

        return eventually(found, message="the servers are found")

    def complete(self) -> Round:
        """A round that has the wanted metrics: rates need two rounds."""

        def found() -> Round:
            seen = self.round()
            counts = {
                name: sum(any(sample.metric == name for sample in host.samples) for host in seen)
                for name in self._wanted
            }
            return seen if all(counts[name] >= least for name, least in self._wanted.items()) else []

        return eventually(found, 60, message="all metrics are measured")


@contextmanager
def mongodb_set() -> Iterator[Watched]:
    """A new replica set with a hidden member and an arbiter."""
    with replica_set() as members, ExitStack() as stack:
        engine = MongoDB([members.seed])
        stack.callback(engine.close)
        wanted = {"OPLOG_SLAVE_LAG_MASTER_TIME": 2, "NETWORK_NUM_REQUESTS": 3, "MONGO_MAJORITY_LAG": 1}
        yield Watched(engine, {**wanted, "DIRTY_FILL_RATIO": 3}, hosts=4)


@contextmanager
def mongodb_standalone() -> Iterator[Watched]:
    """A new server without a replica set."""
    with standalone() as server, ExitStack() as stack:
        engine = MongoDB([f"mongodb://{server.address}"])
        stack.callback(engine.close)
        yield Watched(engine, {"NETWORK_NUM_REQUESTS": 1, "DIRTY_FILL_RATIO": 1}, hosts=1)


@contextmanager
def postgresql_pair() -> Iterator[Watched]:
    """A new primary and its standby."""
    with servers(DEBIAN) as (primary, standby), ExitStack() as stack:
        hosts = f"{primary.address},{standby.address}"
        engine = PostgreSQL([primary.uri().replace(primary.address, hosts)])
        stack.callback(engine.close)
        wanted = {"PG_REPLICATION_CONNECTED": 1, "PG_DEADLOCKS": 2, "PG_REPLICATION_LAG_TIME": 2}
        yield Watched(engine, {**wanted, "SERVER_SUPPORT_DAYS": 2}, hosts=2)


def at(moment: datetime, reading: HostReading, uptime: timedelta) -> HostReading:
    """The reading as of this moment, without what describes the machine."""

    def kept(samples: Sequence[Sample]) -> Sequence[Sample]:
        newest = {sample.metric: sample for sample in samples}
        return [
            sample._replace(taken=moment)
            for sample in newest.values()
            if Metric(sample.metric).spec.subject not in OF_MACHINES
        ]

    databases = reading.databases and {name: kept(samples) for name, samples in reading.databases.items()}
    return replace(
        reading, samples=kept(reading.samples), databases=databases, uptime=int(uptime.total_seconds())
    )


def report(project: Project, readings: Round, now: datetime) -> None:
    """Take a report as the platform takes it."""
    for body in bodies_of(readings, hostname="agent1", version="1.0", labels={}, observed=now):
        with ReportDocument().within(now=now) as reader:
            values = reader.read(json.loads(body))
        report_ingest(group_id=project.id, report=read_report(values), actor=AGENT, now=now)


def tried_presets(engine: Engine) -> Sequence[Preset]:
    """All presets of the engine, except one: the support of the versions of the tests ends some day."""
    return [preset for preset in presets_of(engine) if preset is not Preset.VERSION_SUPPORT]


def add_presets(project: Project, engine: Engine) -> None:
    """Add these presets."""
    presets_create(group_id=project.id, presets=tried_presets(engine), actor=SYSTEM, now=clock.now())


@pytest.mark.parametrize(
    ("start", "engine"),
    [
        pytest.param(mongodb_set, Engine.MONGODB, id="replica-set", marks=pytest.mark.mongod),
        pytest.param(mongodb_standalone, Engine.MONGODB, id="standalone", marks=pytest.mark.mongod),
        pytest.param(postgresql_pair, Engine.POSTGRESQL, id="postgresql", marks=pytest.mark.postgresql),
    ],
)
def test_no_preset_opens_on_the_first_day_of_healthy_servers(
    project: Project, start: Any, engine: Engine
) -> None:
    add_presets(project, engine)
    with start() as watched:
        first, early, last = watched.first(), watched.complete(), watched.complete()
    began = clock.now()
    for number in range(ROUNDS + 1):
        age = number * ROUND
        seen = first if number == 0 else early if number < ROUNDS // 2 else last
        now = began + age
        report(project, [at(now, reading, timedelta(minutes=1) + age) for reading in seen], now)
        sweep(now)
        evaluate(now)
    assert AlertConfig.objects.filter(group=project).count() >= len(tried_presets(engine))
    assert Host.objects.filter(group=project).count() == len(first)
    assert list(Alert.objects.values_list("event_type", "status", "metric_name")) == []
    assert not Notification.objects.exists()


@pytest.mark.postgresql
def test_a_preset_opens_when_such_a_day_ends_badly(project: Project) -> None:
    add_presets(project, Engine.POSTGRESQL)
    with postgresql_pair() as watched:
        seen = watched.complete()
    began = clock.now()
    report(project, [at(began, reading, timedelta(days=1)) for reading in seen], began)
    evaluate(began)
    assert not Alert.objects.exists()
    now = began + timedelta(minutes=1)
    lost = [Sample(Metric.PG_SLOTS_LOST.value, 1, now)]
    bad = [replace(reading, samples=lost) for reading in seen]
    report(project, bad, now)
    evaluate(now)
    assert Alert.objects.count() == len(seen)
