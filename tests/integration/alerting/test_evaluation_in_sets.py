"""Signals evaluated together do exactly what they do one at a time: alerts, events, notifications, order."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals, open_tracked
from alerting.engine.turns import turn_take
from alerting.models import Alert, Notification
from automation.agents.store import agent_state
from automation.hosts.store import host_state
from automation.metrics import Metric
from automation.models import Agent, Host
from events.choices import SignalKind
from events.models import Event, Signal
from opsapi.ids import new_id
from tests.each import each
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest, make_host, measure
from tests.hostile.budget import LONG

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SIGNALS = 40
SCENES = 2_500 if LONG else 12
"""Each is a seed: `make faults` holds 100,000 signals together."""
METRICS = {"CONNECTIONS": "RAW", "MEMORY_RESIDENT": "BYTES", "OPCOUNTER_CMD": "RAW"}
_LATER = {**EMAIL, "delayMin": 1}


class EvaluationScene:
    """A project with random configurations, hosts and signals."""

    def __init__(self, project: Project, seed: int) -> None:
        self.project, self.random = project, Random(seed)
        self.hosts = [make_host(project, f"db{number}", last_report=START) for number in range(3)]
        self.agent = Agent.objects.create(
            group=project,
            agent_type="MONITORING",
            hostname="agent1",
            version="1",
            created=START,
            last_report=START,
        )
        self.measured = [self._measurement(host) for host in self.hosts for _ in range(4)]
        make_config(project, notifications=[WEBHOOK], eventTypeName="HOST_DOWN")  # something happens
        for _ in range(self.random.randint(0, 7)):
            self._config()
        Signal.objects.all().delete()
        Event.objects.all().delete()
        self._signals()

    def _measurement(self, host: Host) -> tuple[str, str | None]:
        said = {
            Metric(name): [(START, float(self.random.randint(0, 5)))]
            for name in METRICS
            if self.random.random() < 0.8
        }
        at = measure(host, START, said)
        return host.id, at.wire if at else None

    def _config(self) -> None:
        random = self.random
        kinds: list[dict[str, Any]] = [
            {"eventTypeName": "HOST_DOWN"},
            {"eventTypeName": "HOST_NOT_MEASURED"},
            {"eventTypeName": "HOST_RECOVERING"},
            {"eventTypeName": "NO_PRIMARY"},
            {"eventTypeName": "MULTIPLE_PRIMARIES"},
            {"eventTypeName": "MONITORING_AGENT_DOWN"},
            {"eventTypeName": "NEW_HOST"},
            {"eventTypeName": "BACKUP_AGENT_CONF_CALL_FAILURE"},
            {
                "eventTypeName": "TOO_FEW_HEALTHY_MEMBERS",
                "threshold": {"operator": "LESS_THAN", "threshold": random.randint(1, 3)},
            },
            *(
                {
                    "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
                    "metricThreshold": {
                        "metricName": metric,
                        "units": units,
                        "operator": random.choice(("GREATER_THAN", "LESS_THAN")),
                        "threshold": random.randint(0, 5),
                        "mode": "AVERAGE",
                    },
                }
                for metric, units in METRICS.items()
            ),
        ]
        kind = random.choice(kinds)
        if "HOST" in kind["eventTypeName"] and random.random() < 0.3:
            kind["matchers"] = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}]
        chosen_notifications = random.choice(([WEBHOOK], [_LATER], [WEBHOOK, EMAIL]))
        make_config(self.project, notifications=chosen_notifications, **kind)

    def _signals(self) -> None:
        at, rows = START, []
        for _ in range(SIGNALS):
            at += timedelta(seconds=self.random.choice((0, 0, 1, 7, 40)))
            # What an agent says happened may have happened before what was heard already.
            seen = at - timedelta(seconds=self.random.choice((0, 0, 0, 90)))
            kind, payload = self.random.choice((self._report, self._report, self._event))()
            rows.append(Signal(created=seen, group_id=self.project.id, kind=kind.value, payload=payload))
        Signal.objects.bulk_create(rows)
        self.end = at

    def _report(self) -> tuple[SignalKind, dict[str, Any]]:
        random = self.random
        hosts = []
        for host in random.sample(self.hosts, random.randint(0, 3)):
            measured = [said for host_id, said in self.measured if host_id == host.id]
            hosts.append(
                {
                    **host_state(host),
                    "reachable": random.random() < 0.6,
                    "notMeasured": random.random() < 0.3,
                    "typeName": random.choice(("STANDALONE", "RECOVERING")),
                    "measurementId": random.choice((None, *measured)),
                }
            )
        sets = [
            {
                "replicaSetName": name,
                "primaries": random.randint(0, 2),
                "healthy": random.choice((0, 1, 2, 3)),
                "unhealthy": random.choice((0, 0, 1)),
            }
            for name in ("rs0", "rs1")
            if random.random() < 0.4
        ]
        return SignalKind.HOSTS, {"hosts": hosts, "replicaSets": sets}

    def _event(self) -> tuple[SignalKind, dict[str, Any]]:
        host, agent = host_state(self.random.choice(self.hosts)), agent_state(self.agent)
        facts_of: dict[str, dict[str, Any]] = {
            "MONITORING_AGENT_DOWN": agent,
            "MONITORING_AGENT_UP": agent,
            "NEW_HOST": host,
            "HOST_DOWN": host,
            "HOST_UP": host,
            "BACKUP_AGENT_CONF_CALL_FAILURE": {},  # names no agent
        }
        name, facts = self.random.choice(list(facts_of.items()))
        return SignalKind.EVENT, {**facts, "eventTypeName": name, "eventId": new_id()}

    def evaluate(
        self, at_once: int, monkeypatch: pytest.MonkeyPatch, *, looks: int | None = None
    ) -> list[Any]:
        """What there is after all is evaluated, and after every delay has passed; then it is undone.

        `looks`: a turn ends when it has looked at the clock as often.
        """
        self.turns = 0
        with monkeypatch.context() as patched, transaction.atomic():
            patched.setattr("alerting.engine.turns.SIGNALS_AT_ONCE", at_once)
            patched.setattr("alerting.engine.evaluation.EVALUATION_SECONDS", looks or 1)
            patched.setattr("alerting.engine.evaluation.LEAST_COUNTED_SECONDS", 10_000)
            while evaluate_signals(now=self.end, clock=partial(next, count()) if looks else lambda: 0):
                self.turns += 1
            open_tracked(now=self.end + timedelta(hours=1))
            found = list(self._found())
            assert not Signal.objects.exists()  # none was set aside
            transaction.set_rollback(True)
        return found

    def _found(self) -> Iterator[Any]:
        yield from Alert.objects.order_by("id").values()
        # What is about one target is heard in this order.
        chosen_notifications = Notification.objects.order_by("subject", "sequence").values()
        yield from (
            {name: value for name, value in message.items() if name != "sequence"}
            for message in chosen_notifications
        )
        kept = ("created", "event_type", "alert_id", "details", "raw")
        yield from Event.objects.order_by("created", "id").values(*kept)
        yield from Signal.objects.order_by("id").values()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SCENES))
def test_together_they_do_what_they_do_one_at_a_time(
    project: Project, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = EvaluationScene(project, int(os.environ.get("OPSAPI_TEST_SEED", seed)))
    alone = scene.evaluate(1, monkeypatch)
    together = scene.evaluate(SIGNALS, monkeypatch)
    assert together == alone
    assert alone
    turns = scene.turns
    divided = scene.evaluate(SIGNALS, monkeypatch, looks=scene.random.randint(1, 4))
    assert scene.turns > turns
    # Within a signal, the order of different configurations has no meaning.
    assert sorted(map(repr, divided)) == sorted(map(repr, alone))


def test_many_signals_take_as_many_statements_as_one(project: Project) -> None:
    make_config(project, notifications=[WEBHOOK])
    Signal.objects.all().delete()

    def statements(first: int, count: int) -> int:
        hosts = [make_host(project, f"db{first + number}", last_report=START) for number in range(count)]
        Signal.objects.bulk_create(
            Signal(
                created=START,
                group_id=project.id,
                kind=SignalKind.HOSTS.value,
                payload={"hosts": [{**host_state(host), "reachable": False, "measurementId": None}]},
            )
            for host in hosts
        )
        with CaptureQueriesContext(connection) as queries:
            assert evaluate_signals(now=START, clock=lambda: 0.0)
        assert Alert.objects.filter(status="OPEN").count() == first + count
        return len(queries)

    statements(0, 1)  # reads the configurations and keeps them
    assert statements(1, 1) == statements(2, 20)


@each(("stored", "read"), [(1, 3), (9, 1), (None, 2)])
def test_a_turn_counts_hosts_without_reading_payloads(
    project: Project, stored: int | None, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signals of an earlier version have no number of hosts, so their payloads are read."""
    monkeypatch.setattr("alerting.engine.turns.HOSTS_AT_ONCE", 3)
    Signal.objects.all().delete()
    ingest(project, host_report("db1"), host_report("db2"), now=START)
    of_hosts = Signal.objects.filter(kind=SignalKind.HOSTS.value)
    assert of_hosts.get().number_of_hosts == 2
    for _ in range(3):
        ingest(project, host_report("db1"), host_report("db2"), now=START)
    Signal.objects.exclude(id__in=of_hosts).delete()
    of_hosts.update(number_of_hosts=stored)
    with transaction.atomic():
        turn = turn_take(now=START)
        assert turn is not None
        assert len(turn.next_signals()) == read


def _change_configs(project: Project, count: int) -> None:
    for _ in range(count):
        make_config(project, notifications=[WEBHOOK], eventTypeName="HOST_DOWN")


def test_changed_configurations_take_as_many_statements_as_one(project: Project) -> None:
    for number in range(3):
        make_host(project, f"db{number}", last_report=START, down=True)

    def statements(count: int) -> int:
        Alert.objects.all().delete()
        Signal.objects.all().delete()
        _change_configs(project, count)
        with CaptureQueriesContext(connection) as queries:
            assert evaluate_signals(now=START, clock=lambda: 0.0) == count
        assert Alert.objects.filter(status="OPEN").count() == 3 * count
        assert not Signal.objects.exists()
        return len(queries)

    assert statements(1) == statements(20)


def test_changed_configurations_do_together_what_they_do_one_at_a_time(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_host(project, "db0", last_report=START, down=True)
    _change_configs(project, 3)

    def evaluated(at_once: int) -> list[Any]:
        with monkeypatch.context() as patched, transaction.atomic():
            patched.setattr("alerting.engine.turns.SIGNALS_AT_ONCE", at_once)
            while evaluate_signals(now=START, clock=lambda: 0.0):
                pass
            assert not Signal.objects.exists()
            found: list[Any] = list(Alert.objects.order_by("id").values())
            events = Event.objects.filter(alert_id__isnull=False).order_by("id")
            found += events.values("event_type", "alert_id")
            transaction.set_rollback(True)
        return found

    together, alone = evaluated(100), evaluated(1)
    assert together == alone
    assert len(alone) == 6
