"""Both ledgers have the same rows after each step of grouped incidents and of messages to people."""

import random
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.claims import claim
from alerting.engine.delivery import decide, record
from alerting.engine.ledger import Ledger
from alerting.engine.memory import MemoryLedger
from alerting.engine.muting import Muting
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.schedule import schedule_acknowledged
from alerting.incidents.choices import AlertStatus
from alerting.incidents.grouping import ends_schedule, incidents_ungroup, openings_schedule
from alerting.incidents.store import incident_views
from alerting.models import Alert, AlertConfig, Incident, Notification, NotificationSetting
from automation.models import Host
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus, MessageKind
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.recipients import make_member

pytestmark = pytest.mark.django_db
START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
WAIT = 15
PAGER = {"typeName": "PAGER_SERVICE", "serviceKey": "0123456789abcdef0123456789abcdef", "delayMin": 0}
GROUP = {"typeName": "GROUP", "emailEnabled": True, "delayMin": 0}
DELIVERED = Outcome(DeliveryStatus.DELIVERED, None, 5)
FAILED = Outcome(DeliveryStatus.RETRY, "status 500", 5, fault=DeliveryFault.DESTINATION, reached=True)
COLUMNS = (
    *("alert_id", "incident_id", "part", "setting_id", "channel", "kind", "status", "reason", "recipient"),
    *(
        "destination",
        "subject",
        "created",
        "due",
        "attempts",
        "first_attempt",
        "perhaps_received",
        "delivered",
    ),
    *("said_members", "said_root", "silenced_by", "merged_into", "handle", "in_place", "lease_until"),
)
INCIDENT = ("group_id", "config_id", "lead_id", "units", "created", "grown", "ended")


@dataclass(slots=True)
class BothLedgers:
    """Does the same with both ledgers."""

    config: AlertConfig
    memory: MemoryLedger = field(default_factory=MemoryLedger)
    alerts: dict[str, Alert] = field(default_factory=dict)
    """By host."""
    numbers: Iterator[int] = field(default_factory=partial(count, 1))

    def __post_init__(self) -> None:
        for setting in NotificationSetting.objects.select_related("config"):
            self.memory.settings[setting.id] = setting
        for host in Host.objects.all():
            [units] = POSTGRESQL.alert_units([self._alert(host, START)]).values()
            self.memory.hosts[host.group_id][host.id] = units

    def each(self) -> tuple[Ledger, Ledger]:
        return POSTGRESQL, self.memory

    def open(self, hosts: Iterable[str], at: datetime) -> None:
        rows = [self._alert(Host.objects.get(hostname=name), at) for name in hosts]
        Alert.objects.bulk_create(rows)
        for row in rows:
            self.memory.add_alert(copy(row))
        for ledger in self.each():
            openings_schedule(alerts=[copy(row) for row in rows], ledger=ledger)

    def _alert(self, host: Host, at: datetime) -> Alert:
        number = f"{next(self.numbers):024x}"
        row = self.alerts[host.hostname] = Alert(
            id=number,
            group_id=self.config.group_id,
            config_id=self.config.id,
            event_type="HOST_DOWN",
            status="OPEN",
            target_key=host.hostname,
            facts={
                "hostId": host.id,
                "hostname": host.hostname,
                "port": host.port,
                "replicaSetName": host.replica_set_name,
            },
            created=at,
            updated=at,
            opens=at,
            incident_id=number,
        )
        return row

    def close(self, hosts: Iterable[str], at: datetime) -> None:
        ended = {self.alerts[name].id: at for name in hosts}
        Alert.objects.filter(id__in=ended).update(status="CLOSED", resolved=at)
        for name in ended:
            self.memory.end_alert(name, AlertStatus.CLOSED, now=at)
        for ledger in self.each():
            alerts = [copy(alert) for _, alert in sorted(ledger.alerts(ended).items())]
            ends_schedule(alerts=alerts, at=ended, kind=MessageKind.CLOSE, ledger=ledger)

    def acknowledge(self, until: datetime | None, now: datetime) -> None:
        Alert.objects.update(acknowledged_until=until)
        for alert in self.memory.stored_alerts.values():
            alert.acknowledged_until = until
        messages = list(Notification.objects.order_by("id"))
        for ledger in self.each():
            members, _ = ledger.members_lock(messages, wait=0)
            for _, incident in sorted(incident_views(messages, members, ledger.incidents).items()):
                schedule_acknowledged(incident=incident, now=now, ledger=ledger)

    def ungroup(self, now: datetime) -> None:
        for ledger in self.each():
            incidents_ungroup(config=self.config, now=now, ledger=ledger)

    def deliver(self, now: datetime, outcome: Outcome = DELIVERED) -> None:
        for ledger in self.each():
            random.seed(0)  # retries are spread by chance
            while claims := claim(worker=1, slots=8, clock=lambda: now, ledger=ledger):
                attempts = list(decide(claims, now=now, muting=Muting(), ledger=ledger))
                record([(attempt, outcome) for attempt in attempts], now=now, ledger=ledger)

    def differences(self) -> list[Any]:
        """The values that differ between the ledgers: the values of PostgreSQL, then the values in memory."""
        stored = rows_of(Notification.objects.all()) | incidents_of(Incident.objects.all())
        kept = rows_of(self.memory.rows.values()) | incidents_of(self.memory.stored_incidents.values())
        return sorted(stored.items() - kept.items()) + sorted(kept.items() - stored.items())


_Values = dict[tuple[str, str], str]
"""By id and column."""


def rows_of(rows: Iterable[Notification]) -> _Values:
    """The columns of notifications, and their places in the order of creation."""
    in_order = sorted(rows, key=lambda row: (row.sequence, row.id))
    places = {sequence: place for place, sequence in enumerate(sorted({row.sequence for row in in_order}))}
    values = {(row.id, name): repr(getattr(row, name)) for row in in_order for name in COLUMNS}
    return values | {(row.id, "place"): str(places[row.sequence]) for row in in_order}


def incidents_of(rows: Iterable[Incident]) -> _Values:
    return {(row.id, name): repr(getattr(row, name)) for row in rows for name in INCIDENT}


def fleet(project: Project, *names: str) -> None:
    for number, name in enumerate(names):
        ingest(project, host_report(name, replica_set_name=name[0]), agent=f"agent{number // 3}", now=START)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def after_each(both: BothLedgers, steps: Sequence[tuple[str, Any]]) -> None:
    """Take the steps, and compare the ledgers after each."""
    for name, arguments in steps:
        getattr(both, name)(*arguments)
        assert both.differences() == [], (name, arguments)


def test_a_grouped_outage_that_grows_and_recovers(project: Project) -> None:
    fleet(project, "a0", "a1", "a2", "b0", "b1", "b2")
    document = {"grouping": "TOPOLOGY", "groupWaitSec": WAIT}
    twice = {**WEBHOOK, "intervalMin": 10}
    both = BothLedgers(make_config(project, notifications=[twice, PAGER, WEBHOOK], **document))
    steps = [
        ("open", (["a0", "a1"], at(0))),
        ("deliver", (at(WAIT),)),
        ("open", (["a2", "b0"], at(30))),
        ("deliver", (at(60), FAILED)),
        ("deliver", (at(120),)),
        ("acknowledge", (at(600), at(130))),
        ("deliver", (at(140),)),
        ("open", (["b1"], at(200))),
        ("acknowledge", (None, at(210))),
        ("deliver", (at(240),)),
        ("deliver", (at(1000),)),
        ("close", (["a0", "a1"], at(1010))),
        ("ungroup", (at(1015),)),
        ("deliver", (at(1030),)),
        ("close", (["a2", "b0", "b1"], at(1040))),
        ("deliver", (at(1100),)),
    ]
    after_each(both, steps)
    kinds = set(Notification.objects.values_list("kind", "part"))
    assert kinds >= {(MessageKind.UPDATE, part) for part in (None, "CHANGE", "UNGROUPED")}
    assert Notification.objects.filter(said_members__gte=3).exists()
    assert Incident.objects.exclude(ended=None).count() == Incident.objects.count() > 0


def test_messages_to_people(project: Project) -> None:
    fleet(project, "a0", "b0")
    for name in ("ada", "ben"):
        make_member(project, name)
    both = BothLedgers(make_config(project, notifications=[{**GROUP, "intervalMin": 10}, WEBHOOK]))
    steps = [
        ("open", (["a0", "b0"], at(0))),
        ("deliver", (at(1),)),
        ("deliver", (at(700), FAILED)),
        ("deliver", (at(800),)),
        ("close", (["a0", "b0"], at(900))),
        ("deliver", (at(910),)),
    ]
    after_each(both, steps)
    assert Notification.objects.filter(channel="EMAIL", status="DELIVERED").count() >= 4
