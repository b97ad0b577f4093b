"""Both ledgers have the same rows after each step of grouped incidents and of messages to people."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine import memory
from alerting.engine.claims import claim
from alerting.engine.delivery import decide, record
from alerting.engine.ledger import Ledger
from alerting.engine.memory import MemoryLedger
from alerting.engine.muting import Muting
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.schedule import schedule_acknowledged
from alerting.engine.transition import ConfigView
from alerting.incidents import grouping
from alerting.incidents.changes import (
    AlertChanges,
    AlertEnd,
    NewAlert,
    alerts_change,
    alerts_close_over,
    alerts_open,
    locked_alerts_cancel,
)
from alerting.incidents.grouping import incidents_ungroup
from alerting.incidents.store import incident_views
from alerting.models import Alert, AlertConfig, Incident, Notification, NotificationSetting
from automation.models import Host
from events.models import Signal
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus, MessageKind
from opsapi.api.principal import SYSTEM
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
ALERT = (
    *("config_id", "status", "target_key", "incident_id", "current_value", "created", "updated"),
    *("opens", "late", "over", "resolved", "last_notified"),
)
INCIDENT = ("group_id", "config_id", "lead_id", "units", "created", "grown", "ended")


@dataclass(slots=True)
class BothLedgers:
    """Does the same with both ledgers."""

    config: AlertConfig
    memory: MemoryLedger = field(default_factory=MemoryLedger)
    alerts: dict[str, str] = field(default_factory=dict)
    """The id of the last alert of each host."""
    numbers: Iterator[int] = field(default_factory=partial(count, 1))

    def __post_init__(self) -> None:
        for setting in NotificationSetting.objects.select_related("config"):
            self.memory.settings[setting.id] = setting
        for host in Host.objects.all():
            alert = Alert(id="", group_id=host.group_id, facts=facts_of(host))
            self.memory.hosts[host.group_id][host.id] = POSTGRESQL.alert_units([alert])[""]

    def each(self) -> tuple[Ledger, Ledger]:
        return POSTGRESQL, self.memory

    def open(self, hosts: Iterable[str], at: datetime, known: datetime | None = None) -> None:
        """Start alerts, which open at once if no notification is delayed."""
        starts = [self._start(Host.objects.get(hostname=name), at, known) for name in hosts]
        self._change(AlertChanges(starts=starts), at)
        started = POSTGRESQL.alerts([start.id for start in starts])
        self.alerts |= {start.target: start.id for start in starts if start.id in started}

    def _start(self, host: Host, at: datetime, known: datetime | None) -> NewAlert:
        return NewAlert(
            signal=self._signal(at),
            config=ConfigView(self.config.id, EventType.HOST_DOWN),
            target=host.hostname,
            facts=facts_of(host),
            at=at,
            opens_from=known,
            is_late=known is not None,
        )

    def _signal(self, at: datetime) -> Signal:
        return Signal(pk=next(self.numbers), created=at, group_id=self.config.group_id)

    def _change(self, changes: AlertChanges, now: datetime) -> None:
        for ledger in self.each():
            alerts_change(changes=changes, group_id=self.config.group_id, now=now, ledger=ledger)

    def open_due(self, now: datetime) -> None:
        """Open the alerts whose delay has passed."""
        for ledger in self.each():
            alerts = [alert for alert in self._locked(ledger) if alert.status == "TRACKING"]
            alerts_open(alerts=[alert for alert in alerts if alert.opens <= now], now=now, ledger=ledger)

    def _locked(self, ledger: Ledger) -> list[Alert]:
        return ledger.alerts_lock(list(self.alerts.values()))

    def value(self, hosts: Iterable[str], value: float, at: datetime) -> None:
        """Give alerts a new value."""
        self._change(AlertChanges(values={self.alerts[name]: (value, at) for name in hosts}), at)

    def over(self, hosts: Iterable[str], over: datetime | None, at: datetime) -> None:
        """Note that alerts ended according to a late report, or have not ended after all."""
        self._change(AlertChanges(over={self.alerts[name]: (over, at) for name in hosts}), at)

    def close_over(self, now: datetime) -> None:
        """Close the alerts that ended according to late reports."""
        for ledger in self.each():
            alerts = [alert for alert in self._locked(ledger) if alert.over]
            group_id = self.config.group_id
            alerts_close_over(alerts=alerts, group_id=group_id, now=now, ledger=ledger)

    def close(self, hosts: Iterable[str], at: datetime, value: float | None = None) -> None:
        ends = {self.alerts[name]: AlertEnd(signal=self._signal(at), at=at, value=value) for name in hosts}
        self._change(AlertChanges(ends=ends), at)

    def cancel(self, hosts: Iterable[str], now: datetime) -> None:
        for ledger in self.each():
            alerts = ledger.alerts_lock([self.alerts[name] for name in hosts])
            locked_alerts_cancel(alerts=alerts, actor=SYSTEM, now=now, ledger=ledger)

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
        stored = rows_of(Notification.objects.all())
        stored |= values_of(Incident.objects.all(), INCIDENT) | values_of(Alert.objects.all(), ALERT)
        kept = rows_of(self.memory.rows.values())
        kept |= values_of(self.memory.stored_incidents.values(), INCIDENT)
        kept |= values_of(self.memory.stored_alerts.values(), ALERT)
        return sorted(stored.items() - kept.items()) + sorted(kept.items() - stored.items())


_Values = dict[tuple[str, str], str]
"""By id and column."""


def rows_of(rows: Iterable[Notification]) -> _Values:
    """The columns of notifications, and their places in the order of creation."""
    in_order = sorted(rows, key=lambda row: (row.sequence, row.id))
    places = {sequence: place for place, sequence in enumerate(sorted({row.sequence for row in in_order}))}
    values = {(row.id, name): repr(getattr(row, name)) for row in in_order for name in COLUMNS}
    return values | {(row.id, "place"): str(places[row.sequence]) for row in in_order}


def values_of(rows: Iterable[Incident | Alert], columns: Sequence[str]) -> _Values:
    return {(row.id, name): repr(getattr(row, name)) for row in rows for name in columns}


def facts_of(host: Host) -> dict[str, Any]:
    return {
        "hostId": host.id,
        "hostname": host.hostname,
        "port": host.port,
        "replicaSetName": host.replica_set_name,
    }


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


def test_an_incident_with_the_most_open_alerts_takes_no_more(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for users in (grouping, memory):
        monkeypatch.setattr(users, "MOST_ALERTS", 2)
    fleet(project, "a0", "a1", "a2", "a3", "a4")
    both = BothLedgers(make_config(project, grouping="TOPOLOGY", groupWaitSec=WAIT))
    steps = [
        ("open", (["a0"], at(0))),
        ("open", (["a1"], at(10))),
        ("open", (["a2"], at(20))),
        ("close", (["a0"], at(30))),
        ("open", (["a3"], at(40))),  # The first incident has room again.
        ("open", (["a4"], at(50))),
    ]
    after_each(both, steps)
    incidents = Alert.objects.order_by("target_key").values_list("incident_id", flat=True)
    first, _, second, _, _ = incidents
    assert list(incidents) == [first, first, second, first, second]
    assert first != second


def test_an_incident_whose_alerts_end_in_late_reports(project: Project) -> None:
    fleet(project, "a0", "a1", "a2")
    both = BothLedgers(make_config(project, grouping="TOPOLOGY", groupWaitSec=WAIT))
    steps = [
        ("open", (["a0", "a1", "a2"], at(0))),
        ("deliver", (at(WAIT),)),
        ("close", (["a2"], at(100))),
        ("over", (["a0"], at(60), at(200))),
        ("over", (["a1"], at(50), at(200))),
        ("close_over", (at(210),)),
        ("deliver", (at(220),)),
    ]
    after_each(both, steps)
    assert Incident.objects.get().ended == at(100)


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


def test_alerts_with_a_delay_and_late_reports(project: Project) -> None:
    fleet(project, "a0", "a1", "a2", "b0", "b1", "b2")
    Signal.objects.all().delete()  # Signals that wait can end alerts earlier.
    both = BothLedgers(make_config(project, notifications=[{**WEBHOOK, "delayMin": 1}]))
    steps = [
        ("open", (["a0", "a1", "a2", "b0"], at(0))),
        ("value", (["a0", "a1"], 2.5, at(10))),
        ("close", (["a1"], at(20))),
        ("open_due", (at(60),)),
        ("open", (["a0"], at(70))),  # It has an active alert.
        ("deliver", (at(70),)),
        ("over", (["a0", "a2"], at(75), at(80))),
        ("over", (["a2"], None, at(85))),
        ("close_over", (at(90),)),
        ("cancel", (["a2"], at(95))),
        ("open", (["b1", "b2"], at(100), at(130))),
        ("over", (["b1"], at(120), at(130))),
        ("close_over", (at(140),)),
        ("close", (["b2"], at(200), 1.5)),  # Its delay has passed, and no worker has opened it.
        ("deliver", (at(210),)),
    ]
    after_each(both, steps)
    statuses = dict(Alert.objects.values_list("target_key", "status"))
    assert statuses == {"a0": "CLOSED", "a1": "CLOSED", "a2": "CANCELLED", "b0": "OPEN", "b2": "CLOSED"}
    assert Notification.objects.filter(kind=MessageKind.CANCEL, status="DELIVERED").exists()
