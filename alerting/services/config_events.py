"""The events that record writes to alert configurations."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from alerting.models import AlertConfig
from alerting.selectors.notification_settings import config_secrets
from alerting.serializers.configs import config_facts
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from integrations.redaction import Secrets, replaced_alike
from opsapi.api.principal import Actor

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


def config_record(
    config: AlertConfig, event_type: EventType, actor: Actor, now: datetime, **sides: Facts
) -> None:
    """Record one write, with what changed."""
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        group_id=config.group_id,
        facts=EventFacts(alert_config_id=config.id),
        diffs=diff(DiffType.ALERT_CONFIG, config.id, **sides),
    )


def config_change_record(config: AlertConfig, actor: Actor, now: datetime, *, old: Facts, new: Facts) -> None:
    """Record a change: enabling or disabling as an event of its own, everything else as another."""
    switched = {**old, "enabled": new["enabled"]}
    if switched != old:
        audit = _SWITCHED[config.enabled]
        config_record(config, audit, actor, now, old=old, new=switched)
    if diff(DiffType.ALERT_CONFIG, config.id, old=switched, new=new):
        config_record(config, EventType.ALERT_CONFIG_CHANGED_AUDIT, actor, now, old=switched, new=new)


_SWITCHED = {True: EventType.ALERT_CONFIG_ENABLED_AUDIT, False: EventType.ALERT_CONFIG_DISABLED_AUDIT}
