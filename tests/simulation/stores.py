"""What a run does to the platform, whether it is kept in memory or by PostgreSQL."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Protocol

from alerting.configs.store import filled, type_of
from alerting.engine import delivery
from alerting.engine.claims import claim
from alerting.engine.ledger import Ledger
from alerting.engine.transition import ConfigView
from alerting.incidents.changes import AlertChanges, AlertEnd, NewAlert, alerts_change, alerts_open
from alerting.incidents.choices import AlertStatus
from alerting.models import AlertConfig, Destination, Notification, NotificationSetting
from events.models import Signal
from events.types import EventType
from integrations.channels.outcome import Outcome
from opsapi.encryption import encrypt
from tests.simulation.plans import Receiver, SimulatedSetting


class Store(Protocol):
    """The tables, and the steps of delivery; each call is one transaction."""

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        """Projects with their configurations."""

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        """A host is down: the alert with this number of its target opens; answers its id."""

    def close(self, alert_id: str, now: datetime) -> None:
        """It is up again."""

    def acknowledge(self, alert_id: str, until: datetime, now: datetime) -> None:
        """Somebody acknowledges the alert; a time that has come takes that back."""

    def window(self, project: int, number: int, columns: Mapping[str, Any], now: datetime) -> None:
        """Maintenance of a project begins."""

    def window_gone(self, project: int, number: int, now: datetime) -> None:
        """Its window is deleted."""

    def redirect(self, setting: int, receiver: Receiver, now: datetime) -> None:
        """The configuration names another receiver."""

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        """Take in progress."""

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        """Decide."""

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        """Record."""

    def holds(self, notification: Notification) -> bool:
        """Whether its lease is still the one of this copy."""

    def release(self, worker: int, now: datetime) -> None:
        """A worker died."""

    def next_time(self) -> datetime | None:
        """When there may be something to do; None when nothing waits."""

    def notifications(self) -> list[Notification]:
        """All of them."""

    def statuses(self) -> dict[str, str]:
        """Of all alerts."""

    def place(self, destination: str) -> Destination | None:
        """A destination as it is known."""


class LedgerStore:
    """The steps that are the same over each ledger."""

    ledger: Ledger

    def __init__(self) -> None:
        self._signals = count()

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        """Start the alert, and open it at once if its notifications are delayed."""
        start = new_alert(project, target, number, now)
        changes, group_id = AlertChanges(starts=[start]), project_id(project)
        alerts_change(changes=changes, group_id=group_id, now=now, ledger=self.ledger)
        alerts = self.ledger.alerts_lock([start.id])
        tracked = [alert for alert in alerts if alert.status == AlertStatus.TRACKING.value]
        alerts_open(alerts=tracked, now=now, ledger=self.ledger)
        return start.id

    def close(self, alert_id: str, now: datetime) -> None:
        """Close the alert."""
        group_id = self.ledger.alerts([alert_id])[alert_id].group_id
        end = AlertEnd(signal=Signal(pk=next(self._signals), created=now), at=now)
        changes = AlertChanges(ends={alert_id: end})
        alerts_change(changes=changes, group_id=group_id, now=now, ledger=self.ledger)

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        """Take in progress."""
        return claim(worker=worker, slots=slots, clock=lambda: now, ledger=self.ledger)

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        """Record."""
        delivery.record(ended, now=now, ledger=self.ledger)

    def release(self, worker: int, now: datetime) -> None:
        """Release what a worker that died has in progress."""
        self.ledger.release_lapsed(now=now, absent={worker})


def project_id(number: int) -> str:
    """The id of a project; its configuration has the same."""
    return f"{number:024x}"


def config_row(project: int, now: datetime) -> AlertConfig:
    """The configuration of a project."""
    return AlertConfig(
        id=project_id(project),
        group_id=project_id(project),
        event_type=EventType.HOST_DOWN.value,
        created=now,
        updated=now,
    )


def setting_rows(settings: Sequence[SimulatedSetting], now: datetime) -> Iterator[NotificationSetting]:
    """The notifications of the configurations; each id is the place in the plan."""
    configs = {setting.project: config_row(setting.project, now) for setting in settings}
    for number, setting in enumerate(settings):
        row = NotificationSetting(id=f"{number:024x}", config=configs[setting.project])
        setting_fill(row, number, setting_document(setting))
        yield row


def setting_document(setting: SimulatedSetting) -> dict[str, object]:
    """The notification as a request has it."""
    document: dict[str, object] = {
        "typeName": "WEBHOOK",
        "webhookUrl": setting.receiver.url,
        "delayMin": setting.delay_min,
    }
    return document if setting.interval_min is None else {**document, "intervalMin": setting.interval_min}


def setting_fill(row: NotificationSetting, place: int, document: Mapping[str, object]) -> None:
    """Set the values of a row, whose URL is a secret."""
    secrets = type_of(filled(row, place, document)).secrets(document)
    row.secrets = encrypt(json.dumps(secrets), owner=row.id)


def new_alert(project: int, target: str, number: int, now: datetime) -> NewAlert:
    """The alert with this number of a target. Its id is the same whenever it opens again."""
    group_id = project_id(project)
    return NewAlert(
        signal=Signal(pk=number, created=now, group_id=group_id),
        config=ConfigView(id=group_id, event_type=EventType.HOST_DOWN),
        target=target,
        facts={"hostname": f"db{target}", "port": 27017},
        at=now,
    )


def next_time(
    rows: Collection[Notification], places: Mapping[str, Destination], hosts: Mapping[str, datetime]
) -> datetime | None:
    """The earliest time at which one of the pending notifications may be claimed, or its lease lapses.

    `hosts` are the next tries at hosts that accept no connections.
    """
    # What waits for another of its destination or subject is looked at again after that.
    busy = {row.destination for row in rows if row.lease_token is not None and row.destination}
    tried = {(row.destination, row.subject): row for row in rows if row.first_attempt}

    def waits_until(row: Notification) -> datetime:
        if row.lease_until is not None:
            return row.lease_until
        place = places.get(row.destination)
        if place is None:
            return row.due
        return max(row.due, place.next_try or row.due, hosts.get(place.host, row.due))

    times = [
        waits_until(row)
        for row in rows
        if row.lease_token is not None
        or (
            row.destination not in busy
            and tried.get((row.destination, row.subject), row).sequence >= row.sequence
        )
    ]
    return min(times, default=None)
