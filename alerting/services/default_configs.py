"""The alert configurations that every new project starts with."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from alerting.choices import PeopleType
from alerting.services.configs import config_add
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
