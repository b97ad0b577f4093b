"""The real tables: real services, the real worker's claim, decide and record, and PostgreSQL.

Only the seam to the outside is replaced, as for the store in memory.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from alerting.configs.changes import alert_config_update
from alerting.engine import delivery
from alerting.engine.choices import NotificationStatus
from alerting.engine.postgresql import POSTGRESQL
from alerting.incidents.changes import alert_acknowledge
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
from events.types import EVENT_TYPES, EventType
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.simulation.plans import Receiver, SimulatedSetting
from tests.simulation.stores import (
    LedgerStore,
    config_row,
    next_time,
    project_id,
    setting_document,
    setting_rows,
)

_OF_TIME = ("due", "sequence", "destination", "subject", "first_attempt", "lease_token", "lease_until")
"""The columns that `next_time` reads. It is called after each step that finds nothing to do."""
_CATEGORY = EVENT_TYPES[EventType.HOST_DOWN].category.value


class PostgresStore(LedgerStore):
    """A store over the ledger in PostgreSQL; `tests.simulation.stores.Store` says what its steps do."""

    ledger = POSTGRESQL

    def __init__(self) -> None:
        super().__init__()
        self._configs: dict[int, AlertConfig] = {}
        self._settings: Sequence[SimulatedSetting] = ()
        self._windows: dict[tuple[int, int], MaintenanceWindow] = {}

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        self._settings = settings
        for number in sorted({setting.project for setting in settings}):
            ProjectFactory.create(id=project_id(number))
            self._configs[number] = config_row(number, now)
        AlertConfig.objects.bulk_create(self._configs.values())
        NotificationSetting.objects.bulk_create(setting_rows(settings, now))

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

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        return list(delivery.decide(claims, now=now))

    def holds(self, notification: Notification) -> bool:
        return Notification.objects.filter(id=notification.id, lease_token=notification.lease_token).exists()

    def next_time(self) -> datetime | None:
        pending = Notification.objects.filter(status=NotificationStatus.PENDING.value)
        rows = list(pending.only(*_OF_TIME).order_by("sequence", "id"))
        if not rows:
            return None
        places = {place.id: place for place in Destination.objects.only("next_try", "host")}
        hosts = dict(UnreachableHost.objects.values_list("host", "next_try"))
        return next_time(rows, places, hosts)

    def notifications(self) -> list[Notification]:
        return list(Notification.objects.order_by("sequence", "id"))

    def statuses(self) -> dict[str, str]:
        return dict(Alert.objects.values_list("id", "status"))

    def place(self, destination: str) -> Destination | None:
        return Destination.objects.filter(id=destination).first()
