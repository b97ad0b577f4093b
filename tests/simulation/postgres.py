"""The real tables: real services, the real worker's claim, decide and record, and PostgreSQL.

Only the seam to the outside is replaced, as for the store in memory.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from alerting.configs.changes import alert_config_update
from alerting.engine import delivery
from alerting.engine.choices import NotificationStatus
from alerting.engine.claims import claim
from alerting.engine.leases import lapsed_leases_release
from alerting.incidents.changes import AlertChanges, AlertEnd, alert_acknowledge, alerts_change, alerts_open
from alerting.models import (
    Alert,
    AlertConfig,
    Destination,
    MaintenanceWindow,
    Notification,
    NotificationSetting,
    UnreachableHost,
)
from alerting.windows.changes import window_create, window_delete
from events.models import Signal
from events.types import EVENT_TYPES, EventType
from integrations.channels.outcome import Outcome
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.simulation.plans import Receiver, SimulatedSetting
from tests.simulation.stores import (
    config_row,
    new_alert,
    next_time,
    project_id,
    setting_document,
    setting_rows,
)

_CATEGORY = EVENT_TYPES[EventType.HOST_DOWN].category.value


class PostgresStore:
    """As `tests.simulation.stores.Store` says."""

    def __init__(self) -> None:
        self._configs: dict[int, AlertConfig] = {}
        self._settings: Sequence[SimulatedSetting] = ()
        self._windows: dict[tuple[int, int], MaintenanceWindow] = {}
        self._signals = count()

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        self._settings = settings
        for number in sorted({setting.project for setting in settings}):
            ProjectFactory.create(id=project_id(number))
            self._configs[number] = config_row(number, now)
        AlertConfig.objects.bulk_create(self._configs.values())
        NotificationSetting.objects.bulk_create(setting_rows(settings, now))

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        start, group = new_alert(project, target, number, now), project_id(project)
        alerts_change(changes=AlertChanges(starts=[start]), group_id=group, now=now)
        alerts_open(alerts=list(Alert.objects.filter(id=start.id, status="TRACKING")), now=now)
        return start.id

    def close(self, alert_id: str, now: datetime) -> None:
        group = Alert.objects.get(id=alert_id).group_id
        end = AlertEnd(signal=Signal(pk=next(self._signals), created=now), at=now)
        alerts_change(changes=AlertChanges(ends={alert_id: end}), group_id=group, now=now)

    def acknowledge(self, alert_id: str, until: datetime, now: datetime) -> None:
        group = Alert.objects.get(id=alert_id).group_id
        alert_acknowledge(alert_id=alert_id, group_id=group, until=until, comment=None, actor=SYSTEM, now=now)

    def window(self, project: int, number: int, columns: Mapping[str, Any], now: datetime) -> None:
        values = {**columns, "alert_types": [_CATEGORY]}
        group = project_id(project)
        made = window_create(group_id=group, values=values, actor=SYSTEM, now=now)
        self._windows[project, number] = made

    def window_gone(self, project: int, number: int, now: datetime) -> None:
        window = self._windows[project, number]
        window_delete(group_id=window.group_id, window_id=window.id, actor=SYSTEM, now=now)

    def redirect(self, setting: int, receiver: Receiver, now: datetime) -> None:
        project = self._settings[setting].project
        config = self._configs[project]
        same = [setting for setting in self._settings if setting.project == project]
        documents = [
            {**setting_document(setting), "id": kept.id}
            for setting, kept in zip(same, config.settings.order_by("position"), strict=True)
        ]
        documents[same.index(self._settings[setting])]["webhookUrl"] = receiver.url
        alert_config_update(config=config, read=lambda _: {"notifications": documents}, actor=SYSTEM, now=now)

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        return claim(worker=worker, slots=slots, clock=lambda: now)

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        return list(delivery.decide(claims, now=now))

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        delivery.record(ended, now=now)

    def holds(self, notification: Notification) -> bool:
        return Notification.objects.filter(id=notification.id, lease_token=notification.lease_token).exists()

    def release(self, worker: int, now: datetime) -> None:
        lapsed_leases_release(now=now, absent={worker})

    def next_time(self) -> datetime | None:
        pending = Notification.objects.filter(status=NotificationStatus.PENDING.value)
        places = {place.id: place for place in Destination.objects.all()}
        hosts = {host.host: host.next_try for host in UnreachableHost.objects.all()}
        return next_time(list(pending.order_by("sequence", "id")), places, hosts)

    def notifications(self) -> list[Notification]:
        return list(Notification.objects.order_by("sequence", "id"))

    def statuses(self) -> dict[str, str]:
        return dict(Alert.objects.values_list("id", "status"))

    def place(self, destination: str) -> Destination | None:
        return Destination.objects.filter(id=destination).first()
