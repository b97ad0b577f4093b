"""The platform in memory: the real alerts, claims, decisions and outcomes over a ledger without SQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from alerting.configs.matchers import MatchSubject
from alerting.engine import delivery
from alerting.engine.memory import MemoryLedger
from alerting.engine.muting import Muting
from alerting.engine.rules import Mute
from alerting.engine.schedule import schedule_acknowledged
from alerting.incidents.store import incident_views
from alerting.models import Destination, MaintenanceWindow, Notification
from alerting.windows.rules import WindowRule, active_rules, muting_rule
from tests.simulation.plans import Receiver, SimulatedSetting
from tests.simulation.stores import (
    LedgerStore,
    next_time,
    project_id,
    setting_document,
    setting_fill,
    setting_rows,
)


class MemoryStore(LedgerStore):
    """A store over the ledger in memory; `tests.simulation.stores.Store` says what its steps do."""

    def __init__(self, ledger: MemoryLedger | None = None) -> None:
        super().__init__()
        self.ledger: MemoryLedger = ledger or MemoryLedger()
        self._settings: Sequence[SimulatedSetting] = ()
        self._windows: dict[str, list[WindowRule]] = {}

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        self._settings = settings
        self.ledger.settings = {row.id: row for row in setting_rows(settings, now)}

    def acknowledge(self, alert_id: str, until: datetime, now: datetime) -> None:
        alert = self.ledger.stored_alerts[alert_id]
        alert.acknowledged_until = until if until > now else None
        messages = self.ledger.of_alert[alert_id]
        members, _ = self.ledger.members_lock(messages, wait=0)
        for incident in incident_views(messages, members, self.ledger.incidents).values():
            schedule_acknowledged(incident=incident, now=now, ledger=self.ledger)

    def window(self, project: int, number: int, columns: Mapping[str, Any], now: datetime) -> None:
        row = MaintenanceWindow(id=str(number), **columns)
        self._windows.setdefault(project_id(project), []).append(row.rule)

    def window_gone(self, project: int, number: int, now: datetime) -> None:
        group, gone = project_id(project), str(number)
        self._windows[group] = [window for window in self._windows.get(group, ()) if window.id != gone]
        self.ledger.unmute(group, gone, now=now)

    def redirect(self, setting: int, receiver: Receiver, now: datetime) -> None:
        document = {**setting_document(self._settings[setting]), "webhookUrl": receiver.url}
        setting_fill(list(self.ledger.settings.values())[setting], setting, document)

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        mutes = {row.id: mute for row in claims if (mute := self._mute(row, now))}
        return list(delivery.decide(claims, now=now, muting=Muting(mutes), ledger=self.ledger))

    def _mute(self, notification: Notification, now: datetime) -> Mute | None:
        """Return the window that mutes a message; None if none does. Each incident has a single alert."""
        windows = self._windows.get(notification.group_id or "")
        if not windows:
            return None
        alert = self.ledger.stored_alerts[notification.alert_id or ""]
        active = muting_rule(active_rules(windows, now), MatchSubject(hostname=alert.facts["hostname"]))
        return Mute(active.rule.id, active.until) if active else None

    def holds(self, notification: Notification) -> bool:
        return self.ledger.holds(notification)

    def next_time(self) -> datetime | None:
        hosts = {host: down.next_try for host, down in self.ledger.down.items()}
        return next_time(self.ledger.pending.values(), self.ledger.places, hosts)

    def notifications(self) -> list[Notification]:
        return list(self.ledger.rows.values())

    def statuses(self) -> dict[str, str]:
        return {alert.id: alert.status for alert in self.ledger.stored_alerts.values()}

    def place(self, destination: str) -> Destination | None:
        return self.ledger.places.get(destination)

    def backup(self) -> "MemoryStore":
        """Return a copy of the store, which later steps do not change."""
        kept = MemoryStore(self.ledger.backup())
        kept._settings = self._settings
        kept._windows = {name: list(windows) for name, windows in self._windows.items()}
        return kept
