"""Creates, changes and deletes alert configurations of projects and global ones.

The writes of a project's configurations run one at a time, and so do writes of global configurations: see
`locks`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from accesslist.changes import RecordedChange, Tracked, changing
from accesslist.locks import scope_lock_shared
from accesslist.models import Project
from accesslist.throttles import hit
from alerting.configs.choices import GROUP_WAIT_SEC, Grouping, PeopleType
from alerting.configs.coverage import columns_differ, config_alerts_cancel, config_evaluate, coverage_follow
from alerting.configs.locks import configs_lock
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notification_settings import settings_create, settings_replace
from alerting.configs.resource import config_facts
from alerting.configs.store import config_found, config_secrets, covered_projects
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.postgresql import POSTGRESQL
from alerting.incidents.changes import alerts_delay
from alerting.incidents.choices import ACTIVE
from alerting.incidents.grouping import incidents_ungroup
from alerting.incidents.models import Alert, Incident
from events.choices import DiffType
from events.facts import EventFacts
from events.types import EVENT_TYPES, EventType, Needs, severity_of
from integrations.choices import MessageKind
from integrations.redaction import Secrets, replaced_alike
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.api.principal import Actor
from opsapi.batches import delete_batch
from opsapi.roles import Scope

Facts = Mapping[str, Any]
ConfigSecrets = Mapping[str, Secrets]


def replaced_facts(config: AlertConfig, old: Facts, old_secrets: ConfigSecrets) -> Facts:
    """Like `config_facts`, with a mark at changed secrets that look the same.

    `old` and `old_secrets` are the previous values; secrets that are not in `old_secrets` are ignored.
    """
    new = config_facts(config)
    if not old_secrets:
        return new
    secrets = config_secrets(config)
    were = {setting["id"]: setting for setting in old["notifications"]}
    notifications = [
        {
            **setting,
            **replaced_alike(
                were[setting["id"]], setting, old_secrets[setting["id"]], secrets[setting["id"]]
            ),
        }
        if setting["id"] in were
        else setting
        for setting in new["notifications"]
    ]
    return {**new, "notifications": notifications}


def _locked(here: Scope, config_id: str) -> AlertConfig:
    """The configuration, while the locks of `CONFIG` are held, which evaluation takes too."""
    stored = AlertConfig.objects.filter(id=config_id, deleted=None).first()
    return config_found(stored, config_id, here.group_id)


CONFIG = Tracked(
    diff_type=DiffType.ALERT_CONFIG,
    stored=config_facts,
    added=EventType.ALERT_CONFIG_ADDED_AUDIT,
    changed=EventType.ALERT_CONFIG_CHANGED_AUDIT,
    deleted=EventType.ALERT_CONFIG_DELETED_AUDIT,
    # The deletion of the project takes the first lock first: it finds an added configuration, or is over.
    locks=(configs_lock,),
    adding=(scope_lock_shared,),
    find=_locked,
    facts=lambda config: EventFacts(alert_config_id=config.id),
)
_SWITCHED = {True: EventType.ALERT_CONFIG_ENABLED_AUDIT, False: EventType.ALERT_CONFIG_DISABLED_AUDIT}


Values = Mapping[str, Any]
Read = Callable[[AlertConfig], Values]
"""Validates the request against the stored configuration, which is locked meanwhile."""

_LEFT_OUT: Values = {
    "name": "",
    "severity": None,
    "description": "",
    "runbook_url": "",
    "group_ids": [],
    "matchers": [],
    "metric_threshold": None,
    "threshold": None,
    "tags": [],
    "grouping": Grouping.NONE.value,
    "group_wait_sec": GROUP_WAIT_SEC,
}
"""The values of fields that a whole document leaves out; `enabled` stays unchanged."""


def alert_config_create(*, group_id: str | None, values: Values, actor: Actor, now: datetime) -> AlertConfig:
    """Create a configuration from a validated document, and evaluate it.

    Without a project it is a global configuration.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime; LIMIT_REACHED, when it has
            OPSAPI_MAX_ALERT_CONFIGS already; INVALID_ATTRIBUTE, when `groupIds` names no project there is.
    """
    with _changing(group_id, actor, now) as change:
        if group_id is not None:
            _check_room(group_id)
        config = _add(change, values)
        if config.enabled:
            config_evaluate(config=config, projects=covered_projects(config), now=now)
        return config


def alert_config_replace(*, config: AlertConfig, read: Read, actor: Actor, now: datetime) -> None:
    """Replace a configuration by a whole document; an identical document changes nothing.

    Raises:
        ApiError: the errors of `read`; INVALID_ATTRIBUTE, when other `groupIds` name no project there is;
            ALERT_CONFIG_NOT_FOUND or GLOBAL_ALERT_CONFIG_NOT_FOUND, when it was deleted in the meantime.
    """
    with _changing(config.group_id, actor, now, config.id) as change:
        _change(change, {**_LEFT_OUT, **read(change.row)})


def alert_config_update(*, config: AlertConfig, read: Read, actor: Actor, now: datetime) -> None:
    """Change the fields that a document names; identical values change nothing.

    Raises:
        ApiError: as `alert_config_replace`.
    """
    with _changing(config.group_id, actor, now, config.id) as change:
        _change(change, read(change.row))


def alert_config_set_enabled(*, config: AlertConfig, enabled: bool, actor: Actor, now: datetime) -> None:
    """Enable or disable a configuration; disabling cancels its alerts.

    Raises:
        ApiError: as `alert_config_delete`.
    """
    alert_config_update(config=config, read=lambda _: {"enabled": enabled}, actor=actor, now=now)


def alert_config_delete(*, config: AlertConfig, actor: Actor, now: datetime) -> None:
    """Delete a configuration and cancel its alerts.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND or GLOBAL_ALERT_CONFIG_NOT_FOUND, when it was deleted in the
            meantime.
    """
    with _changing(config.group_id, actor, now, config.id) as change:
        config = change.row
        config.deleted = now
        config.enabled = False
        config.save(update_fields=["deleted", "enabled"])
        change.record_deleted()
        config_alerts_cancel(config=config, actor=actor, now=now)


def _changing(
    group_id: str | None, actor: Actor, now: datetime, config_id: str | None = None
) -> AbstractContextManager[RecordedChange[AlertConfig]]:
    return changing(CONFIG, actor, now, here=Scope(group_id=group_id), row_id=config_id)


def _add(change: RecordedChange[AlertConfig], values: Values) -> AlertConfig:
    """Create a configuration without evaluating it."""
    config = AlertConfig(group_id=change.here.group_id, created=change.now, updated=change.now)
    _assign(config, values)
    config.save(force_insert=True)
    settings_create(config=config, notifications=values["notifications"])
    return change.record_added(config)


def deleted_config_secrets_purge(*, now: datetime) -> bool:
    """Remove secrets of configurations deleted by `now` that no notification needs. Return whether any.

    Secrets stay while an alert is active, an incident has not ended or a notification is pending, because
    notified receivers get the end. One-shot notifications are not sent after the deletion, and keep no
    secrets.
    """
    active = Alert.objects.filter(config_id=OuterRef("config_id"), status__in=ACTIVE)
    due = Notification.objects.filter(
        setting_id=OuterRef("id"), status=NotificationStatus.PENDING.value
    ).exclude(kind=MessageKind.INFORM.value)
    lasting = Incident.objects.filter(config_id=OuterRef("config_id"), ended=None)
    deleted = NotificationSetting.objects.filter(config__deleted__lte=now).exclude(secrets=None)
    return deleted.filter(~Exists(active), ~Exists(lasting), ~Exists(due)).update(secrets=None) > 0


DELETED_KEPT = timedelta(days=30)
"""How long a deleted configuration is kept at least."""
PURGE_EVERY = timedelta(minutes=10)
PURGED_AT_ONCE = 1_000


def deleted_configs_purge(*, now: datetime) -> bool:
    """Delete a batch of the configurations that were deleted DELETED_KEPT ago and that nothing refers to.

    Alerts refer to their configuration, and one-shot notifications to its settings: they show who may read
    them. The search looks at all deleted configurations, so one worker does it once in PURGE_EVERY. Return
    whether there were any.
    """
    if hit("deleted configurations", limit=1, window=PURGE_EVERY, now=now).wait is not None:
        return False
    alerts = Alert.objects.filter(config_id=OuterRef("id"))
    one_shots = Notification.objects.filter(setting_id=OuterRef("id"), event_id__isnull=False)
    needed = NotificationSetting.with_removed.filter(Exists(one_shots), config_id=OuterRef("id"))
    old = AlertConfig.objects.filter(~Exists(alerts), ~Exists(needed), deleted__lt=now - DELETED_KEPT)
    return delete_batch(old, PURGED_AT_ONCE, first=("deleted",)) > 0


def _change(change: RecordedChange[AlertConfig], values: Values) -> None:
    before, config, old, now = change.row, copy(change.row), change.old, change.now
    secrets = config_secrets(config) if "notifications" in values else {}
    _assign(config, values)
    notifications_changed = "notifications" in values and settings_replace(
        config=config, notifications=values["notifications"]
    )
    named = values.keys() - {"notifications"}
    if not columns_differ(config, before, named) and not notifications_changed:
        return
    config.updated, change.row = now, config
    config.save()
    new = replaced_facts(config, old, secrets)
    # Enabling or disabling is a separate event.
    change.record_changed(new={**old, "enabled": new["enabled"]}, event_type=_SWITCHED[config.enabled])
    change.record_changed(new=new)
    coverage_follow(config=config, before=before, actor=change.actor, now=now)
    if notifications_changed:
        delays = (setting.delay for setting in config.settings.all())
        alerts_delay(config_id=config.id, delay=min(delays, default=timedelta()))
    if before.grouping != config.grouping == Grouping.NONE.value:
        incidents_ungroup(config=config, now=now, ledger=POSTGRESQL)


def _assign(config: AlertConfig, values: Values) -> None:
    """Set the values; a threshold stays only if the event type needs it.

    Without a severity it gets the severity of its event type, and keeps it if its event type changes.
    """
    severity = None if config._state.adding else config.effective_severity.value
    if "group_ids" in values and values["group_ids"] != config.group_ids:
        _check_projects(values["group_ids"])
    for column in values.keys() - {"notifications"}:
        setattr(config, column, values[column])
    config.severity = severity_of(values.get("severity", severity), config.event_type).value
    needs = EVENT_TYPES[EventType(config.event_type)].needs
    if needs is not Needs.METRIC_THRESHOLD:
        config.metric_threshold = None
    if needs is not Needs.THRESHOLD:
        config.threshold = None
    if config.grouping == Grouping.NONE.value:
        config.group_wait_sec = GROUP_WAIT_SEC


def _check_room(group_id: str) -> None:
    """Refuse a configuration beyond the maximum of a project; the caller holds the project's lock."""
    most = settings.OPSAPI_MAX_ALERT_CONFIGS
    if AlertConfig.objects.filter(group_id=group_id, deleted=None).count() >= most:
        note = "The setting is OPSAPI_MAX_ALERT_CONFIGS."
        raise ApiError(ErrorCode.LIMIT_REACHED, "alert configurations", str(most), note=note)


def _check_projects(group_ids: Sequence[str]) -> None:
    """Refuse ids if none of them is a project. Unknown ids next to a known id match nothing."""
    if not group_ids or Project.objects.filter(id__in=group_ids).exists():
        return
    unknown = [
        BadField(f"groupIds[{place}]", ErrorCode.INVALID_ATTRIBUTE, "is not the ID of a project")
        for place in range(len(group_ids))
    ]
    raise ApiError.of_fields(unknown)


DEFAULT_TYPES = (
    EventType.JOINED_GROUP,
    EventType.HOST_SSL_CERTIFICATE_STALE,
    EventType.MONITORING_AGENT_DOWN,
)
GROUP_BY_MAIL: Mapping[str, Any] = {
    "typeName": PeopleType.GROUP.value,
    "emailEnabled": True,
    "smsEnabled": False,
    "delayMin": 0,
}
"""The notification of all members of the project by e-mail, at once."""


@transaction.atomic
def default_configs_create(*, project: Project, actor: Actor, now: datetime, **_: Any) -> None:
    """Create the configurations of a new project, which nobody else sees: without locks and evaluation."""
    change = RecordedChange(of=CONFIG, actor=actor, now=now, here=Scope(group_id=project.id))
    for event_type in DEFAULT_TYPES:
        values = {"event_type": event_type.value, "notifications": [GROUP_BY_MAIL]}
        _add(change, values)
