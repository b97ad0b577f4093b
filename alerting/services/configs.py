"""Project alert configurations: made, deleted, enabled, disabled (decisions 5)."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from accesslist.services.locks import project_hold
from alerting.choices import ACTIVE, ConfigNotificationType, NotificationStatus
from alerting.models import Alert, AlertConfig, Notification, NotificationSetting
from alerting.selectors.configs import config_facts, config_rows
from alerting.services.alerts import alerts_cancel
from alerting.services.locks import project_lock
from events.choices import DiffType, SignalKind
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record, signal_record
from events.types import EventType
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, MessageKind, SecretKind
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.encryption import encrypt
from opsapi.ids import new_id

DEFAULT_INTERVAL_MIN = 60


@transaction.atomic
def alert_config_create(
    *, group_id: str, values: Mapping[str, Any], actor: Actor, now: datetime
) -> AlertConfig:
    """Make a configuration from a checked document and hold it against the fleet's newest state.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    project_hold(group_id=group_id)
    config = AlertConfig.objects.create(
        group_id=group_id,
        event_type=values["eventTypeName"],
        enabled=values.get("enabled", True),
        matchers=values.get("matchers", []),
        metric_threshold=values.get("metricThreshold"),
        threshold=values.get("threshold"),
        created=now,
        updated=now,
    )
    NotificationSetting.objects.bulk_create(_settings(config, values["notifications"]))
    facts = config_facts(config_rows(group_id).get(id=config.id))
    _record(config, EventType.ALERT_CONFIG_ADDED_AUDIT, actor, now, new=facts)
    if config.enabled:
        _evaluate(config, now)
    return config


@transaction.atomic
def alert_config_delete(*, config: AlertConfig, actor: Actor, now: datetime) -> None:
    """Delete a configuration; its alerts are cancelled.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND, when it was deleted in the meantime.
    """
    config = _locked(config)
    facts = config_facts(config_rows(config.group_id).get(id=config.id))
    config.deleted = now
    config.enabled = False
    config.save(update_fields=["deleted", "enabled"])
    _record(config, EventType.ALERT_CONFIG_DELETED_AUDIT, actor, now, old=facts)
    alerts_cancel(alerts=_active_alerts(config), actor=actor, now=now)


@transaction.atomic
def alert_config_set_enabled(*, config: AlertConfig, enabled: bool, actor: Actor, now: datetime) -> None:
    """Enable or disable a configuration; disabling cancels its alerts. Nothing happens when it is so.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND, when it was deleted in the meantime.
    """
    config = _locked(config)
    if config.enabled == enabled:
        return
    old = config_facts(config_rows(config.group_id).get(id=config.id))
    config.enabled, config.updated = enabled, now
    config.save(update_fields=["enabled", "updated"])
    new = config_facts(config_rows(config.group_id).get(id=config.id))
    audit = EventType.ALERT_CONFIG_ENABLED_AUDIT if enabled else EventType.ALERT_CONFIG_DISABLED_AUDIT
    _record(config, audit, actor, now, old=old, new=new)
    if enabled:
        _evaluate(config, now)
    else:
        alerts_cancel(alerts=_active_alerts(config), actor=actor, now=now)


def deleted_config_secrets_purge(*, now: datetime) -> int:
    """Remove the secrets of configurations deleted by `now` that nobody is to be told by any more.

    Who was told of their alerts is still told of the end, so secrets stay while an alert is active or
    a message due; what is told once is not sent any more and keeps nothing. Answers how many
    notifications of configurations had theirs removed.
    """
    active = Alert.objects.filter(config_id=OuterRef("config_id"), status__in=ACTIVE)
    due = Notification.objects.filter(
        setting_id=OuterRef("id"), status=NotificationStatus.PENDING.value
    ).exclude(kind=MessageKind.INFORM.value)
    deleted = NotificationSetting.objects.filter(config__deleted__lte=now).exclude(secrets=None)
    return deleted.filter(~Exists(active), ~Exists(due)).update(secrets=None)


def _locked(config: AlertConfig) -> AlertConfig:
    """The configuration as it is once nobody else changes it or evaluates it."""
    project_lock(config.group_id)
    found = AlertConfig.objects.filter(id=config.id, deleted=None).first()
    if found is None:
        raise ApiError(ErrorCode.ALERT_CONFIG_NOT_FOUND, config.id, config.group_id)
    return found


def _active_alerts(config: AlertConfig) -> list[Alert]:
    return list(
        Alert.objects.select_for_update().filter(config_id=config.id, status__in=ACTIVE).order_by("id")
    )


def _evaluate(config: AlertConfig, now: datetime) -> None:
    payload = {"alertConfigId": config.id}
    signal_record(group_id=config.group_id, kind=SignalKind.CONFIG, payload=payload, now=now)


def _record(
    config: AlertConfig,
    event_type: EventType,
    actor: Actor,
    now: datetime,
    *,
    old: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
) -> None:
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        group_id=config.group_id,
        facts=EventFacts(alert_config_id=config.id),
        diffs=diff(DiffType.ALERT_CONFIG, config.id, old=old, new=new),
    )


def _settings(config: AlertConfig, notifications: Sequence[Mapping[str, Any]]) -> list[NotificationSetting]:
    return [_setting(config, place, one) for place, one in enumerate(notifications)]


def _setting(config: AlertConfig, position: int, values: Mapping[str, Any]) -> NotificationSetting:
    """A row from a checked notification: secrets sealed, and redacted among the fields shown."""
    channel = CHANNELS[ChannelType(values["typeName"])]
    shown: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    for field in channel.fields:
        value = values.get(field.notification_name)
        if value is None:
            continue
        shown[field.notification_name] = field.redact(value)
        if field.secret is not SecretKind.PLAIN:
            secrets[field.name] = value
    if values["typeName"] == ConfigNotificationType.EMAIL and "emailEnabled" in values:
        shown["emailEnabled"] = values["emailEnabled"]
    default = None if channel.keeps_state else DEFAULT_INTERVAL_MIN
    setting_id = new_id()
    return NotificationSetting(
        id=setting_id,
        config=config,
        position=position,
        type_name=values["typeName"],
        delay_min=values["delayMin"],
        interval_min=values.get("intervalMin", default),
        fields=shown,
        secrets=encrypt(json.dumps(secrets), owner=setting_id) if secrets else None,
    )
