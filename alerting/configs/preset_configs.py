"""Reads and creates the configurations of presets in a project."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accesslist.changes import acting
from accesslist.locks import scope_lock_shared
from alerting.configs.changes import GROUP_BY_MAIL, alert_config_create, alert_config_update
from alerting.configs.locks import configs_lock
from alerting.configs.models import AlertConfig
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.presets import Preset
from alerting.configs.store import config_view, configs_of, setting_document
from opsapi.api.principal import Actor
from opsapi.roles import Scope
from opsapi.wire_json import without_nulls

Values = Mapping[str, Any]


def configs_of_presets(group_id: str) -> Mapping[Preset, AlertConfig]:
    """The project's configuration of each preset that it has, the oldest; disabled ones count."""
    types = {preset.spec.event_type.value for preset in Preset}
    views = [(config, config_view(config)) for config in configs_of(group_id).filter(event_type__in=types)]
    by_preset = ((preset, [config for config, view in views if preset.spec.is_of(view)]) for preset in Preset)
    return {preset: same[0] for preset, same in by_preset if same}


@dataclass(frozen=True, slots=True)
class AddedPresets:
    """The created configurations, and the configurations that the project had already.

    `extended`: presets whose existing configuration now has the notification too.
    """

    created: Sequence[AlertConfig]
    existing: Mapping[Preset, AlertConfig]
    extended: Collection[Preset] = ()


def presets_create(
    *,
    group_id: str,
    presets: Collection[Preset],
    notification: Values = GROUP_BY_MAIL,
    extends: bool = False,
    actor: Actor,
    now: datetime,
) -> AddedPresets:
    """Create a configuration of each preset that the project does not have: all of them, or none.

    Each has the `notification`, a validated setting, with the delay of the preset; by default it notifies the
    project by e-mail, like the default configurations. With `extends`, existing configurations get the
    notification too, unless they have it. A repeated call changes nothing, because no other write of the
    project's configurations comes in between.

    Raises:
        ApiError: as `alert_config_create`.
    """
    with acting(actor, now, here=Scope(group_id=group_id), locks=(configs_lock, scope_lock_shared)):
        there = configs_of_presets(group_id)
        wanted = [preset for preset in Preset if preset in presets]
        created = [
            alert_config_create(group_id=group_id, values=_values(preset, notification), actor=actor, now=now)
            for preset in wanted
            if preset not in there
        ]
        existing = {preset: there[preset] for preset in wanted if preset in there}
        extended = [
            preset
            for preset, config in existing.items()
            if extends and _extend(config, _delayed(preset, notification), actor, now)
        ]
        return AddedPresets(created, existing, extended)


def _extend(config: AlertConfig, notification: Values, actor: Actor, now: datetime) -> bool:
    """Add the notification to the configuration, unless it has it; return whether it was added."""
    stored = [setting_document(setting) for setting in config.settings.order_by("position")]
    if any(_is_same_receiver(notification, other) for other in stored):
        return False
    extended = {"notifications": [*stored, notification]}
    alert_config_update(config=config, read=lambda _: extended, actor=actor, now=now)
    return True


def _is_same_receiver(notification: Values, other: Values) -> bool:
    """Whether both have the same type and fields, whatever their times and minimum severity.

    Of some types there is only one.
    """
    if notification["typeName"] != other["typeName"]:
        return False
    own = {"id", "delayMin", "intervalMin", "minSeverity"}
    same = all(notification.get(name) == other.get(name) for name in {*notification, *other} - own)
    return same or NOTIFICATION_TYPES[notification["typeName"]].most == 1


def _values(preset: Preset, notification: Values) -> Values:
    spec = preset.spec
    thresholds = {"metric_threshold": spec.wire_threshold, "threshold": spec.wire_count_threshold}
    return {
        "event_type": spec.event_type.value,
        "name": spec.title,
        "severity": spec.severity.value,
        "notifications": [_delayed(preset, notification)],
        **without_nulls(thresholds),
    }


def _delayed(preset: Preset, notification: Values) -> Values:
    return {**notification, "delayMin": preset.spec.delay_min}
