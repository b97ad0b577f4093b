"""Creates the default configurations of new projects, and configurations from presets."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.services.locks import actor_lock_shared, project_lock_shared
from alerting.choices import PeopleType
from alerting.models import AlertConfig
from alerting.rules.presets import Preset
from alerting.selectors.configs import configs_of_presets
from alerting.services.configs import alert_config_create, config_add
from alerting.services.locks import project_lock
from events.types import EventType
from opsapi.api.principal import Actor

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
def default_configs_create(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Create the configurations of a new project, which has nothing to evaluate yet."""
    for event_type in DEFAULT_TYPES:
        values = {"event_type": event_type.value, "notifications": [GROUP_BY_MAIL]}
        config_add(group_id=group_id, values=values, actor=actor, now=now)


@dataclass(frozen=True, slots=True)
class AddedPresets:
    """The created configurations, and the configurations that the project had already."""

    created: Sequence[AlertConfig]
    existing: Mapping[Preset, AlertConfig]


@transaction.atomic
def presets_create(
    *, group_id: str, presets: Collection[Preset], actor: Actor, now: datetime
) -> AddedPresets:
    """Create a configuration of each preset that the project does not have: all of them, or none.

    Each notifies the project by e-mail, like the default configurations. A repeated call creates nothing,
    because no other write of the project's configurations comes in between.

    Raises:
        ApiError: as `alert_config_create`.
    """
    actor_lock_shared(actor)
    project_lock(group_id)
    project_lock_shared(group_id=group_id)
    there = configs_of_presets(group_id)
    wanted = [preset for preset in Preset if preset in presets]
    created = [
        alert_config_create(group_id=group_id, values=_values(preset), actor=actor, now=now)
        for preset in wanted
        if preset not in there
    ]
    return AddedPresets(created, {preset: there[preset] for preset in wanted if preset in there})


def _values(preset: Preset) -> Mapping[str, Any]:
    spec = preset.spec
    threshold = {} if spec.wire_threshold is None else {"metric_threshold": spec.wire_threshold}
    by_mail = {**GROUP_BY_MAIL, "delayMin": spec.delay_min}
    return {"event_type": spec.event_type.value, "notifications": [by_mail], **threshold}
