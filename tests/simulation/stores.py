"""The steps of a run of the platform, whether its rows are in memory or in PostgreSQL."""

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
    """The rows of the platform, and the steps that change them. Each call is a transaction."""

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        """Store projects, each with a configuration that has its notification settings."""

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        """Start the alert with this number of a host that is down, and return its id."""

    def close(self, alert_id: str, now: datetime) -> None:
        """Close the alert about a host that is up again."""

    def acknowledge(self, alert_id: str, until: datetime, now: datetime) -> None:
        """Acknowledge an alert until a time; a time that is over removes the acknowledgement."""

    def window(self, project: int, number: int, columns: Mapping[str, Any], now: datetime) -> None:
        """Create the maintenance window with this number. `columns`: when it mutes which hosts."""

    def window_gone(self, project: int, number: int, now: datetime) -> None:
        """Delete the maintenance window with this number."""

    def redirect(self, setting: int, receiver: Receiver, now: datetime) -> None:
        """Let the notification setting with this place in the plan name another receiver."""

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        """Lease due notifications to a worker that sends up to `slots` at a time, and return them."""

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        """Decide what happens with leased notifications, and return the attempts to send their messages."""

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        """Write the outcomes of attempts that have ended."""

    def holds(self, notification: Notification) -> bool:
        """Whether the lease that this copy of a notification has is still valid."""

    def release(self, worker: int, now: datetime) -> None:
        """Release the leases of a worker that has died."""

    def next_time(self) -> datetime | None:
        """When a pending notification may be claimed, or a lease lapses; None if nothing is pending."""

    def notifications(self) -> list[Notification]:
        """Return all notifications."""

    def statuses(self) -> dict[str, str]:
        """Return the status of each alert, by id."""

    def place(self, destination: str) -> Destination | None:
        """Return a destination with its health; None if it is not stored."""


class LedgerStore:
    """The steps of a store that are the same over each ledger."""

    ledger: Ledger

    def __init__(self) -> None:
        self._signals = count()

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        """Start an alert, and open it at once even if its notifications are delayed."""
        start = new_alert(project, target, number, now)
        changes, group_id = AlertChanges(starts=[start]), project_id(project)
        alerts_change(changes=changes, group_id=group_id, now=now, ledger=self.ledger)
        alerts = self.ledger.alerts_lock([start.id])
        tracked = [alert for alert in alerts if alert.status == AlertStatus.TRACKING.value]
        alerts_open(alerts=tracked, now=now, ledger=self.ledger)
        return start.id

    def close(self, alert_id: str, now: datetime) -> None:
        group_id = self.ledger.alerts([alert_id])[alert_id].group_id
        end = AlertEnd(signal=Signal(pk=next(self._signals), created=now), at=now)
        changes = AlertChanges(ends={alert_id: end})
        alerts_change(changes=changes, group_id=group_id, now=now, ledger=self.ledger)

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        return claim(worker=worker, slots=slots, clock=lambda: now, ledger=self.ledger)

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        delivery.record(ended, now=now, ledger=self.ledger)

    def release(self, worker: int, now: datetime) -> None:
        self.ledger.release_lapsed(now=now, absent={worker})


def project_id(number: int) -> str:
    """The id of a project, and of its configuration."""
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
    """The notification settings of the configurations; each id is the place in the plan."""
    configs = {setting.project: config_row(setting.project, now) for setting in settings}
    for number, setting in enumerate(settings):
        row = NotificationSetting(id=f"{number:024x}", config=configs[setting.project])
        setting_fill(row, number, setting_document(setting))
        yield row


def setting_document(setting: SimulatedSetting) -> dict[str, object]:
    """A notification setting as a request has it."""
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
    """The earliest time at which a pending notification may be claimed, or its lease lapses.

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
