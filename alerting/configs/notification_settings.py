"""The notification settings of a configuration: created, replaced and removed with it.

A removed setting keeps its row, hidden: receivers that it notified of an alert are still notified of the
alert's end.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.store import filled, setting_secrets, type_of
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.schedule import notifications_drop
from alerting.incidents.choices import ACTIVE
from alerting.incidents.models import Alert, Incident
from alerting.reasons import NotificationReason
from integrations.choices import ENDS
from opsapi.batches import ROWS_AT_ONCE, delete_batch
from opsapi.encryption import encrypt

Values = Mapping[str, Any]
"""A validated setting: its fields by their wire names."""

_COLUMNS = ("position", "type_name", "delay_min", "interval_min", "min_severity", "fields", "secrets")
_COMMON = frozenset({"id", "typeName", "delayMin", "intervalMin", "minSeverity"})


@transaction.atomic
def settings_create(*, config: AlertConfig, notifications: Sequence[Values]) -> None:
    """Create the settings of a new configuration, in their order."""
    created = [
        _filled(NotificationSetting(config=config), place, values)
        for place, values in enumerate(notifications)
    ]
    NotificationSetting.objects.bulk_create(created)


@transaction.atomic
def settings_replace(*, config: AlertConfig, notifications: Sequence[Values]) -> bool:
    """Replace the settings of a configuration, in their order. Return whether anything changed.

    A setting with the `id` of a stored setting replaces it. A setting without `id` that equals a stored
    setting is this setting. All others are new. Stored settings that are not named are removed. The caller
    holds the configuration's lock.
    """
    stored = list(config.settings.order_by("position"))
    kept = _matched(stored, notifications)
    changed = [_write(config, row, place, kept[place]) for place, row in enumerate(notifications)]
    gone = [setting.id for setting in stored if setting not in kept]
    if gone:
        _take_out(gone)
    return any(changed) or bool(gone)


def setting_built(*, config: AlertConfig, values: Values) -> NotificationSetting:
    """A setting that is not stored, for a test."""
    return _filled(NotificationSetting(config=config), 0, values)


def removed_settings_purge() -> bool:
    """Delete a batch of removed settings that no notification needs; return whether there were any."""
    active = Alert.objects.filter(config_id=OuterRef("config_id"), status__in=ACTIVE)
    lasting = Incident.objects.filter(config_id=OuterRef("config_id"), ended=None)
    due = Notification.objects.filter(setting_id=OuterRef("id"), status=NotificationStatus.PENDING.value)
    unneeded = ~Exists(active) & ~Exists(lasting) & ~Exists(due)
    removed = NotificationSetting.with_removed.filter(unneeded, removed=True)
    return delete_batch(removed, ROWS_AT_ONCE) > 0


def _matched(
    stored: Sequence[NotificationSetting], notifications: Sequence[Values]
) -> list[NotificationSetting | None]:
    """Return the stored setting of each new value; None for a new setting."""
    by_id = {setting.id: setting for setting in stored}
    rows = [by_id.get(notification.get("id", "")) for notification in notifications]
    free = {setting.id: _says(setting) for setting in stored if setting not in rows}
    for place, values in enumerate(notifications):
        if rows[place] is None:
            asked = _asked(values)
            same = next((setting_id for setting_id, says in free.items() if says == asked), None)
            if same is not None:
                rows[place] = by_id[same]
                del free[same]
    return rows


def _write(config: AlertConfig, values: Values, place: int, row: NotificationSetting | None) -> bool:
    """Write one setting, to its row if it has one. Return whether that changed anything."""
    if row is None:
        _filled(NotificationSetting(config=config), place, values).save(force_insert=True)
        return True
    if row.position == place and _says(row) == _asked(values):
        return False
    _filled(row, place, values).save(update_fields=_COLUMNS)
    return True


def _filled(row: NotificationSetting, place: int, values: Values) -> NotificationSetting:
    """Set the values of the row: secrets encrypted, and redacted in `fields`."""
    secrets = type_of(filled(row, place, values)).secrets(values)
    row.secrets = encrypt(json.dumps(secrets), owner=row.id) if secrets else None
    return row


def _says(row: NotificationSetting) -> Values:
    """The values of a stored setting in full, without its id; a secret is None if it cannot be decrypted."""
    common = {
        "typeName": row.type_name,
        "delayMin": row.delay_min,
        "intervalMin": row.interval_min,
        "minSeverity": row.min_severity,
    }
    return {**common, **row.fields, **setting_secrets(row)}


def _asked(values: Values) -> Values:
    """The values of a validated setting, without its id."""
    kind = NOTIFICATION_TYPES[values["typeName"]]
    interval = values.get("intervalMin", kind.default_interval_min)
    common = {
        "typeName": kind.type,
        "delayMin": values["delayMin"],
        "intervalMin": interval,
        "minSeverity": values.get("minSeverity"),
    }
    return {**common, **{name: value for name, value in values.items() if name not in _COMMON}}


def _take_out(ids: Sequence[str]) -> None:
    """Remove settings from their configuration, and drop their notifications, except ends.

    Notifications that are being sent stay: delivery sees that their setting is removed.
    """
    NotificationSetting.objects.filter(id__in=ids).update(removed=True)
    rest = Notification.objects.filter(setting_id__in=ids).exclude(kind__in=ENDS)
    notifications_drop(rows=rest, reason=NotificationReason.NOTIFICATION_REMOVED)
